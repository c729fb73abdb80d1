"""The page as people see it: it opens from disk, filters, links, obeys keys, fits a phone, and runs nothing of a stranger's."""

import importlib.util
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gradfuzz.report.files import write_text
from gradfuzz.report.html import page
from gradfuzz.report.model import report_of
from gradfuzz.store import Records
from gradfuzz.store.board import board_beside
from tests.report.browser import FILTER_TIME, axe_source, chromium, complaints, open_page, require, show
from tests.report.pages import read_page
from tests.report.screenshots import make
from tests.report.stores import KNOWN, LANDSCAPE, ONE, RAISES, hostile_store, hostile_texts, store_of
from tests.report.test_serving import DOING, running_store, serving

require()

ROOT = Path(__file__).parent.parent.parent
VIEWS = ("#/", "#/bugs", "#/bugs?list=findings", "#/coverage", "#/time", "#/analysis", "#/releases")

# What is asked of a page, with time for it to be drawn.
COPY = """
const [done] = arguments, button = document.querySelector('[aria-label="copy script"]');
button.click();
setTimeout(() => done(button.textContent), 100);
"""
OPEN = """
const [number, done] = arguments;
location.hash = bugLink(data.bugs[number]);
setTimeout(() => done(document.querySelector("main h1").textContent), 60);
"""
# What the served page says of workers, once it says something or nothing, as is asked for.
RIGHT_NOW = """
const [shown, done] = arguments, place = () => document.getElementById("now");
const ready = () => place() && place().hidden !== shown, wait = () => { look(); setTimeout(() => (ready() ? said() : wait()), 200); };
const said = () => done(shown ? place().innerText : "");
wait();
"""


