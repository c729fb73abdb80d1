"""`gradfuzz.record`: the API calls of a running program as seeds."""

from __future__ import annotations

import importlib
from typing import Any

from gradfuzz.errors import TargetError

# Libraries whose calls can be listened to, and who does it.
RECORDINGS = {name: f"gradfuzz.targets.{name}.recording" for name in ("torch", "jax", "tensorflow")}


def record(path: Any, target: str = "torch", contents: bool = False) -> Any:
    """A context manager: each distinct call of the library's API inside it becomes a seed in the file `path`.

    Seeds have the calls' shapes, types and arguments. Tensor contents are not stored unless `contents` is true.
    Use the file with `gradfuzz run TARGET --seeds PATH`.
    """
    if target not in RECORDINGS:
        raise TargetError(f"calls of {target!r} cannot be recorded; known: {', '.join(RECORDINGS)}")
    try:
        module = importlib.import_module(RECORDINGS[target])
    except ImportError as error:
        raise TargetError(f"{target} cannot be imported here ({error})") from None
    return module.Recording(str(path), contents)
