"""The accuracy of functions of one number: what a library gives over the whole sweep, against the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from gradfuzz.chains.sweep import LEAST, MOST, ORDINARY
from gradfuzz.engine.config import Config
from gradfuzz.engine.engine import Engine, session
from gradfuzz.engine.survey import State, Suspicion, Task, Watcher
from gradfuzz.errors import GradfuzzError
from gradfuzz.program import Program, parse, to_json
from gradfuzz.reference.digits import Loss, losses
from gradfuzz.targets.homes import home_of


@dataclass
class Table:
    """One function: its losses at every point, and the points it did not come back from."""

    name: str
    text: str
    losses: list[Loss] = field(default_factory=list)
    lost_workers: list[tuple[float, str]] = field(default_factory=list)


def forms(target: str, globs: tuple[str, ...] = ()) -> dict[str, str]:
    """Functions of one number that the target has, by name, as the target spells them."""
    known: dict[str, str] = home_of(target).data("spelling").get("forms", {})
    chosen = {name: text for name, text in known.items() if not globs or any(fnmatchcase(name, g) for g in globs)}
    if not chosen:
        raise GradfuzzError(f"no function of {target} fits {', '.join(globs) or 'it'}; known: {', '.join(known) or 'none'}")
    return chosen


def program_for(target: str, text: str, dtype: str) -> Program:
    return parse(f'x = tensor((), "{dtype}", full(1.0))\ny = {text}\n', home_of(target).language())


def accuracy_points(count: int, dtype: str) -> list[float]:
    """`count` sizes over the whole range of the dtype and three times as densely where people's numbers are, both signs."""
    ends = (LEAST, MOST) if dtype == "float64" else (-30.0, 30.0)
    sizes = np.concatenate([10.0 ** np.linspace(*ends, count), 10.0 ** np.linspace(-3, 3, 3 * count), ORDINARY])
    with np.errstate(all="ignore"):
        held = np.unique(sizes.astype(dtype)).astype(float)
    return [float(s * x) for x in held for s in (1.0, -1.0)]


def measure(config: Config, chosen: dict[str, str], points: list[float], dtype: str, watcher: Watcher) -> tuple[str, list[Table]]:
    """Every function at every point; returns the library's version and the tables."""
    with session(config, None, watcher) as opened:
        survey = Accuracy(config.launch.target, chosen, points, dtype)
        Engine(opened, survey.state).run(survey)
        return opened.pool.version, survey.tables


class Accuracy:
    """One task a function; what a point that kills its worker took with it is asked for once more."""

    def __init__(self, target: str, chosen: dict[str, str], points: list[float], dtype: str) -> None:
        self.target, self.points, self.dtype = target, points, dtype
        self.tables = [Table(name, text) for name, text in chosen.items()]
        self.state = State("points", planned=len(points) * len(chosen))
        self._programs = [program_for(target, text, dtype) for text in chosen.values()]
        self._on_their_way = 0
        self._again: list[Task] = []

    def tasks(self) -> Iterator[Task | None]:
        for number, program in enumerate(self._programs):
            self._on_their_way += 1
            yield Task("tabulate", {"program": to_json(program), "points": self.points}, len(self.points), number=number)
        while self._on_their_way:
            yield self._again.pop() if self._again else None

    def suspected(self, task: Task, suspicion: Suspicion) -> None:
        raise AssertionError("nothing is judged here, only tabulated")

    def died(self, task: Task, index: int, cause: str, counts: list[int]) -> Task | None:
        self.tables[task.number].lost_workers.append((self.points[index], cause))
        self.state.done += 1
        if index > task.start:
            self._on_their_way += 1
            self._again.append(Task(task.do, task.fields, index, task.start, task.number))
        rest = task.beyond(index)
        self._on_their_way -= rest is None
        return rest

    def answered(self, task: Task, answer: dict[str, Any]) -> None:
        self._on_their_way -= 1
        table = self.tables[task.number]
        for index, got in answer["rows"]:
            table.losses.extend(losses(self.target, self._programs[task.number], self.points[index], got, self.dtype))
        self.state.done += len(answer["rows"])
