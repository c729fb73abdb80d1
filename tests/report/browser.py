"""A real browser on a page: Chromium without a window, driven by Selenium. Where it is missing, that is said."""

import importlib.util
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
DRIVER = shutil.which("chromedriver")
WHY = "the page is not seen in a browser: Chromium or chromedriver is missing (on Debian: apt-get install chromium chromium-driver)"


def require():
    """Skip, loudly, where there is no browser."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip(WHY, allow_module_level=True)
    pytest.importorskip("selenium", reason="selenium is not installed: the page is not seen in a browser")


@contextmanager
def chromium(width=1280, height=900, phone=False, dark=False, offline=True):
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        f"--window-size={width},{height}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        driver.set_script_timeout(120)
        scale, metrics = (2 if phone else 1), "Emulation.setDeviceMetricsOverride"
        driver.execute_cdp_cmd(metrics, {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone})
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        driver.execute_cdp_cmd("Network.enable", {})
        driver.execute_cdp_cmd(
            "Network.emulateNetworkConditions", {"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        )
        yield driver
    finally:
        driver.quit()


# Shows a view and says when it is there: details are unpacked in the background.
_SHOW = """
const [hash, done] = arguments;
location.hash = hash;
const title = () => document.querySelector("main h1");
const wait = () => (title() && !document.querySelector("[aria-busy]") ? done(title().textContent) : setTimeout(wait, 10));
setTimeout(wait, 30);
"""


def show(driver, view):
    """The title of a view, once all of it is drawn."""
    return driver.execute_async_script(_SHOW, view)


def open_page(driver, path: Path, view="#/"):
    driver.get(path.resolve().as_uri())
    return show(driver, view)


def complaints(driver):
    """What the browser had to say."""
    return [entry["message"] for entry in driver.get_log("browser")]


def axe_source():
    """axe, from where GRADFUZZ_AXE says or from the package that has it; None where there is none."""
    said = os.environ.get("GRADFUZZ_AXE")
    if said:
        return Path(said).read_text(encoding="utf-8")
    spec = importlib.util.find_spec("axe_core_python")
    return Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8") if spec is not None and spec.origin else None


# Milliseconds until what was typed is shown, the layout included.
FILTER_TIME = """
const input = document.getElementById("search"), times = [];
for (const text of arguments[0]) {
  const began = performance.now();
  input.value = text;
  input.dispatchEvent(new Event("input"));
  document.querySelector(".scroll, .empty").getBoundingClientRect();
  times.push(performance.now() - began);
}
return times;
"""
