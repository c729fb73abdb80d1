"""A point of a library that compiles: answers come by the bundle, and the last one is kept for the next question."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from gradfuzz.program.model import Program, Tensor
from gradfuzz.program.text import tensor_text
from gradfuzz.targets.base.binding import Array, Binding
from gradfuzz.targets.base.bundle import Answers, Args, Arrays, Bundle, Plan, key_of
from gradfuzz.targets.base.dtypes import as_seen
from gradfuzz.targets.base.evaluate import Compiler
from gradfuzz.targets.base.plans import Plans
from gradfuzz.targets.base.protocol import QUICK_STEP, Outcome, Vec
from gradfuzz.targets.base.scenario import Scenario


def plan_key(program: Program, plans: Plans[Any]) -> tuple[Any, ...]:
    """What a Plan depends on: the calls, shapes and types, and the numbers of indices and masks, which are part of the function."""
    key: list[Any] = []
    for statement in program.statements:
        value = statement.value
        if not isinstance(value, Tensor):
            key.append(plans.text(statement))
        elif value.differentiable or not value.discrete:
            key.append((statement.names[0], value.shape, value.dtype, value.differentiable))
        else:
            key.append(tensor_text(value))
    return tuple(key)


class CompiledPoint(Binding):
    """One Program at one point. A target says how it plans, and how its arrays are made and moved."""

    mutates = False
    plan: Plan

    def __init__(self, program: Program, compiler: Compiler, arrays: list[Array] | None = None) -> None:
        super().__init__(program, compiler, arrays)
        self._last: tuple[Any, Answers] | None = None
        self._at: Vec | None = None  # along which the ends of the quick central difference are known

    @property
    def random(self) -> bool:
        """Whether it draws numbers."""
        return False

    @property
    def inputs(self) -> list[Array]:
        return [as_seen(x) for x in self.leaves]

    # The target's own ------------------------------------------------------------------------------------------------

    @abstractmethod
    def bundle_of(self, scenario: Scenario) -> Bundle:
        """Where a plain scenario is computed."""

    @abstractmethod
    def args(self, order: int, us: Sequence[Vec], v: Vec | None, along: Vec | None, shift: float) -> Args:
        """What the bundle takes; directions and weights that nobody gave are whatever the target likes."""

    @abstractmethod
    def direct_at(self, along: Vec | None, shift: float) -> Arrays:
        """The direct run at a shifted point."""

    # The scenarios ---------------------------------------------------------------------------------------------------

    def run(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0) -> Outcome:
        if not scenario.modes and not scenario.way:
            outputs = [as_seen(o) for o in self._end(along, shift)]
            return Outcome(outputs, outputs)
        bundle = self.plan.in_way(scenario.way, scenario.modes) if scenario.way else self.bundle_of(scenario)
        found = self.answers(bundle, scenario, us, v, along, shift)
        error = bundle.raised(scenario.modes)
        if error is not None:
            raise error
        under, result = found[key_of(scenario.modes)]
        under = self.direct_at(along, shift) if under is None else under
        return Outcome([as_seen(o) for o in under], [as_seen(r) for r in result], "r" in scenario.modes)

    @abstractmethod
    def direct_alone(self) -> Arrays:
        """The direct run with no derivative beside it."""

    def run_alone(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None) -> Outcome:
        if not scenario.modes and not scenario.way:
            outputs = [as_seen(o) for o in self.direct_alone()]
            return Outcome(outputs, outputs)
        bundle = self.plan.in_way(scenario.way, scenario.modes) if scenario.way else self.bundle_of(scenario)
        found = bundle.alone([scenario.modes]).run(self.args(max(1, scenario.order), us, v, None, 0.0), scenario.modes)
        outputs, result = found[key_of(scenario.modes)]
        return Outcome([as_seen(o) for o in outputs or ()], [as_seen(r) for r in result], "r" in scenario.modes)

    def answers(
        self, bundle: Bundle, scenario: Scenario, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0
    ) -> Answers:
        """All scenarios of a bundle; the last answer is kept, since the next question is mostly about another of them."""
        question = (id(bundle), scenario.modes if bundle.eager else None, tuple(map(id, us)), id(v), id(along), shift)
        if self._last is None or self._last[0] != question:
            self._last = (question, bundle.run(self.args(max(1, scenario.order), us, v, along, shift), scenario.modes))
            self._alive = (us, v, along)  # so that their ids stay theirs
            self._at = us[0] if us and along is None and not scenario.way else None
        return self._last[1]

    def _end(self, along: Vec | None, shift: float) -> Any:
        """The direct run. The ends of the quick central difference came along with the derivatives."""
        if self._last is not None and abs(shift) == QUICK_STEP and self._at is along is not None and "ahead" in self._last[1]:
            return self._last[1]["ahead" if shift > 0 else "behind"]
        return self.direct_at(along, shift)
