"""Failing inputs, kept as JSON from one test run to the next. Nothing is pickled; files appear whole, so workers may share them."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.testing.library import owner_of, pick


class Examples:
    """A folder of failing inputs, one file for each call that failed. No folder: nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def save(self, key: str, inputs: tuple[Any, ...]) -> bool:
        """Keep the inputs; False if they hold something that JSON cannot."""
        if self.folder is None:
            return False
        try:
            text = json.dumps({"key": key, "inputs": [_encoded(value) for value in inputs]}, indent=1)
        except TypeError:
            return False
        path = self._path(key)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
        return True

    def load(self, key: str) -> tuple[Any, ...] | None:
        """What was kept; None if there is nothing, or nothing that can be read."""
        if self.folder is None:
            return None
        try:
            data = json.loads(self._path(key).read_text(encoding="utf-8"))
            return tuple(_decoded(value) for value in data["inputs"])
        except (OSError, ValueError, KeyError, TypeError, GradfuzzError):
            return None

    def forget(self, key: str) -> None:
        if self.folder is not None:
            self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"


def _encoded(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return {"array": value.ravel().tolist(), "shape": list(value.shape), "dtype": str(value.dtype)}
    if isinstance(value, (tuple, list)):
        return {type(value).__name__: [_encoded(part) for part in value]}
    if isinstance(value, dict):
        return {"dict": [[key, _encoded(part)] for key, part in value.items()]}
    name = owner_of(value)
    if name is not None:
        library = pick(name, ())
        return {"tensor": _encoded(np.asarray(library.array(value))), "library": name, "dtype": library.dtype(value)}
    raise TypeError(f"{type(value).__name__} cannot be written down")


def _decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return pick(value["library"], ()).tensor(_decoded(value["tensor"]), value["dtype"])
    if "array" in value:
        return np.array(value["array"], value["dtype"]).reshape(value["shape"])
    if "dict" in value:
        return {key: _decoded(part) for key, part in value["dict"]}
    kind, parts = next(iter(value.items()))
    decoded = [_decoded(part) for part in parts]
    return tuple(decoded) if kind == "tuple" else decoded
