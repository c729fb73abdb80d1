"""Text as XML may hold it."""

from __future__ import annotations

import re

# What XML 1.0 does not allow in any form, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def allowed(text: str) -> str:
    """The text with what XML cannot say spelt out."""
    return _FORBIDDEN.sub(lambda match: ascii(match[0])[1:-1], text)
