"""What AD itself says at one point, entry by entry: the numbers that a reference is held against. Nothing is judged here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from gradfuzz.findings.inside.confirm import Confirmed, rules_at_work
from gradfuzz.oracles.trial import Trial, run_alone
from gradfuzz.oracles.verdict import ABOUT_NUMBERS, WAY
from gradfuzz.program import gate
from gradfuzz.program.codec import from_json
from gradfuzz.program.model import Program
from gradfuzz.program.values import keeping, project
from gradfuzz.targets.base.protocol import Outcome, Refusal, Target, Vec
from gradfuzz.targets.base.scenario import DIRECT, REVERSE, Scenario
from gradfuzz.worker.wire import packed

Array = Any
# Other points at which the function must be the one it is taken for: two formulas may agree in a tail and nowhere else.
ELSEWHERE = ((0.15, 0.7), (-1.3, 2.6))  # (lowest, width) of numbers that most functions are defined at


def measure(target: Target, job: dict[str, Any]) -> dict[str, Any]:
    """What a Program's derivatives are in the scenarios named, all of one order."""
    trial = Trial(target, gate.check(from_json(job["program"]), target.language))
    found = measured(trial, [Scenario.named(name) for name in job["scenarios"]], job["most"], job.get("element"))
    return {**found, "rules": list(rules_at_work(trial))} if job.get("fresh") else found  # somebody suspects something


def of_confirmed(target: Target, confirmed: Confirmed, most: int) -> dict[str, Any] | None:
    """The same of what this process has confirmed: another one would have to compile it anew. None where that costs nothing, where nobody
    will ask, or where it cannot be had."""
    verdict = confirmed.verdict
    if target.family == 1 or verdict.kind not in ABOUT_NUMBERS or verdict.kind == WAY or not verdict.order:
        return None
    try:
        return measured(Trial(target, confirmed.program), verdict.scenarios, most, verdict.detail.get("element"))
    except Exception:  # whatever the library makes of it now: whoever asks hears it from another process
        return None


def measured(
    trial: Trial, scenarios: Sequence[Scenario], most: int, element: str | None = None, elsewhere: bool = True
) -> dict[str, Any]:  # fmt: skip
    """Derivatives along single elements: at most so many entries.

    `whole` says whether these are all the entries there are. An entry is one output element, and one input element for each
    differentiation; of complex numbers the real or the imaginary part. `elsewhere`: the values at other points come along.
    """
    target, program, point = trial.target, trial.program, trial.point
    order = scenarios[0].order if scenarios else 0
    reverse = trial.outcome(REVERSE) if order else None
    live = reverse.live if isinstance(reverse, Outcome) and reverse.live else [True] * len(trial.direct)
    outputs = [spot for spot in spots(trial.direct) if live[spot[0]]]
    inputs = spots(trial.inputs)
    chosen, whole = choose(outputs, inputs, order, element, point.names, trial.inputs, most)
    rows = []
    for output, alongs in chosen:
        numbers = {s.name: _number(trial, s, output, alongs) for s in scenarios}
        rows.append({"output": list(output), "along": [list(a) for a in alongs], "numbers": numbers})
    return {
        "names": point.names, "structures": point.structures, "inputs": [packed(x) for x in trial.inputs],
        "outputs": [packed(o) for o in trial.direct], "unit": point.unit, "random": point.random, "mutates": point.mutates,
        "entries": rows, "whole": whole,
        "elsewhere": [] if point.random or not elsewhere else _elsewhere(target, program, trial.inputs, point.structures),
    }  # fmt: skip


Spot = tuple[int, int, int]  # which array, which element, and 1 for the imaginary part


def spot_of(data: Sequence[Any]) -> Spot:
    """A spot as JSON has it."""
    k, i, part = data
    return int(k), int(i), int(part)


def spots(arrays: Sequence[Array]) -> list[Spot]:
    """Every real number of the arrays."""
    return [(k, i, part) for k, a in enumerate(arrays) for i in range(a.size) for part in ((0, 1) if a.dtype.kind == "c" else (0,))]


