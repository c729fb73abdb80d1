"""Output formats by name, found by looking: every module beside this one that has a FORMAT and a `write`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path

from gradfuzz import report
from gradfuzz.report.model import Report

# Writes a report into a folder; returns the file to look at.
Write = Callable[[Report, Path], Path]


def formats() -> dict[str, Write]:
    modules = [importlib.import_module(f"{report.__name__}.{m.name}") for m in pkgutil.iter_modules(report.__path__)]
    return {module.FORMAT: module.write for module in modules if hasattr(module, "FORMAT")}
