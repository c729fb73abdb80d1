"""Other numbers for an input: value strategies, each a wrapper around what was there or a draw of its own."""

from __future__ import annotations

import random
from typing import Callable

from gradfuzz.program.model import Values

# Points where formulas change their mind: ends of domains, removable singularities, poles, branch points.
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1.5707963267948966, 3.141592653589793, 1e-8, -1e-8)
# Common scales come up as often as the whole sweep together.
EXPONENTS = (-12, -6, -3, -2, -1, 1, 2, 3, 6, 12)
SWEEP = 100
# Beyond these exp overflows, tanh and sigmoid saturate, softplus switches to its linear branch.
LARGE = (20.0, 40.0, 90.0, 400.0, 750.0, 1e4)
# Where derivatives of functions that level off are far below the last place of their values: differences see nothing there, and formulas
# that start from the value lose them. Of both signs by turns: a derivative may vanish on one side of zero and not on the other. Among the
# first few one stands out by more than a double has digits for: functions of a whole row level off there.
# None is whole: poles are.
TAILS = (61.3, -41.3, 23.3, -90.3, 31.3, -19.5, 400.3, -35.3)
# Beside zero, where formulas lose what is small beside one: below a double's last place, above it, and far beyond it. The first few are all
# that most tensors have of them.
BESIDE_ZERO = (2.3e-17, -3.1e-12, 1.7e-25, -4.7e-10)
# Just beyond where powers of two, squares and powers of e leave double precision: some derivatives are well inside of it still.
PAST_OVERFLOW = (1024.3, 1.35e154, -1024.3, 709.9)
# Below the normal numbers of double, single and half precision.
DENORMAL = (5e-324, 1e-310, 1e-40, 3e-6)
NOT_FINITE = (float("inf"), float("-inf"), float("nan"))
# Of larger ones the list would be long, and equal eigenvalues are met in small ones as well.
LARGEST_MATRIX = 32
TWO = 2
# Numbers over all four quadrants, most of them left of the imaginary axis, where branches are; their real parts serve real types.
AROUND = (-1.5 + 0.7j, -0.3 - 2.0j, -1.0 + 0.0j, 0.4 - 1.1j)


def kinds_of_numbers(v: Values) -> dict[str, Values]:
    """Each kind of numbers once, for those who try one after the other: first those at which formulas fail most often."""
    return {
        "zeros": Values("full", (0.0,)), "ones": Values("full", (1.0,)), "special": Values("choice", (SPECIAL,), 7),
        "in the tails": Values("listed", (TAILS,)), "a zero": Values("planted", (v, 0.0, 4096)),
        "beside zero": Values("listed", (BESIDE_ZERO,)), "tiny": Values("scaled", (v, 1e-8)), "huge": Values("scaled", (v, 1e20)),
        "ties": Values("choice", ((0.75, -0.25),), 7),
        "of both signs": Values("normal", (), 7), "some zeros": Values("planted", (v, 0.0, 2)), "whole": Values("integers", (-3, 4), 7),
        "past overflow": Values("listed", (PAST_OVERFLOW,)),
        "large": Values("scaled", (v, 1e3)), "small": Values("scaled", (v, 1e-3)), "positive": Values("uniform", (0.05, 2.0), 7),
        "negative": Values("uniform", (-3.0, -0.05), 7), "infinite": Values("planted", (v, float("inf"), 4096)),
        "around the origin": Values("choice", (AROUND,), 7),
    }  # fmt: skip


def kinds_of_many(v: Values, elements: int) -> dict[str, Values]:
    """What depends on how many there are: two zeros, of a product the first number at which the second derivative is all there is."""
    return {"two zeros": Values("planted", (v, 0.0, (elements + 1) // 2))} if elements > TWO else {}


def kinds_of_matrices(shape: tuple[int, ...]) -> dict[str, Values]:
    """What a square matrix may be beside: all its eigenvalues and singular values are one, where formulas divide by their differences."""
    if len(shape) < 2 or shape[-1] != shape[-2] or not 1 < shape[-1] <= LARGEST_MATRIX:
        return {}
    return {"a unit matrix": Values("listed", ((1.0, *[0.0] * shape[-1]),))}


def other_values(values: Values, rng: random.Random) -> Values:
    """Other numbers in place of these."""
    ((_, strategy),) = rng.choices(_STRATEGIES, _STRATEGY_WEIGHTS)
    return strategy(_unwrapped(values), rng)


def _zeros(v: Values, rng: random.Random) -> Values:
    return Values("full", (rng.choice((0.0, -0.0)),))


def _constant(v: Values, rng: random.Random) -> Values:
    return Values("full", (rng.choice(SPECIAL + LARGE),))


def _planted(v: Values, rng: random.Random) -> Values:
    return Values("planted", (v, rng.choice((0.0, 0.0, *SPECIAL)), rng.choice((1, 2, 3, 5))))


def _scaled(v: Values, rng: random.Random) -> Values:
    exponent = rng.choice(EXPONENTS) if rng.random() < 0.5 else rng.randint(-SWEEP, SWEEP)
    return Values("scaled", (v, rng.choice((-1.0, 1.0)) * 10.0**exponent))


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


def _denormal(v: Values, rng: random.Random) -> Values:
    return Values("planted", (v, rng.choice((-1.0, 1.0)) * rng.choice(DENORMAL), rng.choice((1, 2, 3))))


def _not_finite(v: Values, rng: random.Random) -> Values:
    """Only some elements: where the outputs are still finite, their derivatives along the other elements are defined."""
    return Values("planted", (v, rng.choice(NOT_FINITE), rng.choice((2, 3, 5))))


def _duplicated(v: Values, rng: random.Random) -> Values:
    return Values("choice", (tuple(round(rng.gauss(0, 1), 3) for _ in range(2)),), rng.randrange(1000))


def _swept(v: Values, rng: random.Random) -> Values:
    """One size for all, anywhere in the sweep."""
    return Values("full", (rng.choice((-1.0, 1.0)) * float(f"{10.0 ** rng.uniform(-SWEEP, SWEEP):.3g}"),))


def _close(v: Values, rng: random.Random) -> Values:
    return Values("close", (v, rng.choice((1e-3, 1e-6, 1e-9, 1e-12))))


def _onehot(v: Values, rng: random.Random) -> Values:
    return Values("onehot", (), rng.randrange(1000))


VALUE_STRATEGIES: dict[str, tuple[float, Callable[[Values, random.Random], Values]]] = {
    "zeros": (2, _zeros), "constant": (2, _constant), "planted": (4, _planted), "scaled": (3, _scaled), "large": (3, _large),
    "redrawn": (3, _redrawn), "positive": (2, _positive), "unit": (2, _unit), "negative": (2, _negative), "whole": (2, _whole),
    "tied": (2, _tied), "special": (3, _special), "sorted": (1, _sorted), "close": (1, _close), "onehot": (1, _onehot),
    "denormal": (0.7, _denormal), "not_finite": (0.7, _not_finite), "duplicated": (1, _duplicated), "swept": (1, _swept),
}  # fmt: skip
_STRATEGIES = list(VALUE_STRATEGIES.values())
_STRATEGY_WEIGHTS = [weight for weight, _ in _STRATEGIES]


def _unwrapped(values: Values) -> Values:
    """Wrappers do not pile up deeper than two."""
    inner = values.args[0] if values.args and isinstance(values.args[0], Values) else None
    return inner if inner is not None and inner.args and isinstance(inner.args[0], Values) else values
