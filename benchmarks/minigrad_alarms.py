"""False alarms and misses on examples/minigrad: 10,000 draws of the healthy library, and the planted ten within 100 draws each."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

from minigrad.planted import planted
from minigrad.properties import PROPERTIES, check

from gradfuzz.testing import GradientMismatch, InconclusiveWarning

DRAWS_EACH_BUG = 100
SEEDS = 20


def draws(name: str, count: int, body, chance: int = 0) -> None:
    quiet = settings(max_examples=count, phases=[Phase.generate], database=None, deadline=None,
                     suppress_health_check=list(HealthCheck), report_multiple_bugs=False)  # fmt: skip
    seed(chance)(quiet(given(PROPERTIES[name].inputs)(body)))()


def healthy(total: int) -> tuple[int, int, int]:
    """(draws, alarms, draws that could not be judged)"""
    seen = alarms = unsure = 0
    each = -(-total // len(PROPERTIES))

    def one(name, inputs):
        nonlocal seen, alarms, unsure
        seen += 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                check(name, inputs)
            except GradientMismatch as error:
                alarms += 1
                print(f"ALARM {name}: {error}", file=sys.stderr)
        unsure += any(issubclass(w.category, InconclusiveWarning) for w in caught)

    for name in PROPERTIES:
        draws(name, each, _bound(one, name))
    return seen, alarms, unsure


def _bound(one, name):
    return lambda inputs: one(name, inputs)


def first_failure(bug, chance: int) -> int | None:
    """How many draws it took to see the bug; None if the budget did not suffice."""
    count = 0

    def body(inputs):
        nonlocal count
        count += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconclusiveWarning)
            check(bug.op, inputs, bug.engine)

    try:
        draws(bug.op, DRAWS_EACH_BUG, body, chance)
    except GradientMismatch:
        return count
    return None


def main(total: int) -> int:
    start = time.perf_counter()
    needed = [[first_failure(planted()[i], chance) for chance in range(SEEDS)] for i in range(len(planted()))]
    for bug, counts in zip(planted(), needed):
        found = sorted(n for n in counts if n is not None)
        shown = f"median draw {found[len(found) // 2]}, last {found[-1]}" if found else "never"
        print(f"{bug.name:12} caught with {len(found)} of {SEEDS} seeds, {shown:28} {bug.what}")
    caught = [sum(counts[chance] is not None for counts in needed) for chance in range(SEEDS)]
    print(f"planted bugs caught within {DRAWS_EACH_BUG} draws each: {min(caught)} of {len(needed)} at worst over {SEEDS} seeds")
    seen, alarms, unsure = healthy(total)
    print(f"healthy library: {alarms} alarms in {seen} draws, {unsure} draws not judged ({time.perf_counter() - start:.0f} s in all)")
    return 1 if alarms or min(caught) < len(needed) else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
