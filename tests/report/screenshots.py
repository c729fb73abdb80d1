"""Pictures of a report for README and docs: python -m tests.report.screenshots STORE FOLDER"""

import sys
from pathlib import Path

from gradfuzz.report.html import write
from gradfuzz.report.model import report_of
from gradfuzz.store import Records
from tests.report.browser import chromium, open_page
from tests.report.pages import read_page

WIDTH, HEIGHT, TALL = 1280, 900, 1700


def main(store, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with Records(store) as opened:
        page = write(report_of(opened), folder / "page")
    rows, found = read_page(page)
    drawn = {row["bug"] for row, d in zip(rows["findings"], found) if d["around"] and d["ladder"]}
    bug = rows["bugs"][min(drawn)]["id"] if drawn else rows["bugs"][0]["id"]
    views = {
        "overview": "#/",
        "bugs": "#/bugs",
        "bug": f"#/bug/{bug}",
        "coverage": "#/coverage",
        "time": "#/time",
        "analysis": "#/analysis",
    }
    for name, view in views.items():
        for dark in (False, True):
            with chromium(WIDTH, TALL if name == "bug" else HEIGHT, dark=dark) as driver:
                open_page(driver, page, view)
                driver.save_screenshot(str(folder / f"report-{name}{'-dark' if dark else ''}.png"))
    with chromium(390, 844, phone=True) as driver:
        open_page(driver, page, "#/bugs")
        driver.save_screenshot(str(folder / "report-phone.png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
