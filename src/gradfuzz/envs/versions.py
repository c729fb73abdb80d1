"""Release numbers: which is newer, and what a range of them holds."""

from __future__ import annotations

import re

from gradfuzz.errors import GradfuzzError

_RELEASE = re.compile(r"\d+(\.\d+)*")
_FINAL = re.compile(r"\d+(\.\d+)*(\.post\d+)?")


def order(version: str) -> tuple[int, ...]:
    """What to sort by: the numbers of the release. What a build adds (`+cpu`, `.post1`) makes no other release."""
    match = _RELEASE.match(version)
    numbers = [int(part) for part in match[0].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()  # 2.0 is 2.0.0
    return tuple(numbers)


def is_release(version: str) -> bool:
    """Whether this is a release that was meant for everybody, not a candidate or a build of some night."""
    return _FINAL.fullmatch(version) is not None


def wanted(text: str, offered: list[str]) -> list[str]:
    """The releases that `1.11.0..2.15.0` or `1.12.1,2.0.1` asks for, oldest first; a range is filled from what is offered."""
    first, dots, last = text.partition("..")
    names = [first, last] if dots else text.split(",")
    for name in names:
        if not is_release(name.strip()):
            raise GradfuzzError(f"--versions {text}: {name.strip()!r} is no release; write 1.11.0..2.15.0 or 1.12.1,2.0.1")
    if not dots:
        return sorted({name.strip() for name in names}, key=order)
    found = [v for v in offered if is_release(v) and order(first.strip()) <= order(v) <= order(last.strip())]
    return sorted(set(found), key=order)
