"""The proof: AD's numbers at a point against enclosures of the true ones.

The precision doubles until an enclosure is narrow enough. The reference speaks only where it is the same function: its value must be the
library's output up to rounding, at ordinary numbers elsewhere and at the point, unless AD is right there all the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from flint import acb, arb, ctx

from gradfuzz.program import from_json, to_json
from gradfuzz.program.model import Program
from gradfuzz.reference.arrays import Array, box
from gradfuzz.reference.jet import Depth, Jet, variable
from gradfuzz.reference.moves import Moves
from gradfuzz.reference.program import Evaluation, Jitter, Unmoved, numbers_of
from gradfuzz.reference.spell import Book, NoMeaning, book_of
from gradfuzz.targets.homes import home_of
from gradfuzz.worker.measure import Spot, label, one_hot
from gradfuzz.worker.wire import unpacked

RIGHT, WRONG, UNKNOWN = "right", "wrong", "unknown"

# Bits to begin with, and the most: a tail of exp(-700) beside one takes a thousand, and functions of 1e300 as many to reduce it.
FIRST_BITS, MOST_BITS = 128, 4096
# What cannot be told with so many bits is not told with more: a kink.
SURE_BITS = 8 * FIRST_BITS
# An enclosure is narrow enough when it is good to more bits than any type has.
NARROW_BITS = 70
# An input is a rounding of what was meant, by half a unit, and so is what every call gives. A number may be off by what that does to it,
# and by a few units: kernels sum in another order and chain a few roundings of their own.
FREE = 16.0
JITTERS = 3
# Whether it is the same function at all is asked with more patience: kernels may sum in a worse order than the derivative needs.
SAME = 256.0
# Where rounding the inputs moves a derivative by this share of itself, being off by as much says nothing either way.
SPOILT = 1e-2
# (least normal number, largest number) of a type, by its unit.
RANGES = {2.0**-52: (2.3e-308, 1.79e308), 2.0**-23: (1.18e-38, 3.4e38), 2.0**-10: (6.2e-5, 65000.0), 2.0**-7: (1.18e-38, 3.38e38)}
# Elements of inputs and outputs together beyond which nothing is tried: jets are slow, and an answer that comes late is none.
MOST_NUMBERS = 4096


@dataclass(frozen=True)
class Entry:
    """One derivative: where, what it truly is, and what AD gave in each scenario."""

    output: str
    along: tuple[str, ...]
    spots: tuple[Any, ...]  # the same as numbers: (output spot, input spots)
    verdict: str
    reason: str = ""
    exact: str = ""  # to twenty digits
    enclosure: str = ""
    got: Mapping[str, Any] = field(default_factory=dict)
    wrong: tuple[str, ...] = ()  # scenarios
    lost: float = 0.0  # digits beyond what rounding explains, of the worst scenario
    correct: float = 0.0  # digits that are right, of the worst scenario
    normal: bool = False  # whether the true derivative is a normal number of the type
    explained: bool = False  # wrong, though by no more than rounding the inputs does, where that spoils everything
    digits: float = 0.0  # that the type has

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "got": dict(self.got)}


class TooLong(Exception):
    """The time for one question is up."""


class Unnarrowed(Exception):
    """No precision that was tried tells."""


class Bench:
    """One Program on the bench: its inputs exactly, the library's outputs, and what is known of its moves."""

    def __init__(self, target: str, program: Program, measured: Mapping[str, Any], moves: Moves, deadline: float) -> None:
        self.book: Book = book_of(home_of(target))
        self.program, self.measured, self.moves, self.deadline = program, measured, moves, deadline
        self.names: list[str] = measured["names"]
        self.structures = measured["structures"]
        self.inputs = [unpacked(x) for x in measured["inputs"]]
        self.outputs = [unpacked(x) for x in measured["outputs"]]
        self.unit = float(measured["unit"])
        self.tight = True  # values so far were right to the last digits
        self.off: NoMeaning | None = None  # what is said against the value here, where it is the library's elsewhere
        kinds = {r.dtype for r in program.inputs.values() if r.differentiable}
        self.dtype = "float32" if kinds and kinds <= {"float32", "complex64"} else "float64"

    @property
    def half_unit(self) -> float:
        return self.unit / 2

    def run(self, inputs: Sequence[Array], us: Sequence[Sequence[Array]], bits: int, jitter: int | None = None) -> list[Array]:
        """F's outputs as jets along the directions."""
        if time.monotonic() > self.deadline:
            raise TooLong
        ctx.prec, Depth.order = bits, len(us)
        leaves = {}
        for k, (name, x) in enumerate(zip(self.names, inputs)):
            made = np.empty(x.shape, object)
            for place in np.ndindex(*x.shape):
                made[place] = variable(x[place].item(), [u[k][place].item() for u in us])
            leaves[name] = made if x.ndim else box(made[()])
        noise = None if jitter is None else Jitter(self.half_unit, jitter)
        return Evaluation(self.book, leaves, self.moves, self.dtype, noise).run(self.program)

    @property
    def exact_inputs(self) -> bool:
        """Whether the library takes its inputs for exact: one call, and its value is right to the last digits whatever rounding does."""
        return self.tight and sum(1 for _ in self.program.calls()) == 1

    def precisions(self) -> Iterator[int]:
        bits = FIRST_BITS
        while bits <= MOST_BITS:
            yield bits
            bits *= 2

    # Is it the same function? ----------------------------------------------------------------------------------------

    def same_function(self) -> None:
        """NoMeaning unless the values are the library's outputs elsewhere, as far as rounding goes; and here, unless AD is right all the
        same: a value that has lost its digits is no reason to doubt a derivative that is the true one. Here a small output beside a large
        one (the likelier class in a row of logarithms) is what is left of numbers as large as that one, and right to units of theirs."""
        for inputs, outputs in self.measured["elsewhere"]:
            self._agrees([unpacked(x) for x in inputs], [unpacked(o) for o in outputs])
        try:
            self._agrees(self.inputs, self.outputs, together=bool(self.measured["elsewhere"]))
        except NoMeaning as error:
            if not self.measured["elsewhere"]:
                raise
            self.off = error

    def _agrees(self, inputs: Sequence[Array], outputs: Sequence[Array], together: bool = False) -> None:
        """NoMeaning unless the values are these; `together`: up to the rounding of the largest."""
        wanted = np.concatenate([o.ravel() for o in outputs]) if outputs else np.zeros(0)
        for bits in self.precisions():
            found = self.run(inputs, (), bits)
            if [f.shape for f in found] != [o.shape for o in outputs]:
                raise NoMeaning("another function: outputs of another shape")
            values = [x.value for x in numbers_of(found)]
            if any(_nan(v) and math.isfinite(abs(w)) for v, w in zip(values, wanted)) and bits < MOST_BITS:
                continue
            # A value that ought to be zero is as good as its neighbours.
            scales = [_float(abs(v).upper()) for v in values]
            scale = max([s for s in scales if math.isfinite(s)], default=0.0)
            self.tight &= all(self._within(v, w, 0.0, scale) for v, w in zip(values, wanted))
            whole = scale if together else 0.0
            off = [k for k, (v, w) in enumerate(zip(values, wanted)) if not self._within(v, w, 0.0, scale, SAME, whole)]
            if not off:
                return
            slack = self._moved(values, inputs, (), bits)
            off = [k for k in off if not self._within(values[k], wanted[k], slack[k], scale, SAME, whole)]
            if not off:
                return
            if all(_narrow(values[k], self.least) for k in off):
                k = off[0]
                raise NoMeaning(f"another function: {_text(values[k])} where the library gives {wanted[k]!r}")
        raise Unnarrowed

    @property
    def least(self) -> float:
        return RANGES.get(self.unit, RANGES[2.0**-52])[0]

    @property
    def most(self) -> float:
        return RANGES.get(self.unit, RANGES[2.0**-52])[1]

    def _within(self, truth: Any, given: Any, slack: float, scale: float, free: float = FREE, whole: float = 0.0) -> bool:
        """Whether a library's number is the true one, up to rounding; `whole`: how large that is which it is a part of."""
        if not np.isfinite(given):
            return bool(_real_abs(truth) > self.most) if not np.isnan(given) else False
        size = max(whole, _float(abs(truth).upper()))
        bar = free * (self.half_unit * size + slack) + self.least
        if truth.contains(0):
            bar += free * self.half_unit * scale
        return _float(_gap(given, truth).upper()) <= bar

    def _moved(
        self, base: Sequence[Any], inputs: Sequence[Array], us: Sequence[Any], bits: int, read: Callable[[Jet], Any] = lambda x: x.value
    ) -> list[float]:
        """By how much rounding of inputs and calls moves each number; `read` takes it off a jet."""
        most = [0.0] * len(base)
        for turn in range(JITTERS):
            found = [read(x) for x in numbers_of(self.run(inputs, us, bits, turn))]
            for k, (a, b) in enumerate(zip(found, base)):
                change = _float(abs(a - b).upper()) if not _nan(a) and not _nan(b) else 0.0
                most[k] = max(most[k], change)
        return most

    # Is the derivative right? ----------------------------------------------------------------------------------------

    def entries(self) -> list[Entry]:
        rows: dict[tuple[Spot, ...], list[Mapping[str, Any]]] = {}
        for row in self.measured["entries"]:
            rows.setdefault(tuple(tuple(a) for a in row["along"]), []).append(row)
        found = [entry for alongs, group in rows.items() for entry in self._along(alongs, group)]
        if self.off is None:
            return found
        if not any(entry.verdict == RIGHT for entry in found):
            raise self.off
        return [entry if entry.verdict == RIGHT else replace(entry, verdict=UNKNOWN, reason=str(self.off)) for entry in found]

    def _along(self, alongs: tuple[Spot, ...], rows: list[Mapping[str, Any]]) -> list[Entry]:
        """All the entries of one choice of directions: one evaluation serves them all."""
        us = [one_hot(self.inputs, spot, self.structures) for spot in alongs]
        done: dict[int, Entry] = {}
        for bits in self.precisions():
            found = self.run(self.inputs, us, bits)
            flat = [[_top(x) for x in output.ravel()] for output in found]
            scale = max((_float(abs(t).upper()) for tops in flat for t in tops if not _nan(t)), default=0.0)
            unsure = []
            for number, row in enumerate(rows):
                if number in done:
                    continue
                k, i, part = row["output"]
                truth = _part(flat[k][i], part)
                if _narrow(truth, self.least) or (_nan(truth) and bits >= SURE_BITS):
                    done[number] = self._judged(row, alongs, truth, scale, us, bits, found)
                else:
                    unsure.append(number)
            if not unsure:
                break
        for number, row in enumerate(rows):
            if number not in done:
                done[number] = self._entry(row, alongs, UNKNOWN, "no precision that was tried is enough")
        return [done[number] for number in range(len(rows))]

    def _entry(self, row: Mapping[str, Any], alongs: tuple[Spot, ...], verdict: str, reason: str = "", **more: Any) -> Entry:
        names = [f"y{k}" if len(self.outputs) > 1 else "y" for k in range(len(self.outputs))]
        spot = tuple(row["output"])
        output = label(spot, names, self.outputs) + _PARTS[spot[2]]
        where = tuple(label(a, self.names, self.inputs) + _PARTS[a[2]] for a in alongs)
        return Entry(output, where, (spot, alongs), verdict, reason, got=row["numbers"], **more)

    def _judged(
        self, row: Mapping[str, Any], alongs: tuple[Spot, ...], truth: Any, scale: float, us: Sequence[Any], bits: int, found: list[Array]
    ) -> Entry:
        numbers = {name: g for name, g in row["numbers"].items() if isinstance(g, (int, float))}
        if _nan(truth):
            return self._entry(row, alongs, UNKNOWN, "a kink, or outside the domain")
        if not numbers:
            return self._entry(row, alongs, UNKNOWN, "AD gives no number")
        shown = {
            "exact": truth.mid().str(20, radius=False),
            "enclosure": truth.str(24),
            "normal": bool(self.least < abs(truth) < self.most),
            "digits": -math.log10(self.half_unit),
        }
        k, i, part = row["output"]
        whole = _float(abs(_top(found[k].reshape(-1)[i])).upper())  # of a complex number: its parts are rounded together
        off = [name for name, g in numbers.items() if not self._within(truth, g, 0.0, scale, whole=whole)]
        slack = 0.0
        if off:
            at = sum(o.size for o in self.outputs[:k]) + i
            base = [_part(_top(x), part) for x in numbers_of(found)]
            slack = self._moved(base, self.inputs, us, bits, lambda x: _part(_top(x), part))[at]
        if not off:
            return self._entry(row, alongs, RIGHT, **shown)
        spoilt = FREE * slack > SPOILT * _float(abs(truth).mid())
        within = [name for name in off if self._within(truth, numbers[name], slack, scale, whole=whole)]
        if spoilt and within and not self.exact_inputs:
            return self._entry(row, alongs, UNKNOWN, "rounding the inputs changes as much", **shown)
        if not spoilt:
            off = [name for name in off if name not in within]
            if not off:
                return self._entry(row, alongs, RIGHT, **shown)
        if truth.is_zero() and all(abs(numbers[name]) <= self._leftover(found, alongs) for name in off):
            return self._entry(row, alongs, UNKNOWN, "no more than the rounding of the derivative below", **shown)
        shown["explained"] = spoilt and len(within) == len(off)
        if truth.is_zero() and not any(math.isfinite(numbers[name]) for name in off) and self._another_s(row["output"], us):
            return self._entry(row, alongs, UNKNOWN, "zero times a derivative that does not exist", **shown)
        lost, correct = max(((self._lost(truth, numbers[name], slack)) for name in off), key=lambda pair: pair[0])
        return self._entry(row, alongs, WRONG, wrong=tuple(off), lost=lost, correct=correct, **shown)

    def _another_s(self, spot: Sequence[int], us: Sequence[Sequence[Array]]) -> bool:
        """Whether NaN in an entry comes from others: its output does not depend on these elements at all, and there is no derivative of
        another output along them, or of this output along others. A weight or a tangent of zero meets a kink or a pole there.
        """
        k, i, _ = spot
        if all(self._depends(k, i, u) for u in us):
            return False
        if any(_nan(_top(x)) for x in numbers_of(self.run(self.inputs, us, SURE_BITS))):
            return True
        everywhere = [np.ones(x.shape, np.complex128 if x.dtype.kind == "c" else np.float64) for x in self.inputs]
        return _nan(_top(self.run(self.inputs, [everywhere] * len(us), SURE_BITS)[k].reshape(-1)[i]))

    def _depends(self, k: int, i: int, u: Sequence[Array]) -> bool:
        """Whether an output element has anything to do with what a direction moves: NaN there must reach it."""
        spoilt = [np.where(d != 0, np.nan, x) for d, x in zip(u, self.inputs)]
        try:
            return _nan(self.run(spoilt, (), FIRST_BITS)[k].reshape(-1)[i].value)
        except (NoMeaning, ArithmeticError, ValueError):  # it cannot be told
            return True

    def _leftover(self, found: list[Array], alongs: Sequence[Spot]) -> float:
        """What rounding leaves of a derivative that is exactly zero: terms of the one below cancel, each known to units of the inputs."""
        below = [_float(abs(c).upper()) for x in numbers_of(found) for c in x.c[1:-1] if not _nan(c)]
        inputs = max((abs(self.inputs[k].reshape(-1)[i]) for k, i, _ in alongs), default=0.0)
        return FREE * self.half_unit * max(1.0, float(inputs)) * max(below, default=0.0)

    def _lost(self, truth: Any, got: float, slack: float) -> tuple[float, float]:
        """(digits lost beyond what rounding explains, digits that are right)."""
        digits = -math.log10(self.half_unit)
        size = _float(abs(truth).mid())
        if not math.isfinite(got) or size == 0.0:
            return digits, 0.0
        error = _float(_gap(got, truth).mid()) / size
        allowed = FREE * (self.half_unit + slack / size)
        lost = math.log10(error / allowed) if error > allowed > 0 else 0.0
        return min(digits, lost), max(0.0, min(digits, -math.log10(error) if error > 0 else digits))


