"""Drawing edits: which change to make to a seed, by seeded chance."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Callable

from gradfuzz.mutate.edits import Edit, apply
from gradfuzz.program.codec import values_to_json
from gradfuzz.program.model import DISCRETE, MAX_ELEMENTS, Call, Expr, Program, Tensor, Values, children

MAX_EDITS = 3
MUTANT_ELEMENTS = min(MAX_ELEMENTS, 2**16)

# Points where formulas change their mind: ends of domains, removable singularities, poles, branch points.
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1.5707963267948966, 3.141592653589793, 1e-8, -1e-8)
EXPONENTS = (-300, -100, -30, -12, -6, -3, -2, -1, 1, 2, 3, 6, 12, 30, 100)
# Beyond these exp overflows, tanh and sigmoid saturate, softplus switches to its linear branch.
LARGE = (20.0, 40.0, 90.0, 400.0, 750.0, 1e4)


def draw_edits(program: Program, rng: random.Random) -> list[Edit]:
    """One to three edits that fit the Program."""
    edits: list[Edit] = []
    for _ in range(1 + (rng.random() < 0.35) + (rng.random() < 0.12)):
        edit = draw_edit(program, rng)
        if edit is not None:
            edits.append(edit)
            program = apply(program, edit)
    return edits


def draw_relative(program: Program, family: int, shared: random.Random, own: random.Random) -> list[Edit]:
    """Edits of one member of a family: what changes shapes, types and arguments comes from `shared`, the numbers from `own`.

    Family 0 keeps the seed's own shapes. Memory layouts are left out: a compiler chooses its own.
    """
    edits: list[Edit] = []
    kinds = [kind for kind in _KINDS if kind not in ("values", "layout")]
    weights = [weight for kind, weight in zip(_KINDS, _WEIGHTS) if kind in kinds]
    draws = [_DRAW[shared.choices(kinds, weights)[0]] for _ in range(1 + (shared.random() < 0.2))] if family else []
    chances = [(draw, shared) for draw in draws] + [(_draw_values, own)] * (1 + (own.random() < 0.35))
    for draw, rng in chances:
        edit = draw(program, rng)
        if edit is not None:
            edits.append(edit)
            program = apply(program, edit)
    return edits


def draw_edit(program: Program, rng: random.Random) -> Edit | None:
    """One edit; None where the kind drawn has nothing to change."""
    (kind,) = rng.choices(_KINDS, _WEIGHTS)
    return _DRAW[kind](program, rng)


def _floats(program: Program) -> list[tuple[str, Tensor]]:
    return [(name, r) for name, r in program.inputs.items() if r.dtype not in DISCRETE]


def _pick(program: Program, rng: random.Random) -> tuple[str, Tensor] | None:
    inputs = _floats(program)
    return rng.choice(inputs) if inputs else None


# Values ------------------------------------------------------------------------------------------------------------


def _zeros(v: Values, rng: random.Random) -> Values:
    return Values("full", (rng.choice((0.0, -0.0)),))


def _constant(v: Values, rng: random.Random) -> Values:
    return Values("full", (rng.choice(SPECIAL + LARGE),))


def _planted(v: Values, rng: random.Random) -> Values:
    return Values("planted", (v, rng.choice((0.0, 0.0, *SPECIAL)), rng.choice((1, 2, 3, 5))))


def _scaled(v: Values, rng: random.Random) -> Values:
    return Values("scaled", (v, rng.choice((-1.0, 1.0)) * 10.0 ** rng.choice(EXPONENTS)))


def _large(v: Values, rng: random.Random) -> Values:
    return Values("planted", (v, rng.choice((-1.0, 1.0)) * rng.choice(LARGE), rng.choice((1, 2, 3))))


def _redrawn(v: Values, rng: random.Random) -> Values:
    return Values("normal", (), rng.randrange(1000))


def _positive(v: Values, rng: random.Random) -> Values:
    return Values("uniform", (0.05, 2.0), rng.randrange(1000))


def _unit(v: Values, rng: random.Random) -> Values:
    return Values("uniform", (-0.95, 0.95), rng.randrange(1000))


def _negative(v: Values, rng: random.Random) -> Values:
    return Values("uniform", (-3.0, -0.05), rng.randrange(1000))


def _whole(v: Values, rng: random.Random) -> Values:
    return Values("integers", (-3, 4), rng.randrange(1000))


def _tied(v: Values, rng: random.Random) -> Values:
    return Values("rounded", (v, rng.choice((0.5, 1.0, 4.0))))


def _special(v: Values, rng: random.Random) -> Values:
    return Values("choice", (SPECIAL,), rng.randrange(1000))


def _sorted(v: Values, rng: random.Random) -> Values:
    return Values("sorted", (v,))


def _close(v: Values, rng: random.Random) -> Values:
    return Values("close", (v, rng.choice((1e-3, 1e-6, 1e-9))))


def _onehot(v: Values, rng: random.Random) -> Values:
    return Values("onehot", (), rng.randrange(1000))


VALUE_STRATEGIES: dict[str, tuple[float, Callable[[Values, random.Random], Values]]] = {
    "zeros": (2, _zeros), "constant": (2, _constant), "planted": (4, _planted), "scaled": (3, _scaled), "large": (3, _large),
    "redrawn": (3, _redrawn), "positive": (2, _positive), "unit": (2, _unit), "negative": (2, _negative), "whole": (2, _whole),
    "tied": (2, _tied), "special": (3, _special), "sorted": (1, _sorted), "close": (1, _close), "onehot": (1, _onehot),
}  # fmt: skip
_STRATEGIES = list(VALUE_STRATEGIES.values())
_STRATEGY_WEIGHTS = [weight for weight, _ in _STRATEGIES]


def _draw_values(program: Program, rng: random.Random) -> Edit | None:
    picked = _pick(program, rng)
    if picked is None:
        return None
    name, recipe = picked
    ((_, strategy),) = rng.choices(_STRATEGIES, _STRATEGY_WEIGHTS)
    return Edit("values", name, values_to_json(strategy(_unwrapped(recipe.values), rng)))


def _unwrapped(values: Values) -> Values:
    """Wrappers do not pile up deeper than two."""
    inner = values.args[0] if values.args and isinstance(values.args[0], Values) else None
    return inner if inner is not None and inner.args and isinstance(inner.args[0], Values) else values


# Types, layouts, shapes ----------------------------------------------------------------------------------------------


def _draw_dtype(program: Program, rng: random.Random) -> Edit | None:
    to = rng.choice(("float32", "float32", "complex128", "complex128", "float16", "bfloat16", "complex64"))
    if rng.random() < 0.75:
        return Edit("dtypes", None, to)
    picked = _pick(program, rng)
    return Edit("dtype", picked[0], to) if picked else None


def _draw_layout(program: Program, rng: random.Random) -> Edit | None:
    picked = _pick(program, rng)
    if picked is None:
        return None
    options = ["transposed", "strided", "offset", "expanded", "channels_last", "negated"]
    if picked[1].dtype.startswith("complex"):
        options += ["conjugated"] * 3
    return Edit("layout", picked[0], rng.choice(options))


def _draw_size(program: Program, rng: random.Random) -> Edit | None:
    sizes = sorted({n for r in program.inputs.values() for n in r.shape})
    if not sizes:
        return None
    old = rng.choice(sizes)
    new = rng.choice([n for n in (0, 1, 1, 2, 3, 4, 6, 8, old + 1, max(0, old - 1)) if n != old])
    return _bounded(program, Edit("size", old, new))


def _draw_shape(program: Program, rng: random.Random) -> Edit | None:
    """One input alone changes: broadcasting partners, a rank more or less, one dimension more or less."""
    inputs = list(program.inputs.items())
    if not inputs:
        return None
    name, recipe = rng.choice(inputs)
    shape = list(recipe.shape)
    roll = rng.random()
    if shape and roll < 0.5:
        shape[rng.randrange(len(shape))] = rng.choice((1, 1, 0, 2, 3, 5))
    elif shape and roll < 0.7:
        del shape[0]
    else:
        shape.insert(0, rng.choice((1, 2)))
    return _bounded(program, Edit("shape", name, shape)) if len(shape) < 8 else None


def _draw_rank(program: Program, rng: random.Random) -> Edit | None:
    return _bounded(program, Edit("batch", None, rng.choice((1, 2, 3, 0)))) if rng.random() < 0.7 else Edit("unbatch")


def _bounded(program: Program, edit: Edit) -> Edit | None:
    """The edit, unless its mutant would be too large to be worth its time."""
    elements = sum(r.elements for r in apply(program, edit).inputs.values())
    return edit if elements <= MUTANT_ELEMENTS else None


def _draw_grad(program: Program, rng: random.Random) -> Edit | None:
    inputs = _floats(program)
    if len(inputs) < 2:
        return None
    name, recipe = rng.choice(inputs)
    return Edit("grad", name, not recipe.grad)


def _draw_same(program: Program, rng: random.Random) -> Edit | None:
    if any(call.func.endswith("_") for call in program.calls()):
        return None  # an in-place call that reads what it overwrites promises nothing
    inputs = _floats(program)
    pairs = [(a, b) for a, r in inputs for b, s in inputs if a != b and r.shape == s.shape and r.dtype == s.dtype]
    return Edit("same_tensor", *rng.choice(pairs)) if pairs else None


# Arguments -----------------------------------------------------------------------------------------------------------


def literals(program: Program) -> Iterator[tuple[list[int], Any]]:
    """(path, literal) of every literal argument of a call."""
    for position, statement in enumerate(program.statements):
        if not isinstance(statement.value, Tensor):
            yield from _literals(statement.value, [position])


def _literals(node: Expr, path: list[int]) -> Iterator[tuple[list[int], Any]]:
    for position, child in enumerate(children(node)):
        if isinstance(child, (bool, int, float, str)) and (isinstance(node, (Call, tuple, list))):
            yield [*path, position], child
        else:
            yield from _literals(child, [*path, position])


ENUMERATIONS = (
    ("none", "mean", "sum", "batchmean"), ("zeros", "border", "reflection"), ("bilinear", "nearest", "bicubic"),
    ("nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact"),
    ("constant", "reflect", "replicate", "circular"), ("valid", "same"), ("sum", "prod", "mean", "amax", "amin"),
    ("linear", "lower", "higher", "midpoint", "nearest"), ("fro", "nuc"), ("reduced", "complete", "r"),
    ("backward", "ortho", "forward"), ("floor", "trunc"), ("none", "tanh"), ("sum", "mean", "max"), ("L", "U"),
    ("xy", "ij"), ("left", "right"),
)  # fmt: skip


def other_literal(old: Any, rng: random.Random) -> Any:
    """Another literal of the same kind."""
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        return rng.choice([n for n in (old + 1, old - 1, 0, 1, -1, 2, 3, -2) if n != old])
    if isinstance(old, float):
        return rng.choice([x for x in (0.0, 1.0, -1.0, 0.5, 2.0, -old, old * 10, old / 10, 1e-3, 3.0) if x != old])
    families = [family for family in ENUMERATIONS if old in family]
    options = [word for family in families for word in family if word != old]
    return rng.choice(options) if options else None


def _draw_argument(program: Program, rng: random.Random) -> Edit | None:
    found = list(literals(program))
    if not found:
        return None
    path, old = rng.choice(found)
    new = other_literal(old, rng)
    return None if new is None else Edit("argument", path, new)


def _draw_dropped(program: Program, rng: random.Random) -> Edit | None:
    places = [(position, key) for position, s in enumerate(program.statements) if isinstance(s.value, Call) for key, _ in s.value.kwargs]
    if not places:
        return None
    position, key = rng.choice(places)
    return Edit("drop_keyword", [position], key)


_DRAW: dict[str, Callable[[Program, random.Random], Edit | None]] = {
    "values": _draw_values, "dtype": _draw_dtype, "layout": _draw_layout, "size": _draw_size, "shape": _draw_shape,
    "rank": _draw_rank, "grad": _draw_grad, "same": _draw_same, "argument": _draw_argument, "dropped": _draw_dropped,
}  # fmt: skip
_KINDS = list(_DRAW)
_WEIGHTS = [58, 8, 6, 7, 3, 2, 5, 2, 7, 2]
