"""What the `gradfuzz` fixture gives to a test."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradfuzz.errors import GradfuzzError
from gradfuzz.testing.check import Agreement, GradientMismatch, check_gradients
from gradfuzz.testing.examples import Examples
from gradfuzz.testing.inputs import parse_input
from gradfuzz.testing.modules import RIGHT, ModuleMismatch, ModuleReport, check_module

Tell = Callable[[str, Any], None]
# Draws between two looks at the clock, where the budget is a time.
ROUND = 20
_TIME = re.compile(r"^(\d+(?:\.\d+)?)\s*(s|m)?$")


def parse_budget(budget: int | float | str) -> int | float:
    """A whole number of draws, or seconds as a float: 200, "20s", "1.5m"."""
    if isinstance(budget, (int, float)) and budget > 0:
        return budget
    match = _TIME.match(budget) if isinstance(budget, str) else None
    if not match or not float(match[1]):
        raise GradfuzzError(f'budget={budget!r}: give a number of draws, or a time as in "20s" or "2m"')
    return int(match[1]) if not match[2] and "." not in match[1] else float(match[1]) * (60 if match[2] == "m" else 1)


class Fuzzer:
    """check_gradients with the test's settings, and a fuzzer that remembers what failed."""

    def __init__(
        self, test: str, budget: int | str, seed: int, options: dict[str, Any], folder: Path | None, tell: Tell = lambda name, value: None
    ) -> None:  # fmt: skip
        self.test, self.budget, self.seed, self.options, self._tell = test, parse_budget(budget), seed, options, tell
        self.examples = Examples(folder)
        self._calls = 0

    def check(self, f: Callable[..., Any], *inputs: Any, **options: Any) -> Agreement:
        """`gradfuzz.check_gradients` with the marker's settings."""
        try:
            found = check_gradients(f, *inputs, **{"seed": self.seed, **self.options, **options})
        except GradientMismatch as error:
            self._told(f, f"wrong: {error.verdict.reason}", error.evaluations)
            raise
        self._told(f, "agree" if found.conclusive else "; ".join(found.reasons), found.evaluations)
        return found

    def check_module(self, module: Any, **options: Any) -> ModuleReport:
        """`gradfuzz.testing.check_module` with the marker's settings; the table is printed, and each of its lines is a property."""
        try:
            report = check_module(module, **{"seed": self.seed, **self.options, **options})
        except ModuleMismatch as error:
            self._told_lines(error.report)
            raise
        self._told_lines(report)
        return report

    def _told_lines(self, report: ModuleReport) -> None:
        print(report)
        for line in report.lines:
            self._tell(f"gradfuzz.{line.name}.verdict", "agree" if line.outcome == RIGHT else f"{line.outcome}: {line.reason}")
            self._tell(f"gradfuzz.{line.name}.evaluations", line.evaluations)

    def _told(self, f: Callable[..., Any], verdict: str, evaluations: int) -> None:
        """For reports: pytest writes properties into JUnit files."""
        name = getattr(f, "__name__", type(f).__name__)
        self._tell(f"gradfuzz.{name}.verdict", verdict)
        self._tell(f"gradfuzz.{name}.evaluations", evaluations)

    def fuzz(self, f: Callable[..., Any], *inputs: Any, budget: int | str | None = None, **options: Any) -> int:
        """Check `f` on draws of its inputs, so many of them or for so long ("20s"); returns how many were made.

        Each input is a Hypothesis strategy, a text such as "float64[3, 4]", or a value that stays as it is. What failed last
        time is tried first. A failure is shrunk by Hypothesis, saved, and raised as GradientMismatch.
        """
        settings = {"seed": self.seed, "shrink": False, **self.options, **options}
        self._calls += 1
        key = f"{self.test}#{self._calls}"
        saved = self.examples.load(key)
        if saved is not None:
            check_gradients(f, *saved, **settings)
            self.examples.forget(key)  # it passes now
        drawn: list[tuple[Any, ...]] = []

        def one(values: tuple[Any, ...]) -> None:
            drawn.append(values)
            check_gradients(f, *values, **settings)

        try:
            self._spend(one, inputs, self.budget if budget is None else parse_budget(budget))
        except GradientMismatch as error:
            self.examples.save(key, drawn[-1])  # Hypothesis runs the smallest example last
            self._told(f, f"wrong: {error.verdict.reason}", error.evaluations)
            raise
        self._told(f, f"agree on {len(drawn)} draws", len(drawn))
        return len(drawn)

    def _spend(self, one: Callable[[tuple[Any, ...]], None], inputs: tuple[Any, ...], budget: int | float) -> None:
        if isinstance(budget, int):
            return self._run(one, inputs, budget, self.seed)
        end, rounds = time.monotonic() + budget, 0
        while time.monotonic() < end:
            self._run(one, inputs, ROUND, self.seed + rounds)
            rounds += 1
        return None

    def _run(self, one: Callable[[tuple[Any, ...]], None], inputs: tuple[Any, ...], budget: int, start: int) -> None:
        from hypothesis import HealthCheck, Phase, given, seed, settings
        from hypothesis import strategies as st

        # Hypothesis' explanations take hundreds of failing runs more than shrinking does, and the message explains already.
        phases = [phase for phase in Phase if phase is not Phase.explain]
        quiet = settings(
            max_examples=budget, phases=phases, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False
        )
        seed(start)(quiet(given(st.tuples(*map(_strategy, inputs)))(one)))()


def _strategy(value: Any) -> Any:
    from hypothesis import strategies as st

    if isinstance(value, st.SearchStrategy):
        return value
    if isinstance(value, str):
        return parse_input(value).strategy()
    return st.just(value)
