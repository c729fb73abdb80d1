"""What the site needs beyond docs/: pages that stand in the repository's root, and links that lead there."""

import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
PAGES = {"contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md"}
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files, config):
    for page, name in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links out of docs/ go to the page that was made of the file; folders of the repository are named, not linked."""

    def rewritten(match):
        text, link = match[1], match[2]
        if not link.startswith(("../", "examples/")) or page.file.src_path.count("/"):
            return match[0]
        name = link.removeprefix("../")
        target = next((made for made, source in PAGES.items() if source == name), None)
        return f"[{text}]({target})" if target else text

    return _LINK.sub(rewritten, markdown)
