"""Labels: what is known upstream and what is by design, each with its reason and link. Labels hide nothing."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

_DATA = Path(__file__).with_name("known.json")


@lru_cache(maxsize=1)
def entries() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_DATA.read_text())["entries"]
    return found


def label(target: str, finding: dict[str, Any]) -> dict[str, str] | None:
    """{label, reason, link} of the first entry that fits, or None: new."""
    for entry in entries():
        if entry["target"] == target and _fits(entry, finding):
            return {key: entry[key] for key in ("label", "reason", "link")}
    return None


def _fits(entry: dict[str, Any], finding: dict[str, Any]) -> bool:
    names = (finding["api"], finding["rule"])
    if not any(fnmatchcase(name, pattern) for name in names if name for pattern in entry["names"]):
        return False
    if "kinds" in entry and finding["kind"] not in entry["kinds"]:
        return False
    if "orders" in entry and finding["order"] not in entry["orders"]:
        return False
    if "scenarios" in entry and not set(entry["scenarios"]) & set(finding["scenarios"]):
        return False
    return "message" not in entry or entry["message"] in finding["reason"]
