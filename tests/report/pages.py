"""Reading what a page was given: its rows, and the details of its findings."""

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text within each script and style."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts = [], {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, text):
        if self.elements:
            self.texts[len(self.elements) - 1] = self.texts.get(len(self.elements) - 1, "") + text

    def within(self, identity):
        return next(self.texts.get(i, "") for i, (_, a) in enumerate(self.elements) if a.get("id") == identity)


def read_page(path: Path):
    """(rows, details of the findings in their order)"""
    page = Elements(path.read_text(encoding="utf-8"))
    found = []
    for tag, attributes in page.elements:
        if tag == "script" and re.fullmatch(r"chunk-\d+", attributes.get("id") or ""):
            found += json.loads(zlib.decompress(base64.b64decode(page.within(attributes["id"]))))
    return json.loads(page.within("data")), found
