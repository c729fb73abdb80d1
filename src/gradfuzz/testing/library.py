"""Which library a person's function is written for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from gradfuzz.errors import GradfuzzError, TargetError
from gradfuzz.targets.base.functions import Functions
from gradfuzz.targets.homes import homes, load_functions
from gradfuzz.testing.adapters import Adapter


def libraries() -> list[str]:
    """Names of the libraries whose functions can be checked; those whose tensors are NumPy's own come last."""
    known = [(bool(home.about.get("plain_arrays")), name) for name, home in homes().items() if "functions" in home.about]
    return [name for _, name in sorted(known)]


def pick(library: Any, inputs: Sequence[Any]) -> Functions:
    """The library that is meant: an Adapter, a name, or (None) the one that the inputs belong to."""
    if isinstance(library, Adapter):
        from gradfuzz.testing.adapted import Adapted

        return Adapted(library)
    if isinstance(library, str):
        return _named(library)
    if library is not None:
        raise GradfuzzError(f"library={library!r}: give an Adapter or one of the names {', '.join(libraries())}")
    for name in libraries():
        about = homes()[name].about
        if about["module"] in sys.modules and (about.get("plain_arrays") or any(_named(name).owns(x) for x in leaves(inputs))):
            return _named(name)
    raise GradfuzzError(
        "the inputs do not say which library the function is written for; give tensors of it, or say "
        f"library=NAME ({', '.join(libraries())}) or library=Adapter(...)"
    )


def owner_of(value: Any) -> str | None:
    """The library that a tensor's class comes from; None for anything else."""
    root = type(value).__module__.split(".")[0]
    return next((name for name in libraries() if root in (homes()[name].about["module"], *homes()[name].about.get("also", ()))), None)


def leaves(value: Any) -> list[Any]:
    """What is inside tuples, lists and dicts, in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    return [value]


@cache
def _named(name: str) -> Functions:
    if name not in libraries():
        raise GradfuzzError(f"library={name!r} is not known; known: {', '.join(libraries())}, or an Adapter for your own")
    try:
        return load_functions(name)
    except TargetError as error:
        raise GradfuzzError(f"{error}; install it") from None
