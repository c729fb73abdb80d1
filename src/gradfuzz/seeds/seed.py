"""A seed: a Program that is known to run."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from gradfuzz.program.model import DISCRETE


@dataclass(frozen=True)
class Seed:
    """A Program that is known to run, in its JSON form: it travels to workers as it is."""

    api: str
    source: str
    program: dict[str, Any]

    @property
    def varied(self) -> bool:
        """Whether there is much to vary: no tensor is empty, and the floating ones are more than a single number."""
        tensors = [statement["tensor"] for statement in self.program["statements"] if "tensor" in statement]
        sizes = [math.prod(tensor["shape"]) for tensor in tensors]
        floating = [size for size, tensor in zip(sizes, tensors) if tensor["dtype"] not in DISCRETE]
        return all(sizes) and max(floating, default=0) > 1

    @property
    def form(self) -> str:
        """How it calls: which functions, with which of their arguments, and with which words and truth values. Numbers are all one.

        Seeds of two forms are as different as those of two functions: a word chooses a kernel, and a formula.
        """
        return json.dumps([_form(statement["expr"]) for statement in self.program["statements"] if "expr" in statement])

    @property
    def words(self) -> frozenset[str]:
        """The words among the arguments of its calls."""
        return frozenset(chain.from_iterable(_words(statement["expr"]) for statement in self.program["statements"] if "expr" in statement))


def _form(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: value if key == "call" else "" if key == "ref" else _form(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_form(each) for each in node]
    return 0 if isinstance(node, (int, float)) and not isinstance(node, bool) else node


def _words(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "kwargs":
                yield from chain.from_iterable(_words(given) for _, given in value)
            elif key not in ("call", "ref", "name", "float", "attr"):
                yield from _words(value)
    elif isinstance(node, list):
        yield from chain.from_iterable(map(_words, node))
    elif isinstance(node, str):
        yield node


def led(seeds: Iterable[Seed]) -> list[Seed]:
    """The seeds in their order, but that of each API those come first that have much to vary.

    The first one leads: its design is the API's. Libraries list their smallest samples first, empty tensors and single numbers, at which
    nearly all kinds of numbers and of layouts are one.
    """
    found = list(seeds)
    places: dict[str, list[int]] = defaultdict(list)
    for place, seed in enumerate(found):
        places[seed.api].append(place)
    ordered = found[:]
    for own in places.values():
        for place, seed in zip(own, sorted((found[place] for place in own), key=lambda seed: not seed.varied)):
            ordered[place] = seed
    return ordered
