"""Interpreters of libraries that cannot live beside the others: named by the environment, or made once outside the clone.

`make elsewhere` makes them; nothing here installs anything.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gradfuzz" / "tests"


def named(target: str) -> Path:
    """Where the interpreter is expected: $GRADFUZZ_PADDLE_PYTHON and its like, else a folder of the cache."""
    return Path(os.environ.get(f"GRADFUZZ_{target.upper()}_PYTHON", CACHE / target / "bin" / "python"))


def interpreter(target: str) -> Path:
    """The interpreter, or a skip that says what was not tested and how to have it tested."""
    found = named(target)
    if not found.exists():
        pytest.skip(
            f"{target} was NOT tested: no interpreter at {found}; `make elsewhere` makes one, GRADFUZZ_{target.upper()}_PYTHON names one"
        )
    return found
