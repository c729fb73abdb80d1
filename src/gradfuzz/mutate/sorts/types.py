"""Another element type, of one input or of all."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gradfuzz.mutate.edit import Apply, Edit, Factor, Menu, Sort, floating, on_input, pick
from gradfuzz.program.model import COMPLEXES, DISCRETE, FLOATS, RANGES, Program, Values

# Types of all inputs, those first whose derivatives are rules of their own and are seen in full.
TOGETHER = ("complex128", "float32", "float64", "complex64", "float16", "bfloat16")
# Types of one input beside others of another.
ALONE = ("float32", "complex128", "int64")
# People's own type, whose range ends where ordinary numbers are: it meets them early.
EAGER = frozenset({"float32"})
# Where squares leave a type's range and the numbers themselves do not, beyond its largest number and below its smallest. A formula that
# divides by a sum of squares of several inputs goes wrong there if all of them are of that size, and another mode or formula need not.
BEYOND_SQUARES = (("float32", "huge", 1e20), ("float32", "tiny", 1e-20), ("float16", "small", 1e-3))
# A number whose reciprocal leaves half precision and which does not itself, beside ordinary ones: a formula that divides by it and
# multiplies by it afterwards has nothing left to multiply.
BEYOND_RECIPROCAL = ("float16", 1e-5)
ALONE_AMONG = 4096  # of so many numbers one: the first
ONE_TINY = f"one tiny in {BEYOND_RECIPROCAL[0]}"


def draw(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    types = ("float32", "float32", "complex128", "complex128", "float16", "bfloat16", "complex64")
    to = rng.choice([t for t in types if t in FLOATS] if _real(program) else types)
    if rng.random() < 0.7:
        return Edit("dtypes", None, to)
    picked = pick(program, rng)
    if rng.random() < 0.4 and not _real(program):
        to = rng.choice(("int64", "int32", "uint8", "int8", "bool"))
    return Edit("dtype", picked[0], to) if picked else None


def _real(program: Program) -> bool:
    """Whether an input is said to hold real numbers, and nothing else."""
    return any(recipe.structure in RANGES for recipe in program.inputs.values())


def _all_dtypes(program: Program, where: Any, value: str) -> Program | None:
    """Every floating input becomes `value`, but none complex where one is said to hold real numbers."""
    if value in COMPLEXES and _real(program):
        return None
    changes = {}
    for name, recipe in program.inputs.items():
        if recipe.dtype in DISCRETE:
            continue
        changes[name] = replace(recipe, dtype=_same_kind(recipe.dtype, value))
    return program.with_inputs(changes)


def _all_sizes(program: Program, where: Any, value: list[Any]) -> Program | None:
    """Every floating input becomes of one type and that much larger, so that their sizes among each other stay."""
    to, factor = value
    retyped = _all_dtypes(program, where, to)
    if retyped is None:
        return None
    changes = {name: replace(r, values=Values("scaled", (r.values, factor))) for name, r in floating(retyped) if r.structure is None}
    return retyped.with_inputs(changes)


def _one_size(program: Program, where: Any, value: list[Any]) -> Program | None:
    """Every floating input becomes of one type, and its first number that size."""
    to, number = value
    retyped = _all_dtypes(program, where, to)
    if retyped is None:
        return None
    recipes = [(name, r) for name, r in floating(retyped) if r.structure is None]
    return retyped.with_inputs({name: replace(r, values=Values("planted", (r.values, number, ALONE_AMONG))) for name, r in recipes})


def _same_kind(old: str, new: str) -> str:
    """A complex input keeps being complex when the real ones change precision."""
    if old in COMPLEXES and new in FLOATS:
        return "complex128" if new == "float64" else "complex64"
    return new


def factors(program: Program, menu: Menu) -> Iterator[Factor]:
    """All floating inputs together, and each by itself where there are several; these at the ends of narrow types, too."""
    inputs = floating(program)
    used = {recipe.dtype for _, recipe in inputs}
    real = _real(program)
    levels = [(to, Edit("dtypes", None, to)) for to in TOGETHER if inputs and used != {to} and not (real and to in COMPLEXES)]
    if len(inputs) > 1 and not real:
        levels += [(f"{name} {to}", Edit("dtype", name, to)) for name, r in inputs for to in ALONE if r.dtype != to]
    if len(inputs) > 1:
        levels += [(f"all {size} in {to}", Edit("sizes", None, [to, factor])) for to, size, factor in BEYOND_SQUARES]
    if any(r.structure is None and r.dtype not in COMPLEXES for _, r in inputs):
        to, number = BEYOND_RECIPROCAL
        levels.append((ONE_TINY, Edit("one_size", None, [to, number])))
    yield Factor("type", tuple(levels), eager=EAGER, single=frozenset({ONE_TINY}))


_KINDS: dict[str, Apply] = {
    "dtype": on_input(lambda r, v: replace(r, dtype=v)), "dtypes": _all_dtypes, "sizes": _all_sizes, "one_size": _one_size,
}  # fmt: skip
SORTS = [Sort("dtype", 11, draw, _KINDS, counted=str, factors=factors)]
