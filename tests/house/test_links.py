"""Links between pages lead somewhere, and the site's table of contents has every page."""

import re
from pathlib import Path

import pytest

from tests.house.links import anchors, broken_in_markdown

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    assert broken_in_markdown(page) == []


def test_a_broken_link_would_be_found(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("# One `two`\n[a](b.md) [c](a.md#one-two) [d](#none) [e](https://x.example) ![f](g.png)\n```\n[h](i.md)\n```\n")
    assert broken_in_markdown(page) == ["b.md", "#none", "g.png"] and anchors(page) == {"one-two"}


def test_the_site_has_every_page():
    listed = set(re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M))
    there = {str(page.relative_to(ROOT / "docs")) for page in PAGES if ROOT / "docs" in page.parents}
    # Pages of tables lead to these.
    there -= {page for page in there if re.fullmatch(r"found/(issues/(torch|jax|tensorflow)-|packages/).*\.md", page)}
    assert listed == there | {"contributing.md", "changes.md"}