def choose(
    outputs: list[Spot], inputs: list[Spot], order: int, element: str | None, names: list[str], arrays: Sequence[Array], most: int
) -> tuple[list[tuple[Spot, tuple[Spot, ...]]], bool]:
    """Entries to look at, and whether there are no others. `element`, as x[0, 1], is where the last differentiation goes."""
    last = [spot for spot in inputs if label(spot, names, arrays) == element] or inputs
    count = len(outputs) * len(inputs) ** max(0, order - 1) * (len(last) if order else 1)
    if count <= most:
        return list(product(outputs, product(*[inputs] * (order - 1), last) if order else [()])), True
    # Too many: what the elements of the most unusual sizes do to themselves, one of each size and sign, then whatever lies a fixed stride
    # apart, so that every part gets its turn.
    strange = _one_of_each_size(sorted(inputs, key=lambda i: _unusual(i, arrays)), arrays) if element is None else []
    beside = dict(zip(inputs, outputs)) if len(outputs) == len(inputs) else {}
    own = [(beside.get(i, outputs[k % len(outputs)]), (i,) * order) for k, i in enumerate(strange)]
    if element is not None:  # what the one at fault does to itself, in every output
        own = [(output, (i,) * order) for output, i in product(outputs, last)]
        own = own[:: max(1, math.ceil(len(own) / (most - most // 4)))]
    stride = max(1, math.ceil(count / most))
    spread = [_entry(number, outputs, [inputs] * (order - 1) + [last] * min(1, order)) for number in range(0, count, stride)]
    return list(dict.fromkeys([*own[: most - most // 4], *spread]))[:most], False


def _entry(number: int, outputs: Sequence[Spot], alongs: Sequence[Sequence[Spot]]) -> tuple[Spot, tuple[Spot, ...]]:
    """The entry of this number, counted as `product` would make them: of an order of two there are millions, and few are wanted."""
    found: list[Spot] = []
    for among in reversed(alongs):
        number, place = divmod(number, len(among))
        found.append(among[place])
    return outputs[number], tuple(reversed(found))


def _unusual(spot: Spot, arrays: Sequence[Array]) -> float:
    """The smaller, the further the number is from one in size: tails are met there."""
    size = float(abs(arrays[spot[0]].reshape(-1)[spot[1]]))
    return -abs(math.log10(size)) if 0.0 < size < math.inf else 0.0


def _one_of_each_size(inputs: list[Spot], arrays: Sequence[Array]) -> list[Spot]:
    """The same in their order, without those whose like came before: of the same sign, and of the same tenth of a decade."""
    found: dict[tuple[float, bool], Spot] = {}
    for spot in inputs:
        number = arrays[spot[0]].reshape(-1)[spot[1]]
        size = float(abs(number))
        found.setdefault((round(10.0 * math.log10(size)) if 0.0 < size < math.inf else size, bool(number.real < 0)), spot)
    return list(found.values())


def label(spot: Spot, names: Sequence[str], arrays: Sequence[Array]) -> str:
    """The element as people write it: x[0, 1]."""
    k, i, _ = spot
    return f"{names[k]}[{', '.join(map(str, np.unravel_index(i, arrays[k].shape)))}]" if arrays[k].ndim else f"{names[k]}[]"


def one_hot(arrays: Sequence[Array], spot: Spot, structures: Sequence[str | None] | None = None) -> list[Array]:
    """A direction along one real number; inside the structure of its array, where that has one."""
    found = []
    for k, a in enumerate(arrays):
        kind = np.complex128 if a.dtype.kind == "c" else np.float64
        made = np.zeros(a.shape, kind)
        if k == spot[0]:
            made[np.unravel_index(spot[1], a.shape)] = 1j if spot[2] else 1.0
        found.append(project(made, structures[k]) if structures is not None and structures[k] else made)
    return found


def _number(trial: Trial, scenario: Scenario, output: Spot, alongs: Sequence[Spot]) -> Any:
    v = Vec([a.astype(o.dtype) for a, o in zip(one_hot(trial.direct, output), trial.direct)])
    us = [Vec(one_hot(trial.inputs, spot, trial.point.structures)) for spot in alongs]
    outcome = trial.attempt(scenario, us, v=v)
    return outcome.message[:200] if isinstance(outcome, Refusal) else trial.number(outcome, v)


def _elsewhere(target: Target, program: Program, inputs: Sequence[Array], structures: Sequence[str | None]) -> list[Any]:
    """(inputs, outputs) at other points, where the library gives finite numbers there."""
    found = []
    for turn, (low, width) in enumerate(ELSEWHERE):
        rng = np.random.default_rng(turn)
        arrays = [np.asarray(keeping(_drawn(rng, x, low, width), kept), x.dtype) for x, kept in zip(inputs, structures)]
        try:
            point = target.point(program, arrays)
            outputs = point.first()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # outside the domain, most likely
            continue
        if all(bool(np.isfinite(o).all()) for o in outputs):
            # The numbers as the library has them: slices that are one in memory are the same.
            found.append([[packed(x) for x in point.inputs], [packed(o) for o in outputs]])
    return found


def _drawn(rng: Any, like: Array, low: float, width: float) -> Array:
    numbers = low + width * rng.random(like.shape)
    if like.dtype.kind == "c":
        numbers = numbers + 1j * (low + width * rng.random(like.shape))
    return np.asarray(numbers, like.dtype)


def forwards(target: Target, job: dict[str, Any]) -> dict[str, Any]:
    """The floating outputs of each Program, or why it has none."""
    found: list[Any] = []
    for data in job["programs"]:
        try:
            program = gate.check(from_json(data), target.language)
            found.append([packed(o) for o in run_alone(target, program, DIRECT).outputs])
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            found.append(f"{type(error).__name__}: {str(error)[:200]}")
    return {"outputs": found}
