"""What functions mean, by families. Written once; how a library calls them is data in its folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from gradfuzz.reference.semantics.registry import FUNCTIONS, Meaning


@lru_cache(maxsize=1)
def meanings() -> dict[str, Meaning]:
    """Every canonical function by its name; the files beside this one are found by looking."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return FUNCTIONS
