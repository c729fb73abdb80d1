"""JSON lines over a stream: the whole protocol between a campaign and its workers."""

from __future__ import annotations

import json
import math
from typing import Any, BinaryIO

import numpy as np


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


def packed(array: Any) -> dict[str, Any]:
    """An array as JSON, to the last bit; of complex numbers the real parts and the imaginary ones, in turn."""
    flat = np.ascontiguousarray(array).ravel()
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    return {"shape": list(np.shape(array)), "dtype": str(array.dtype), "data": flat.tolist()}


def unpacked(data: dict[str, Any]) -> Any:
    """The array behind what `packed` wrote."""
    dtype = np.dtype(data["dtype"])
    if dtype.kind == "c":
        return np.array(data["data"], np.float64).view(np.complex128).astype(dtype).reshape(data["shape"])
    return np.array(data["data"], dtype).reshape(data["shape"])


def finite_or_text(value: Any) -> Any:
    """NaN and infinities as text, for readers of strict JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: finite_or_text(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_or_text(part) for part in value]
    return value
