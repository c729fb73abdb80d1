"""Links between pages: of the repository's Markdown, and of a site that was built of it (python -m tests.house.links FOLDER)."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
_HEADING = re.compile(r"^#{1,6} +(.*)$", re.M)
OUTSIDE = ("http", "https", "mailto", "data", "blob", "javascript")


def broken_in_markdown(page: Path) -> list[str]:
    """Links of a page that lead to no file, or to no heading of one."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", "", text)
    return [link for link in _LINK.findall(text) if urlsplit(link).scheme not in OUTSIDE and not _leads(page, link)]


def _leads(page: Path, link: str) -> bool:
    split = urlsplit(link)
    target = (page.parent / unquote(split.path)).resolve() if split.path else page
    if not target.exists():
        return False
    return not split.fragment or target.suffix != ".md" or split.fragment in anchors(target)


def anchors(page: Path) -> set[str]:
    """What headings of a page are called in addresses."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "")).strip().lower().replace(" ", "-") for heading in headings}


class Page(HTMLParser):
    """Where a page of a site leads, and which of its places can be led to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []  # what a browser would fetch by itself
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        said = dict(attributes)
        self.places |= {said[key] for key in ("id", "name") if said.get(key)}
        self.links += [said[key] for key in ("href", "src") if said.get(key)]
        self.fetched += [said["src"]] if said.get("src") else []
        self.fetched += [said["href"]] if tag == "link" and said.get("href") and said.get("rel") not in ("canonical", "alternate") else []


def broken_in_site(folder: Path) -> list[str]:
    """Links of a built site that lead nowhere within it."""
    pages = _pages(folder)
    found = []
    for path, page in pages.items():
        for link in page.links:
            split = urlsplit(link)
            if split.scheme in OUTSIDE or split.netloc:
                continue
            target = (path.parent / unquote(split.path)).resolve() if split.path else path
            lost = not target.exists() or (split.fragment and target in pages and unquote(split.fragment) not in pages[target].places)
            if lost and not split.fragment.startswith("__"):
                found.append(f"{path.relative_to(folder.resolve())}: {link}")
    return found


def fetched_from_elsewhere(folder: Path) -> list[str]:
    """What pages of a built site would have a browser fetch from another server."""
    pages = _pages(folder)
    return [
        f"{path.relative_to(folder.resolve())}: {link}" for path, page in pages.items() for link in page.fetched if urlsplit(link).netloc
    ]


def _pages(folder: Path) -> dict[Path, Page]:
    # Reports have links of their own, which a browser follows in the tests; what is not found is served from anywhere.
    paths = [path for path in folder.rglob("*.html") if "reports" not in path.relative_to(folder).parts and path.name != "404.html"]
    return {path.resolve(): Page(path) for path in paths}


if __name__ == "__main__":
    lost = broken_in_site(Path(sys.argv[1])) + fetched_from_elsewhere(Path(sys.argv[1]))
    print("\n".join(lost) or "every link of the site leads somewhere")
    sys.exit(bool(lost))
