"""The words that random graphs are made of: what a target's functions do to shapes and numbers, learnt by trying them.

For every function that maps one or two tensors element by element, reduces one, or multiplies matrices, a box of inputs is looked for
on which it is finite, smooth and neither flat nor steep; its values there are kept as a table, so that a builder can follow
numbers through a graph without running it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from gradfuzz.chains.ops import Op
from gradfuzz.program.model import Call, Let, Program, Ref, Tensor, Values
from gradfuzz.targets.base.callables import callables, required
from gradfuzz.targets.base.protocol import Target, Vec
from gradfuzz.targets.base.scenario import DIRECT, FORWARD

Array = Any

# Intervals to try, most ordinary first: around zero, positive, inside (0, 1), above 1, negative.
INTERVALS = ((-1.6, 1.7), (-0.83, 0.87), (0.35, 2.6), (0.12, 0.88), (1.15, 2.9), (-2.7, -0.3))
BOXES = ((INTERVALS[0], INTERVALS[0]), (INTERVALS[0], INTERVALS[2]), (INTERVALS[2], INTERVALS[2]), (INTERVALS[3], INTERVALS[3]))
UNARY_TABLE = 33
BINARY_TABLE = 9
# A derivative outside these says little: below, the result hardly depends on its input; above, it is all rounding and curvature.
FLATTEST, STEEPEST = 0.03, 30.0
MOSTLY = 0.8
LARGEST = 30.0


@dataclass(frozen=True)
class Unary:
    func: str
    low: float
    high: float
    table: tuple[float, ...]

    def values(self, x: Array) -> Array:
        return np.interp(x, np.linspace(self.low, self.high, len(self.table)), self.table)


@dataclass(frozen=True)
class Binary:
    func: str
    first: tuple[float, float]
    second: tuple[float, float]
    table: tuple[tuple[float, ...], ...]

    def values(self, x: Array, y: Array) -> Array:
        """Between the points of the table, linearly in each."""
        grid = np.array(self.table)
        i, s = _place(x, self.first, grid.shape[0])
        j, t = _place(y, self.second, grid.shape[1])
        near = grid[i, j] * (1 - s) * (1 - t) + grid[i + 1, j] * s * (1 - t)
        return near + grid[i, j + 1] * (1 - s) * t + grid[i + 1, j + 1] * s * t


@dataclass(frozen=True)
class Reduction:
    """`axis` is what the function calls its axis; the range is what came out for inputs in the box."""

    func: str
    axis: str
    low: float
    high: float
    least: float
    most: float


@dataclass(frozen=True)
class Vocabulary:
    unary: list[Unary]
    binary: list[Binary]
    reductions: list[Reduction]
    products: list[str]

    def to_json(self) -> dict[str, Any]:
        return {
            "unary": [[u.func, u.low, u.high, u.table] for u in self.unary],
            "binary": [[b.func, b.first, b.second, b.table] for b in self.binary],
            "reductions": [[r.func, r.axis, r.low, r.high, r.least, r.most] for r in self.reductions],
            "products": self.products,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Vocabulary:
        return Vocabulary(
            [Unary(f, low, high, tuple(table)) for f, low, high, table in data["unary"]],
            [Binary(f, tuple(a), tuple(b), tuple(map(tuple, table))) for f, a, b, table in data["binary"]],
            [Reduction(*row) for row in data["reductions"]],
            list(data["products"]),
        )


def _place(x: Array, box: tuple[float, float], count: int) -> tuple[Array, Array]:
    position = np.clip((np.asarray(x, float) - box[0]) / (box[1] - box[0]) * (count - 1), 0, count - 1)
    index = np.minimum(position.astype(int), count - 2)
    return index, position - index


def learn(target: Target, ops: Iterable[Op], trying: Callable[[int], bool] = lambda _: True) -> Vocabulary:
    """Try everything once. `trying`: see find_ops."""
    unary = [u for u in (_unary(target, op) for op in ops if not op.after) if u is not None]
    known = {u.func for u in unary}
    binary: list[Binary] = []
    reductions: list[Reduction] = []
    products: list[str] = []
    for count, (name, function) in enumerate(callables(target.language)):
        needed = required(function)
        if not trying(count) or name in known or name.startswith(".") or (needed is not None and len(needed) > 2):
            continue
        if needed is None or len(needed) == 2:
            if _is_product(target, name):
                products.append(name)
                continue
            two = _binary(target, name)
            if two is not None:
                binary.append(two)
                continue
        if needed is None or len(needed) <= 1:
            reduced = _reduction(target, name)
            if reduced is not None:
                reductions.append(reduced)
    return Vocabulary(unary, binary, reductions, products)


def _try(target: Target, call: Call, arrays: dict[str, Array]) -> Any:
    """(the point, its one output); None where the call does not give one floating tensor."""
    inputs = [Let((n,), Tensor(a.shape, "float64", Values("listed", (tuple(a.ravel().tolist()),)))) for n, a in arrays.items()]
    try:
        point = target.point(Program((*inputs, Let(("out",), call))))
        outputs = point.first()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # whatever a library raises at a call that does not fit
        return None
    if len(outputs) != 1 or outputs[0].dtype != np.float64 or point.random or point.mutates:
        return None
    return point, outputs[0]


def _slopes(point: Any, arrays: list[Array], which: int) -> Any:
    """The derivative along one of the directions, forward mode; None where there is none."""
    direction = Vec([a if i == which else np.zeros(a.shape) for i, a in enumerate(arrays)])
    try:
        outcome = point.run(FORWARD, [direction], Vec([np.ones(o.shape) for o in point.run(DIRECT, [], None).outputs]))
        return np.asarray(outcome.result[0], float)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None


def _healthy(value: Array, slope: Any, mostly: float = MOSTLY) -> bool:
    if slope is None or slope.shape != value.shape or not (np.isfinite(value).all() and np.isfinite(slope).all()):
        return False
    steep = np.abs(slope)
    return bool(np.abs(value).max() < LARGEST and steep.max() < STEEPEST and (steep > FLATTEST).mean() > mostly)


def _unary(target: Target, op: Op) -> Unary | None:
    for low, high in INTERVALS:
        x = np.linspace(low, high, UNARY_TABLE)
        seen = _try(target, op.call(Ref("x")), {"x": x})
        if seen is None or seen[1].shape != x.shape:
            return None
        slope = _slopes(seen[0], [np.ones(x.shape)], 0)
        if _healthy(seen[1], slope) and _follows(x, seen[1], slope):
            return Unary(op.func, low, high, tuple(float(v) for v in seen[1]))
    return None


def _follows(x: Array, value: Array, slope: Array) -> bool:
    """Whether the values move as the slopes say: no jumps between the points of the table."""
    moved = np.diff(value)
    said = np.diff(x) * (slope[1:] + slope[:-1]) / 2
    return bool(np.abs(moved - said).max() < 0.2 * np.abs(said).max() + 1e-3)


def _binary(target: Target, name: str) -> Binary | None:
    call = Call(name, (Ref("x"), Ref("y")))
    alike = _try(target, call, {"x": np.array([0.4, 0.5, 0.6]), "y": np.array([0.7, 0.45, 0.55])})
    if alike is None or alike[1].shape != (3,):
        return None
    for first, second in BOXES:
        x = np.linspace(*first, BINARY_TABLE).reshape(-1, 1)
        y = np.linspace(second[0] * 0.97, second[1] * 0.97, BINARY_TABLE).reshape(1, -1)
        seen = _try(target, call, {"x": x, "y": y})
        if seen is None or seen[1].shape != (BINARY_TABLE, BINARY_TABLE):
            return None
        point, value = seen
        changed = x.copy()
        changed[0] = (first[0] + first[1]) / 2
        other = _try(target, call, {"x": changed, "y": y})
        if other is None or not np.array_equal(other[1][1:], value[1:], equal_nan=True):
            return None  # rows speak to each other
        slopes = [_slopes(point, [np.ones(x.shape), np.ones(y.shape)], i) for i in (0, 1)]
        if any(s is None for s in slopes) or not all(np.isfinite(s).all() for s in slopes):
            continue
        if np.isfinite(value).all() and _healthy(value, np.abs(slopes[0]) + np.abs(slopes[1])) and _follows_both(x, y, value, slopes):
            return Binary(name, (float(x[0, 0]), float(x[-1, 0])), (float(y[0, 0]), float(y[0, -1])), tuple(map(tuple, value.tolist())))
    return None


def _follows_both(x: Array, y: Array, value: Array, slopes: list[Array]) -> bool:
    columns = all(_follows_loosely(x[:, 0], value[:, j], slopes[0][:, j]) for j in range(value.shape[1]))
    return columns and all(_follows_loosely(y[0], value[i], slopes[1][i]) for i in range(value.shape[0]))


def _follows_loosely(x: Array, value: Array, slope: Array) -> bool:
    moved, said = np.diff(value), np.diff(x) * (slope[1:] + slope[:-1]) / 2
    return bool(np.abs(moved - said).max() < 0.5 * np.abs(said).max() + 0.2)


def _is_product(target: Target, name: str) -> bool:
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, 3)), rng.standard_normal((3, 4))
    seen = _try(target, Call(name, (Ref("x"), Ref("y"))), {"x": a, "y": b})
    return seen is not None and seen[1].shape == (2, 4) and bool(np.allclose(seen[1], a @ b))


def _reduction(target: Target, name: str) -> Reduction | None:
    rng = np.random.default_rng(7)
    whole = _try(target, Call(name, (Ref("x"),)), {"x": rng.uniform(0.4, 2.0, (3, 4))})
    if whole is None or whole[1].shape != ():
        return None
    for axis in ("dim", "axis"):
        call = Call("*", (Call(name, (Ref("x"),), ((axis, -1),)), 1.0))  # a tuple of tensors cannot be multiplied
        seen = _try(target, call, {"x": rng.uniform(0.4, 2.0, (3, 4))})
        if seen is None or seen[1].shape != (3,):
            continue
        for low, high in (INTERVALS[1], INTERVALS[2]):
            x = rng.uniform(low, high, (40, 3))
            seen = _try(target, call, {"x": x})
            if seen is None or seen[1].shape != (40,):
                break
            direction = rng.standard_normal(x.shape)
            if _healthy(seen[1], _slopes(seen[0], [direction], 0), 0.6):
                return Reduction(name, axis, low, high, float(seen[1].min()), float(seen[1].max()))
    return None
