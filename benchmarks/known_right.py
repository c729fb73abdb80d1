"""Functions whose derivatives are known to be right, at every number: closed forms in NumPy. What accuses one of them is a false alarm.

`LIBRARIES` is open: whoever can vouch for other functions (a reference that proves them) adds a name and what makes their mutants.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.mutate.numbers import VALUE_STRATEGIES
from gradfuzz.oracles.check import Examination, Options, examine
from gradfuzz.program.model import Call, Let, Program, Ref, Tensor, Values
from gradfuzz.program.values import materialise, size_of
from gradfuzz.targets.base.protocol import Outcome, Refusal
from gradfuzz.targets.homes import language_for

Array = Any
SHAPES = ((), (3,), (3, 4), (2, 1, 5))


@dataclass(frozen=True)
class Function:
    """f of its inputs, and the tangent of its output along directions of them. Reverse mode is its contraction."""

    name: str
    f: Callable[..., Array]
    tangent: Callable[[list[Array], list[Array]], Array]
    arity: int = 1
    square: bool = False
    choices: Callable[..., list[Array]] = lambda *xs: []  # outputs of whole numbers


def _unary(name: str, f: Callable[[Array], Array], slope: Callable[[Array], Array]) -> Function:
    return Function(name, f, lambda xs, us: slope(xs[0]) * us[0])


def _binary(name: str, f: Callable[[Array, Array], Array], slopes: Callable[[Array, Array], tuple[Array, Array]]) -> Function:
    def tangent(xs: list[Array], us: list[Array]) -> Array:
        first, second = slopes(*xs)
        return first * us[0] + second * us[1]

    return Function(name, f, tangent, 2)


def _sigmoid(x: Array) -> Array:
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def _sigmoid_slope(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return small / (1 + small) ** 2


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _length(x: Array, y: Array = 0.0) -> Array:
    """The length of a pair; one for none, so that the slope at the kink is zero."""
    length = np.hypot(x, y)
    return np.where(length == 0, 1.0, length)


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(initial=-np.inf))
    return powers / powers.sum()


def _softmax_tangent(xs: list[Array], us: list[Array]) -> Array:
    shares = _softmax(xs[0])
    return shares * (us[0] - (shares * us[0]).sum())


def _normalised_tangent(xs: list[Array], us: list[Array]) -> Array:
    length = _length(np.linalg.norm(xs[0]))
    unit = xs[0] / length
    return (us[0] - unit * (unit * us[0]).sum()) / length


def _median_tangent(xs: list[Array], us: list[Array]) -> Array:
    return us[0].reshape(-1)[np.argsort(xs[0], axis=None)[xs[0].size // 2]]


def _folded_slopes(x: Array, y: Array) -> tuple[Array, Array]:
    """Of x y² / (x² + y²), which has slopes in all directions at the origin and no derivative."""
    length = _length(x, y)
    a, b = x / length, y / length
    return b**2 * (b**2 - a**2), 2 * a**3 * b


def _wave(x: Array) -> Array:
    """A wave that dies away; far out its value is a constant, as that of a Fresnel integral is once it is computed in time."""
    far = np.abs(x) > 1e4
    near = np.where(far | (x == 0), 1.0, x)
    return np.where(far, 0.5 * np.sign(x), 0.5 * np.sign(x) + np.where(x == 0, 0.0, np.sin(near * near) / (2 * near)))


def _wave_slope(x: Array) -> Array:
    far = np.abs(x) > 1e4
    near = np.where(far | (x == 0), 1.0, x)
    return np.where(x == 0, 0.5, np.cos(x * x) - np.where(far, 0.0, np.sin(near * near) / near / near / 2))


def _upper_inverse(u: Array) -> Array:
    """Column by column, which raises nothing: those that need a zero of the diagonal are not finite, the others are right."""
    found = np.zeros_like(u)
    for j in range(len(u)):
        for i in reversed(range(j + 1)):
            found[i, j] = (float(i == j) - u[i, i + 1 : j + 1] @ found[i + 1 : j + 1, j]) / u[i, i]
    return found


def _qr_tangent(xs: list[Array], us: list[Array]) -> Array:
    q, r = np.linalg.qr(xs[0])
    lower = np.tril(q.T @ us[0] @ _upper_inverse(r), -1)
    return np.stack([q @ (lower - lower.T), q.T @ us[0] - (lower - lower.T) @ r])


def _lu(x: Array) -> tuple[Array, Array, Array]:
    """Lower and upper factor, and the rows in the order of their pivots."""
    lower, upper, rows = np.zeros_like(x), np.array(x), np.arange(len(x))
    for k in range(len(x)):
        pivot = k + int(np.abs(upper[k:, k]).argmax())
        for a in (lower, upper, rows):
            a[[k, pivot]] = a[[pivot, k]]
        lower[k + 1 :, k] = upper[k + 1 :, k] / upper[k, k] if upper[k, k] else 0.0
        upper[k + 1 :] -= lower[k + 1 :, k, None] * upper[k]
        upper[k + 1 :, k] = 0.0
    return lower + np.eye(len(x)), upper, rows


def _lu_tangent(xs: list[Array], us: list[Array]) -> Array:
    lower, upper, rows = _lu(xs[0])
    moved = np.linalg.solve(lower, us[0][rows])
    below = np.tril(moved @ _upper_inverse(upper), -1)
    return np.stack([lower @ below, moved - below @ upper])


FUNCTIONS = (
    _unary("sin", np.sin, np.cos),
    _unary("cos", np.cos, lambda x: -np.sin(x)),
    _unary("tan", np.tan, lambda x: 1 / np.cos(x) ** 2),
    _unary("exp", np.exp, np.exp),
    _unary("expm1", np.expm1, np.exp),
    _unary("log", np.log, lambda x: 1 / x),
    _unary("log1p", np.log1p, lambda x: 1 / (1 + x)),
    _unary("sqrt", np.sqrt, lambda x: 0.5 / np.sqrt(x)),
    _unary("cbrt", np.cbrt, lambda x: 1 / (3 * np.cbrt(x) ** 2)),
    _unary("square", np.square, lambda x: 2 * x),
    _unary("cube", lambda x: x**3, lambda x: 3 * x**2),
    _unary("reciprocal", lambda x: 1 / x, lambda x: -1 / x / x),
    _unary("abs", np.abs, np.sign),
    _unary("relu", lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0),
    _unary("floor", np.floor, np.zeros_like),
    _unary("round", np.round, np.zeros_like),
    _unary("sign", np.sign, np.zeros_like),
    _unary("tanh", np.tanh, lambda x: 1 / np.cosh(x) ** 2),
    _unary("arctan", np.arctan, lambda x: 1 / (1 + x * x)),
    _unary("arcsin", np.arcsin, lambda x: 1 / np.sqrt((1 - x) * (1 + x))),
    _unary("arccos", np.arccos, lambda x: -1 / np.sqrt((1 - x) * (1 + x))),
    _unary("arcsinh", np.arcsinh, lambda x: 1 / np.hypot(1, x)),
    _unary("sinh", np.sinh, np.cosh),
    _unary("cosh", np.cosh, np.sinh),
    _unary("sigmoid", _sigmoid, _sigmoid_slope),
    _unary("softplus", _softplus, _sigmoid),
    _unary("clamp", lambda x: np.clip(x, -1, 1), lambda x: ((x > -1) & (x < 1)) * 1.0),
    _unary("root", lambda x: np.sign(x) * np.sqrt(np.abs(x)), lambda x: 0.5 / np.sqrt(np.abs(x))),
    _unary("branch", lambda x: np.arccos(np.clip(x, -1, 1)), lambda x: np.where(np.abs(x) > 1, 0, -1 / np.sqrt((1 - x) * (1 + x)))),
    _unary("quantile", lambda x: np.tan(np.pi * (x - 0.5)), lambda x: np.pi / np.cos(np.pi * (x - 0.5)) ** 2),
    _unary("wave", _wave, _wave_slope),
    _unary("fmod", lambda x: np.fmod(x, 3.5), np.ones_like),
    _unary("gauss", lambda x: np.exp(-x * x), lambda x: -2 * x * np.exp(-x * x)),
    _unary("affine", lambda x: 3 * x + 1, lambda x: 3 * np.ones_like(x)),
    _binary("add", np.add, lambda x, y: (np.ones_like(x), np.ones_like(y))),
    _binary("multiply", np.multiply, lambda x, y: (y, x)),
    _binary("divide", np.divide, lambda x, y: (1 / y, -(x / y) / y)),
    # Not the floor of x / y: a quotient of -5e-324 by 2.7 vanishes, and with it the -1 that its floor is.
    _binary("remainder", np.remainder, lambda x, y: (np.ones_like(x), -np.floor_divide(x, y))),
    _binary("hypot", np.hypot, lambda x, y: (x / _length(x, y), y / _length(x, y))),
    _binary("maximum", np.maximum, lambda x, y: ((x > y) + 0.5 * (x == y), (x < y) + 0.5 * (x == y))),
    _binary("arctan2", np.arctan2, lambda x, y: (y / _length(x, y) / _length(x, y), -x / _length(x, y) / _length(x, y))),
    _binary("logaddexp", np.logaddexp, lambda x, y: (_sigmoid(x - y), _sigmoid(y - x))),
    Function("sum", lambda x: np.asarray(x.sum()), lambda xs, us: np.asarray(us[0].sum())),
    Function("mean", lambda x: np.asarray(x.mean()), lambda xs, us: np.asarray(us[0].mean())),
    Function("dot", lambda x, y: np.asarray((x * y).sum()), lambda xs, us: np.asarray((us[0] * xs[1] + xs[0] * us[1]).sum()), 2),
    Function("norm", lambda x: np.asarray(np.linalg.norm(x)),
             lambda xs, us: np.asarray((xs[0] / _length(np.linalg.norm(xs[0])) * us[0]).sum())),
    Function("max", lambda x: np.asarray(x.max()), lambda xs, us: np.asarray(us[0].reshape(-1)[xs[0].argmax()])),
    Function("median", lambda x: np.sort(x, axis=None)[x.size // 2], _median_tangent),
    Function("normalise", lambda x: x / _length(np.linalg.norm(x)), _normalised_tangent),
    _unary("steep", lambda x: x / np.maximum(np.abs(x), 1e-12), lambda x: np.where(np.abs(x) < 1e-12, 1e12, 0.0)),
    _unary("cotangent", lambda x: 1 / np.tan(x), lambda x: -1 / np.sin(x) ** 2),
    _binary("folded", lambda x, y: x * (y / _length(x, y)) ** 2, _folded_slopes),
    Function("softmax", _softmax, _softmax_tangent),
    Function("matmul", lambda x, y: x @ y, lambda xs, us: us[0] @ xs[1] + xs[0] @ us[1], 2, True),
    Function("inverse", lambda x: np.linalg.inv(x), lambda xs, us: -np.linalg.inv(xs[0]) @ us[0] @ np.linalg.inv(xs[0]), 1, True),
    Function("solve", lambda x, y: np.linalg.solve(x, y),
             lambda xs, us: np.linalg.solve(xs[0], us[1] - us[0] @ np.linalg.solve(xs[0], xs[1])), 2, True),
    Function("qr", lambda x: np.stack(np.linalg.qr(x)), _qr_tangent, 1, True),
    Function("lu", lambda x: np.stack(_lu(x)[:2]), _lu_tangent, 1, True, lambda x: [_lu(x)[2]]),
)  # fmt: skip


class KnownPoint:
    """F and its first derivative in both modes; either can be told to be wrong by a factor."""

    random = mutates = False
    unit = 2.0**-52

    def __init__(self, owner: KnownTarget, program: Program, arrays: list[Array] | None) -> None:
        self.owner, self.names = owner, list(program.inputs)
        self.inputs = [materialise(r) for r in program.inputs.values()] if arrays is None else arrays
        self.scales = [size_of(x) for x in self.inputs]
        self.structures: list[str | None] = [None] * len(self.names)

    def first(self) -> list[Array]:
        return [np.asarray(self.owner.function.f(*self.inputs))]

    def run(self, scenario: Any, us: Any, v: Any, along: Any = None, shift: float = 0.0) -> Outcome:
        xs = self.inputs if along is None else [x + shift * a for x, a in zip(self.inputs, along.arrays)]
        value = np.asarray(self.owner.function.f(*xs))
        if not scenario.modes:
            return Outcome([value], [value])
        if scenario.order > 1:
            raise NotImplementedError("one order only")
        tangent = np.asarray(self.owner.function.tangent(xs, us[0].arrays))
        if scenario.modes == ("f",):
            return Outcome([value], [tangent * self.owner.forward])
        return Outcome([value], [float(np.vdot(v.arrays[0], tangent)) * self.owner.reverse], True, [True])

    def choices(self, along: Any, shift: float) -> list[Array]:
        return self.owner.function.choices(*(x + shift * a for x, a in zip(self.inputs, along.arrays)))

    def rules(self) -> list[str]:
        return []

    def fault(self) -> str:
        return self.owner.function.name


class KnownTarget:
    """One function as a library."""

    name, version, ways = "numpy", "0", ()
    language = language_for("torch")

    def __init__(self, function: Function, reverse: float = 1.0, forward: float = 1.0) -> None:
        self.function, self.reverse, self.forward = function, reverse, forward

    def point(self, program: Program, arrays: list[Array] | None = None) -> KnownPoint:
        return KnownPoint(self, program, arrays)

    def classify(self, error: BaseException) -> Refusal:
        return Refusal("unsupported" if isinstance(error, NotImplementedError) else "invalid", str(error))


@dataclass(frozen=True)
class Mutant:
    """One function at some numbers; `examine` judges it, with an error planted in one mode if that is wanted."""

    function: Function
    strategy: str
    program: Program
    salt: int

    def examine(self, reverse: float = 1.0, forward: float = 1.0) -> Examination:
        with np.errstate(all="ignore"):
            return examine(KnownTarget(self.function, reverse, forward), self.program, Options(order=1, salt=self.salt))

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} {list(r.shape)} {r.values}" for name, r in self.program.inputs.items())
        return f"{self.function.name}({numbers}) salt {self.salt}"


def numpy_mutants(count: int, seed: int = 0) -> Iterator[Mutant]:
    """So many mutants, every function under every value strategy in turn."""
    strategies = list(VALUE_STRATEGIES)
    for index in range(count):
        rng = random.Random(f"{seed}:{index}")
        function = FUNCTIONS[index % len(FUNCTIONS)]
        strategy = strategies[index // len(FUNCTIONS) % len(strategies)]
        shape = (3, 3) if function.square else rng.choice(SHAPES)
        statements = []
        for name in ("x", "y")[: function.arity]:
            base = Values("normal", (), rng.randrange(1000))
            statements.append(Let((name,), Tensor(shape, "float64", VALUE_STRATEGIES[strategy][1](base, rng))))
        call = Let(("z",), Call("torch.sin", (Ref("x"),)))  # a stand-in: what is computed is the function
        yield Mutant(function, strategy, Program((*statements, call)), rng.randrange(1000))


LIBRARIES: dict[str, Callable[[int, int], Iterator[Mutant]]] = {"numpy": numpy_mutants}