def large_store(path):
    spec = importlib.util.spec_from_file_location("report_size", ROOT / "benchmarks" / "report_size.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make_store(path, mutants=4_000, scripts=False)


def page_of(store, folder):
    with Records(store) as opened:
        return write_text(folder / "index.html", page(report_of(opened)))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    return page_of(large_store(folder / "s.db"), folder)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """With everything that a bug's page can show."""
    folder = tmp_path_factory.mktemp("small")
    asked = {"releases": (("2.12.0", "gone"), ("2.13.0", "shows")), "landscape": LANDSCAPE}
    findings = [ONE, RAISES, KNOWN, *(_with(ONE, k, **asked) for k in range(3))]
    return page_of(store_of(folder / "s.db", *findings, batches=60), folder)


def _with(finding, number, **more):
    return replace(finding, api=f"torch.tan{number}", rule=f"Tan{number}", id=f"tan-{number}", **more)


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


def test_it_opens_from_disk_and_every_view_is_drawn_without_a_word_of_complaint(browser, small):
    titles = [open_page(browser, small, view) for view in VIEWS]
    assert titles[1:] == ["Bugs", "Bugs", "Coverage", "Time and throughput", "Analysis", "Releases"] and titles[0].startswith("PyTorch")
    asked = browser.execute_script("return performance.getEntriesByType('resource').map((r) => r.name).filter((n) => /^https?:/.test(n))")
    assert asked == [] and complaints(browser) == []


def test_every_link_leads_somewhere(browser, small):
    open_page(browser, small)
    waiting, seen = list(VIEWS), set()
    while waiting:
        view = waiting.pop()
        seen.add(view)
        assert not show(browser, view).startswith("No such"), view
        links = browser.execute_script("return [...document.querySelectorAll('a')].map((a) => [a.getAttribute('href'), a.rel, a.download])")
        for link, rel, download in links:
            if link.startswith("#/"):
                waiting += [] if link in seen or link in waiting else [link]
            else:
                assert (
                    link == "#content" or (download and link.startswith("blob:")) or (link.startswith("https://") and "noopener" in rel)
                ), link
    rows, _ = read_page(small)
    assert sum(view.startswith("#/bug/") for view in seen) >= len(rows["findings"]) and complaints(browser) == []


@pytest.mark.parametrize(
    "link, followed", [("https://a.example", 1), ("http://a", 1), ("javascript:alert(1)", 0), ("data:x", 0), (" https://a", 0)]
)
def test_only_links_to_the_web_are_links(browser, small, link, followed):
    open_page(browser, small)
    assert browser.execute_script("return h('p', {}, webLink(arguments[0])).children.length", link) == followed


def test_a_bug_s_page_shows_numbers_proof_plots_script_and_releases(browser, small):
    rows, found = read_page(small)
    (at,) = [i for i, row in enumerate(rows["findings"]) if row["id"] == "sin-1"]
    bug = rows["bugs"][rows["findings"][at]["bug"]]
    open_page(browser, small, f"#/bug/{bug['id']}/sin-1")
    text = browser.execute_script("return document.querySelector('main').innerText")
    assert all(
        word in text for word in (found[at]["text"].splitlines()[1], "0.87758256189037271612", "52 are against AD", "print('shows it')")
    )
    plots = browser.execute_script("return [...document.querySelectorAll('main svg')].map((s) => s.getAttribute('aria-label'))")
    assert plots == [
        "each scenario's value with its error bar",
        "y[0]",
        "d y[0] / d x[0]",
        "convergence of the difference quotient",
    ]
    assert "rounding: not measured" in text and "computed by the reference" in text
    copied = browser.execute_async_script(COPY)
    assert copied == "copied"
    (other,) = [row for row in rows["findings"] if row["id"] == "tan-1"]
    show(browser, f"#/bug/{rows['bugs'][other['bug']]['id']}/tan-1")
    text = browser.execute_script("return document.querySelector('main').innerText")
    assert "2.12.0 does not, 2.13.0 shows it" in text and "what the library itself computes" in text and "not measured" not in text
    assert browser.execute_script("return [...document.querySelectorAll('path.line.ad, path.line.truth')].length") == 2
    (raising,) = [row for row in rows["findings"] if row["id"] == "polar-2"]
    show(browser, f"#/bug/{rows['bugs'][raising['bug']]['id']}/polar-2")
    assert "Nothing is drawn: there is no derivative to draw" in browser.execute_script("return document.querySelector('main').innerText")


def test_five_thousand_findings_are_filtered_and_few_are_in_the_page(browser, large):
    rows, _ = read_page(large)
    assert len(rows["findings"]) == 5000
    open_page(browser, large, "#/bugs?list=findings&folded=1")
    status = "return document.querySelector('[role=status]').textContent"
    assert browser.execute_script(status).startswith("5,000 of 5,000 findings")
    browser.execute_script(FILTER_TIME, ["layer_1_copy"])
    wanted = sum("layer_1_copy" in row["api"] for row in rows["findings"])
    assert wanted and browser.execute_script(status).startswith(f"{wanted} of 5,000 findings")
    browser.execute_script(FILTER_TIME, [""])
    browser.execute_script("document.querySelector('.scroll').scrollTop = 2500 * 52")
    shown = browser.execute_async_script(
        "setTimeout(() => arguments[0]([...document.querySelectorAll('tr.row')].map((r) => +r.getAttribute('aria-rowindex'))), 200)"
    )
    assert len(shown) < 100 and 2500 in shown
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script("return document.querySelectorAll('tr.row').length") == 5000  # paper does not scroll
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")


def test_sorting_and_choosing(browser, large):
    open_page(browser, large, "#/bugs?list=findings&folded=1&sort=-times&label=new&order=2")
    first = browser.execute_script("return [...document.querySelectorAll('tr.row')].slice(0, 5).map((r) => r.lastChild.textContent)")
    assert first == ["17"] * 5
    rows, _ = read_page(large)
    wanted = sum(row["order"] == 2 and row["label"] == "new" for row in rows["findings"])
    assert browser.execute_script("return document.querySelector('[role=status]').textContent").startswith(f"{wanted:,} of")


def test_keys_alone_are_enough(browser, small):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    open_page(browser, small)

    def press(*keys):
        ActionChains(browser).send_keys(*keys).perform()
        return browser.execute_async_script(
            "setTimeout(() => arguments[0]([location.hash, document.activeElement.id, document.querySelector('main h1').textContent]), 100)"
        )

    assert press("b")[0] == "#/bugs"
    assert press("/")[1] == "search"
    assert press("polar")[0] == "#/bugs?q=polar"
    assert press(Keys.ESCAPE)[1] == ""
    assert press("j", Keys.ENTER)[2].startswith("torch.polar")
    assert press("p")[2] != press("n")[2]
    assert press(Keys.ESCAPE)[0] == "#/bugs" and press("c")[2] == "Coverage"
    press("?")
    assert browser.execute_script("return document.querySelector('dialog').open")
    press(Keys.ESCAPE)


def test_it_fits_a_phone_in_light_and_dark(small):
    rows, _ = read_page(small)
    with chromium(390, 844, phone=True, dark=True) as driver:
        for view in (*VIEWS, f"#/bug/{rows['bugs'][0]['id']}"):
            open_page(driver, small, view)
            assert driver.execute_script("return document.documentElement.scrollWidth") == 390, (
                view
            )  # not what a page too wide is zoomed to
        assert driver.execute_script("return document.documentElement.dataset.theme") == "dark"
        paper = "window.dispatchEvent(new Event(arguments[0])); return document.documentElement.dataset.theme"
        assert driver.execute_script(paper, "beforeprint") == "light" and driver.execute_script(paper, "afterprint") == "dark"
        driver.execute_script("document.getElementById('theme').click()")
        assert driver.execute_script("return document.documentElement.dataset.theme") == "light"


def test_the_page_that_is_served_says_what_workers_are_at_until_the_campaign_is_over(tmp_path):
    path = running_store(tmp_path, *DOING)
    with serving(path) as server, chromium(offline=False) as driver:
        driver.get(server.address)
        told = driver.execute_async_script(RIGHT_NOW, True)
        assert "worker 2" in told and "confirming torch.polar" in told and "1 min" in told and "<b>SIGSEGV</b>" in told
        board_beside(path).unlink()
        assert driver.execute_async_script(RIGHT_NOW, False) == ""
        assert complaints(driver) == []


@pytest.mark.parametrize("dark", [False, True])
def test_axe_has_nothing_serious_to_say(small, dark):
    source = axe_source()
    if source is None:
        pytest.skip("axe is not here (pip install axe-core-python, or GRADFUZZ_AXE=axe.min.js): nobody has looked at accessibility")
    rows, _ = read_page(small)
    with chromium(dark=dark) as driver:
        for view in (*VIEWS, f"#/bug/{rows['bugs'][0]['id']}"):
            open_page(driver, small, view)
            driver.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
            driver.execute_cdp_cmd("Runtime.evaluate", {"expression": source})  # as a debugger: the page's own policy would not have it
            found = driver.execute_async_script("axe.run().then((r) => arguments[0](r.violations))")
            grave = [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in found if v["impact"] in ("serious", "critical")]
            assert grave == [], (view, json.dumps(grave, indent=1))


def test_the_pictures_of_readme_and_docs_are_made():
    """Into build/pictures, to be looked at; `python -m tests.report.screenshots` puts them where they are shown."""
    made = make(ROOT / "build" / "pictures")
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {name for page in pages for name in re.findall(r"pictures/(report-[\w-]+\.png)", page.read_text(encoding="utf-8"))}
    assert shown == {picture.name for picture in made} and all(picture.stat().st_size > 40_000 for picture in made)


def test_nothing_of_a_stranger_s_runs_or_becomes_a_link(browser, tmp_path):
    page = page_of(hostile_store(tmp_path / "s.db", hostile_texts()[::40]), tmp_path)
    rows, _ = read_page(page)
    open_page(browser, page)
    views = [
        *VIEWS,
        *(f"#/bugs?q={word}" for word in ("%3Cscript%3E", "%", "&", "%00")),
        "#/bug/%",
        "#/bug/<script>",
        "#/<img src=x onerror=window.hacked=1>",
    ]
    visited = [show(browser, view) for view in views]
    for at in range(len(rows["bugs"])):
        visited.append(browser.execute_async_script(OPEN, at))
        links = browser.execute_script("return [...document.querySelectorAll('main a')].map((a) => a.getAttribute('href'))")
        assert all(link.startswith(("#/", "blob:", "https://evil.example")) for link in links), links
        elements = browser.execute_script(
            "return document.querySelectorAll('main script, main img, main iframe, main [onerror], main [onmouseover]').length"
        )
        assert elements == 0
    assert len(visited) > 25 and browser.execute_script("return window.hacked") is None and complaints(browser) == []
