"""What the `gradfuzz` fixture gives to a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradfuzz.testing.check import Agreement, GradientMismatch, check_gradients
from gradfuzz.testing.examples import Examples
from gradfuzz.testing.inputs import parse_input


class Fuzzer:
    """check_gradients with the test's settings, and a fuzzer that remembers what failed."""

    def __init__(self, test: str, budget: int, seed: int, options: dict[str, Any], folder: Path | None) -> None:
        self.test, self.budget, self.seed, self.options = test, budget, seed, options
        self.examples = Examples(folder)
        self._calls = 0

    def check(self, f: Callable[..., Any], *inputs: Any, **options: Any) -> Agreement:
        """`gradfuzz.check_gradients` with the marker's settings."""
        return check_gradients(f, *inputs, **{"seed": self.seed, **self.options, **options})

    def fuzz(self, f: Callable[..., Any], *inputs: Any, budget: int | None = None, **options: Any) -> int:
        """Check `f` on draws of its inputs; returns how many were made.

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
            self._run(one, inputs, self.budget if budget is None else budget)
        except GradientMismatch:
            self.examples.save(key, drawn[-1])  # Hypothesis runs the smallest example last
            raise
        return len(drawn)

    def _run(self, one: Callable[[tuple[Any, ...]], None], inputs: tuple[Any, ...], budget: int) -> None:
        from hypothesis import HealthCheck, Phase, given, seed, settings
        from hypothesis import strategies as st

        # Hypothesis' explanations take hundreds of failing runs more than shrinking does, and the message explains already.
        phases = [phase for phase in Phase if phase is not Phase.explain]
        quiet = settings(
            max_examples=budget, phases=phases, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False
        )
        seed(self.seed)(quiet(given(st.tuples(*map(_strategy, inputs)))(one)))()


def _strategy(value: Any) -> Any:
    from hypothesis import strategies as st

    if isinstance(value, st.SearchStrategy):
        return value
    if isinstance(value, str):
        return parse_input(value).strategy()
    return st.just(value)
