"""What each excuse is worth: alarms that it saves on healthy mutants, and planted bugs that it costs, under every value strategy.

python benchmarks/excuses.py [MUTANTS] [LIBRARY] [SEED]     20,000 of numpy by default; see known_right.LIBRARIES

A mutant on which an excuse has spoken is judged once more without it. If a healthy one then disagrees, the excuse has saved an alarm;
if one with an error planted in reverse mode does, and names what would be right, it has cost a bug. An excuse that costs more than it
saves does harm. Parts add up: one seed a process, and the columns of their tables are sums.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from known_right import LIBRARIES, Mutant

from gradfuzz.oracles.excuses import base
from gradfuzz.oracles.verdict import DISAGREE, NONFINITE, Verdict

ERRORS = (1e-3, 0.5)
SHOWN = 10


@contextmanager
def without(name: str) -> Iterator[None]:
    """As if there were no such excuse."""
    original = base.all_excuses
    rest = tuple(e for e in original() if e.name != name)
    base.all_excuses = lambda: rest  # type: ignore[assignment]
    try:
        yield
    finally:
        base.all_excuses = original


def disagrees_without(mutant: Mutant, reverse: float) -> list[str]:
    """Excuses without which the mutant disagrees, of a planted error for what it is; nothing if it does anyway."""
    seen = mutant.examine(reverse)
    if seen.outcome == DISAGREE:
        return []
    found = []
    for name in sorted({name for v in seen.verdicts for name in v.detail.get("excuses", ())}):
        with without(name):
            findings = mutant.examine(reverse).findings
        if any(reverse == 1.0 or caught(finding, reverse) for finding in findings):
            found.append(name)
    return found


def caught(finding: Verdict, reverse: float) -> bool:
    """Whether a finding tells the planted error: what it says AD should have given is what AD gives without the error.

    Else differences see something else than the function, and would have accused it without an error, too.
    """
    if finding.kind == NONFINITE or not isinstance(finding.expected, float) or not isinstance(finding.actual, float):
        return True
    right = finding.actual / reverse
    return abs(finding.expected - right) <= 0.5 * abs(finding.actual - right)


def main(count: int, library: str, seed: int) -> int:
    spoken: Counter[str] = Counter()
    saved: dict[str, Counter[str]] = {}
    cost: dict[str, Counter[str]] = {}
    lost: dict[str, list[str]] = {}
    for index, mutant in enumerate(LIBRARIES[library](count, seed)):
        healthy = mutant.examine()
        spoken.update({name for v in healthy.verdicts for name in v.detail.get("excuses", ())})
        alarms = disagrees_without(mutant, 1.0)
        for name in alarms:
            saved.setdefault(name, Counter())[mutant.function.name] += 1
        error = ERRORS[index % len(ERRORS)]
        for name in disagrees_without(mutant, 1.0 + error):
            # Where the healthy one disagrees as well, nothing is known of the planted error.
            if name not in alarms:
                cost.setdefault(name, Counter())[mutant.function.name] += 1
                lost.setdefault(name, []).append(f"{mutant}, {error} too much")
        if index % 500 == 0:
            print(f"\r{index}/{count} mutants", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(f"{count} mutants of {library}, seed {seed}, healthy and with an error of one of {ERRORS} in reverse mode")
    print(f"{'excuse':18s}{'has spoken':>12s}{'alarms saved':>14s}{'bugs cost':>11s}")
    harmful = []
    for name in sorted({e.name for e in base.all_excuses()} | set(spoken)):
        gain, loss = sum(saved.get(name, {}).values()), sum(cost.get(name, {}).values())
        print(f"{name:18s}{spoken[name]:12d}{gain:14d}{loss:11d}   saved {dict(saved.get(name, {}))}   cost {dict(cost.get(name, {}))}")
        for line in lost.get(name, [])[:SHOWN]:
            print(f"    cost: {line}")
        if loss > gain:
            harmful.append(name)
    print("cost more than they save:", ", ".join(harmful) or "none")
    return 1 if harmful else 0


if __name__ == "__main__":
    given = sys.argv[1:]
    numbers = [int(a) for a in given if a.isdigit()] + [20_000, 0][len([a for a in given if a.isdigit()]) :]
    sys.exit(main(numbers[0], next((a for a in given if not a.isdigit()), "numpy"), numbers[1]))
