"""Pictures of the report that is on the site, for README and docs: python -m tests.report.screenshots [FOLDER]"""

import sys
from pathlib import Path

from tests.report.browser import chromium, open_page
from tests.report.pages import read_page

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "reports" / "torch-2.13.0.html"
WIDTH, HEIGHT, TALL = 1280, 900, 1700
BENDS = 5  # a line of fewer different numbers is flat


def plotted(page):
    """The gravest bug of which everything is drawn, with no line flat: its function and derivatives, how the quotient settles."""
    rows, found = read_page(page)

    def worth(d):
        lines = [ys for panel in d["plots"].get("panels", ()) for _, ys, _ in panel["lines"]]
        return d["ladder"] and lines and all(len(set(ys) - {None}) > BENDS for ys in lines)

    return rows["bugs"][min(row["bug"] for row, d in zip(rows["findings"], found) if worth(d))]["id"]


def make(folder, page=PAGE):
    """report-*.png in the folder; returns them."""
    folder.mkdir(parents=True, exist_ok=True)
    bug = f"#/bug/{plotted(page)}"
    wanted = {
        (WIDTH, HEIGHT, False): {"overview": "#/", "bugs": "#/bugs", "analysis": "#/analysis"},
        (WIDTH, TALL, False): {"bug": bug},
        (WIDTH, TALL, True): {"bug-dark": bug},
        (390, 844, False): {"phone": "#/bugs"},
    }
    made = []
    for (width, height, dark), views in wanted.items():
        with chromium(width, height, phone=width < 500, dark=dark) as driver:
            for name, view in views.items():
                open_page(driver, page, view)
                made.append(folder / f"report-{name}.png")
                driver.save_screenshot(str(made[-1]))
    return made


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