_PARTS = ("", ".imag")


def _top(x: Jet) -> Any:
    """The derivative along all directions; of a constant it is zero."""
    return x.top if len(x.c) == 2**Depth.order else arb(0)


def _part(ball: Any, part: int) -> Any:
    return (ball.imag if part else ball.real) if isinstance(ball, acb) else arb(0) if part else ball


def _nan(ball: Any) -> bool:
    return not ball.is_finite()


def _real_abs(ball: Any) -> Any:
    return abs(ball)


def _gap(given: Any, truth: Any) -> Any:
    exact = acb(float(given.real), float(given.imag)) if isinstance(truth, acb) or np.iscomplexobj(given) else arb(float(given))
    return abs(exact - truth)


def _narrow(ball: Any, least: float) -> bool:
    """Good to more bits than any type has, or certainly too small for the type."""
    if _nan(ball):
        return False
    return bool(ball.rel_accuracy_bits() >= NARROW_BITS or abs(ball) < least / 4 or ball.is_zero())


def _float(ball: Any) -> float:
    try:
        return float(ball)
    except (OverflowError, ValueError):
        return math.inf


def _text(ball: Any) -> str:
    return str(ball.str(20, radius=False))


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """What the reference says: entries with verdicts, or `silent` with the reason, or `needs`, calls that the library must be asked about.

    A question: target, program, measured (a worker's answer to `measure`), moves (by text, what `forwards` gave), seconds.
    """
    began = time.monotonic()
    measured = question["measured"]
    if measured["random"]:
        return {"silent": "it draws random numbers"}
    if sum(math.prod(x["shape"]) for x in (*measured["inputs"], *measured["outputs"])) > MOST_NUMBERS:
        return {"silent": "too large"}
    program = from_json(question["program"])
    try:
        bench = Bench(question["target"], program, measured, Moves(question["moves"]), began + question["seconds"])
        bench.same_function()
        entries = bench.entries()
    except Unmoved as need:
        return {"needs": {need.asked.key: [to_json(p) for p in need.asked.runs]}}
    except NoMeaning as error:
        return {"silent": str(error)}
    except TooLong:
        return {"silent": "took too long"}
    except Unnarrowed:
        return {"silent": "no precision that was tried is enough for the value itself"}
    except (ArithmeticError, ValueError, TypeError, IndexError, KeyError, NotImplementedError, RecursionError, AttributeError) as error:
        return {"silent": f"not known: {type(error).__name__}: {error}"}
    told = {key: measured[key] for key in ("whole", "mutates", "rules") if key in measured}
    return {"entries": [e.to_json() for e in entries], **told}
