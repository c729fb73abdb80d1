"""The numbers of a Program's calls as variables: what a compiler that is given them as arguments does not know."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from gradfuzz.program.model import Let, Ref, rebuild


def without_numbers(statements: Sequence[Let], taken: Collection[str]) -> tuple[list[Let], dict[str, Any]]:
    """The statements with a variable in the place of each finite number, and the numbers by these names, none of which is `taken`."""
    numbers: dict[str, Any] = {}

    def lifted(node: Any) -> Any:
        if type(node) is int or (type(node) is float and math.isfinite(node)):
            name = next(name for name in (f"n{index}" for index in range(10**6)) if name not in taken and name not in numbers)
            numbers[name] = node
            return Ref(name)
        return rebuild(node, lifted)

    return [Let(s.names, lifted(s.value)) for s in statements], numbers
