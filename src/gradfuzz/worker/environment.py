"""What a report says of the computer on which a script was run, beside the library's own release."""

from __future__ import annotations

import platform
from functools import lru_cache
from pathlib import Path

import numpy as np

_CPUS = Path("/proc/cpuinfo")


def environment() -> dict[str, str]:
    """By the names that trackers ask for."""
    found = {"NumPy": np.__version__, "Python": platform.python_version(), "OS": platform.platform(), "CPU": _processor()}
    return {name: said for name, said in found.items() if said}


@lru_cache(maxsize=1)
def _processor() -> str:
    try:
        lines = _CPUS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not a Linux: what Python knows is less
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()
