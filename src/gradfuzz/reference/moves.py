"""Selections and moves (reshape, gather, pad, …) need no meaning: the library itself is run on numbers that tell where they are.

Two runs with numbers of another sign, order and fraction: what picks by size, rounds, or computes at all gives itself away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.program.model import Call, Expr, Let, Program, Ref, Tensor, Values, rebuild
from gradfuzz.program.text import to_text
from gradfuzz.reference.arrays import Array, is_jets, lift
from gradfuzz.reference.jet import Jet
from gradfuzz.reference.spell import NoMeaning
from gradfuzz.worker.wire import unpacked

# (the first number, the step to the next): of both signs, in both orders, far from whole numbers.
RUNS = ((0.37, 1.0), (-0.61, -3.0))
CLOSE = 0.05  # of a step: lower precisions round
CONSTANT = -1
MODULE = "m"  # what a module is called in these Programs


@dataclass(frozen=True)
class Asked:
    """One call to be run on numbers that tell where they are; the same text asks the same."""

    runs: tuple[Program, ...]
    sizes: tuple[int, ...]  # of the arrays that move, one after the other
    complex: bool

    @property
    def key(self) -> str:
        return to_text(self.runs[0])


@dataclass(frozen=True)
class Move:
    """For each output, where each element comes from (CONSTANT: from nowhere), and what it is then."""

    sources: tuple[Any, ...]
    constants: tuple[Any, ...]

    def apply(self, flat: Sequence[Jet]) -> list[Array]:
        found = []
        for source, constant in zip(self.sources, self.constants):
            made = np.empty(source.shape, object)
            fixed = lift(constant)
            for place in np.ndindex(*source.shape):
                k = source[place]
                made[place] = fixed[place] if k == CONSTANT else flat[k]
            found.append(made)
        return found


def ask(call: Call, dtype: str, maker: Call | None = None) -> tuple[Asked, list[Jet]]:
    """The question for a call whose arguments are values already, and the jets that move in it, in order.

    `dtype` is what the Program's numbers are: a library may do something else in another precision. `maker`: makes the module called.
    """
    arrays: list[Any] = []
    named: list[Let] = []

    def named_arrays(node: Expr) -> Expr:
        if isinstance(node, Jet):
            node = lift(node)
        if isinstance(node, np.ndarray):
            arrays.append(node)
            return Ref(f"a{len(arrays) - 1}")
        return rebuild(node, named_arrays) if isinstance(node, (Call, tuple, list)) else node

    body = named_arrays(call)
    moving = [a for a in arrays if is_jets(a)]
    complex_ = any(x.complex for a in moving for x in a.ravel())
    kind = "complex128" if complex_ else dtype if dtype in ("float64", "float32") else "float64"
    programs = []
    for start, step in RUNS:
        named, seen = [], 0
        for k, array in enumerate(arrays):
            if is_jets(array):
                recipe = Tensor(array.shape, kind, Values("arange", (start + step * seen, step)))
                seen += array.size * (2 if complex_ else 1)
            elif array.dtype == object:
                raise NoMeaning("a condition that is not decided")
            else:
                listed = tuple(array.ravel().tolist())
                recipe = Tensor(array.shape, "bool" if array.dtype == bool else str(array.dtype), Values("listed", (listed,)), False)
            named.append(Let((f"a{k}",), recipe))
        made = () if maker is None else (Let((MODULE,), maker),)
        programs.append(Program((*named, *made, Let(("y",), body))))
    flat = [x for a in moving for x in a.ravel()]
    return Asked(tuple(programs), tuple(a.size for a in moving), complex_), flat


class Moves:
    """What the library has said so far: for each question's key the outputs of its runs, packed, or why there are none."""

    def __init__(self, told: Mapping[str, Sequence[Any]]) -> None:
        self.told = told
        self._known: dict[str, Move] = {}

    def find(self, asked: Asked) -> Move | None:
        """The move, or None where the library has not been asked yet. NoMeaning where it is none."""
        key = asked.key
        if key not in self.told:
            return None
        if key not in self._known:
            for part in self.told[key]:
                if isinstance(part, str):
                    raise NoMeaning(f"it cannot be run on numbers that tell where they are ({part})")
            self._known[key] = decode(asked, [[unpacked(o) for o in part] for part in self.told[key]])
        return self._known[key]


def decode(asked: Asked, answers: Sequence[list[Array]]) -> Move:
    """What the runs tell. NoMeaning where it is no move."""
    first, second = answers
    if len(first) != len(second) or any(a.shape != b.shape for a, b in zip(first, second)):
        raise NoMeaning("its shape depends on the numbers")
    sources, constants = [], []
    for a, b in zip(first, second):
        source, certain = _places(a, *RUNS[0], asked)
        other, _ = _places(b, *RUNS[1], asked)
        agree = certain & (source == other)
        constant = ~agree & (a == b)
        if not bool((agree | constant).all()):
            raise NoMeaning("it computes, and nobody says what")
        if agree.size and not agree.any() and sum(asked.sizes):  # what takes nothing may well be constant
            raise NoMeaning("it is constant at the numbers it was tried at")
        sources.append(np.where(agree, source, CONSTANT))
        constants.append(np.where(agree, 0, a))
    return Move(tuple(sources), tuple(constants))


def _places(found: Array, start: float, step: float, asked: Asked) -> tuple[Array, Array]:
    """The place that each number stands for, and whether it stands for one."""
    with np.errstate(all="ignore"):
        numbers = np.where(np.isfinite(found), found, -1e9)
        raw = (numbers.real.astype(np.float64) - start) / step
        whole = np.clip(np.rint(raw), -2.0, 1e9)
        close = np.abs(raw - whole) <= CLOSE
    if not asked.complex:
        return whole.astype(np.int64), close & (whole >= 0) & (whole < sum(asked.sizes))
    place, certain = np.full(found.shape, -2, np.int64), np.zeros(found.shape, bool)
    begin = drawn = 0
    for size in asked.sizes:  # of each array the real parts come first, then the imaginary ones
        inside = close & (whole >= drawn) & (whole < drawn + size)
        imag = start + step * (whole + size)
        right = inside & (np.abs(numbers.imag - imag) <= CLOSE * abs(step))
        place[right], certain[right] = (whole[right] - drawn + begin).astype(np.int64), True
        begin, drawn = begin + size, drawn + 2 * size
    return place, certain
