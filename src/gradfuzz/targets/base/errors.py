"""Sorting what a library refuses into kinds that people count: shape, dtype, value, not implemented, …"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

_DATA = json.loads(Path(__file__).with_name("errors.json").read_text())
_PATTERNS = [(row["kind"], re.compile(row["pattern"])) for row in _DATA["kinds"]]
KINDS = (*(row["kind"] for row in _DATA["kinds"]), _DATA["otherwise"])

# A path from the root of somebody's disk: at least one folder and what lies in it. Addresses of the web and of devices are none.
_PATH = re.compile(r"(?<![\w./:~\\-])(?:[A-Za-z]:[\\/]|~?/)(?:[^\s/\\\"'<>|:,;()\[\]{}]+[/\\])+([^\s/\\\"'<>|:,;()\[\]{}]*)")
_PACKAGES = re.compile(r".*\b(?:site|dist)-packages[/\\]")
_NUMBERS = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


@lru_cache(maxsize=4096)
def error_kind(message: str) -> str:
    """The kind of an error by its message."""
    return next((kind for kind, pattern in _PATTERNS if pattern.search(message)), str(_DATA["otherwise"]))


def without_paths(message: str) -> str:
    """A message without folders of the machine that it was met on: of the library's own files the path inside of its package stays, of
    others the name."""
    return _PATH.sub(lambda found: _PACKAGES.sub("", found[0]) if _PACKAGES.match(found[0]) else found[1] or "…", message)


def normalised(message: str) -> str:
    """A message without its numbers: the same complaint about other sizes is the same complaint."""
    return _NUMBERS.sub("N", message.split("\n")[0])[:160]
