"""JSON lines over a stream: the whole protocol between a campaign and its workers."""

from __future__ import annotations

import json
import math
from typing import Any, BinaryIO


def send(stream: BinaryIO, message: dict[str, Any]) -> None:
    stream.write(json.dumps(message, allow_nan=True, default=_plain).encode() + b"\n")
    stream.flush()


def receive(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message; None at the end of the stream."""
    line = stream.readline()
    if not line:
        return None
    message: dict[str, Any] = json.loads(line)
    return message


def _plain(value: Any) -> Any:
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if hasattr(value, "item"):
        value = value.item()
        return _plain(value) if isinstance(value, complex) else value
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return str(value)


def finite_or_text(value: Any) -> Any:
    """NaN and infinities as text, for readers of strict JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: finite_or_text(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_or_text(part) for part in value]
    return value
