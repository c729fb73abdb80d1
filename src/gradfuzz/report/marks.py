"""Text that is not ours as Markdown that means itself."""

from __future__ import annotations

import re

_MARKS = re.compile(r"([\\`*_\[\]<>|#~&])")  # what Markdown, and HTML within it, reads as more than itself
_ADDRESS = re.compile(r"(?<=\w)(?=://)|(?<=www)(?=\.)", re.IGNORECASE)  # a bare address becomes a link by itself
_MENTION = re.compile(r"@(?=\w)")  # and so does the name of a user


def text(value: object) -> str:
    """In one line, with every mark escaped."""
    return _MENTION.sub("@ ", _ADDRESS.sub(r"\\", _MARKS.sub(r"\\\1", plain(value))))


def code(value: object) -> str:
    """The same between backticks, where nothing can be escaped."""
    return plain(value).replace("`", "'").replace("|", "¦")


def fenced(value: str) -> list[str]:
    """Lines within a fence of three backticks."""
    return [_spelt(line).replace("```", "'''") for line in value.rstrip().splitlines()]


def plain(value: object) -> str:
    return _spelt(" ".join(str(value).split()))


def _spelt(line: str) -> str:
    """What cannot be seen is spelt out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
