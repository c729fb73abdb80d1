"""False alarms: mutants of functions whose derivatives are known to be right, under every value strategy. None may disagree.

python benchmarks/healthy.py [MUTANTS] [LIBRARY] [SEED]     100,000 of numpy by default; see known_right.LIBRARIES
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from known_right import LIBRARIES

from gradfuzz.oracles.verdict import DISAGREE, INCONCLUSIVE


def main(count: int, library: str, seed: int) -> int:
    outcomes: dict[str, Counter[str]] = {}
    excuses: Counter[str] = Counter()
    accused = []
    began = time.process_time()
    for index, mutant in enumerate(LIBRARIES[library](count, seed)):
        seen = mutant.examine()
        outcomes.setdefault(mutant.strategy, Counter())[seen.outcome] += 1
        if seen.outcome == INCONCLUSIVE:
            excuses.update(name for v in seen.verdicts for name in v.detail.get("excuses", ()))
        if seen.outcome == DISAGREE:
            accused.append(f"{mutant}: {seen.findings[0].reason}")
        if index % 1000 == 0:
            print(f"\r{index}/{count} mutants, {len(accused)} accused", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    total = sum(outcomes.values(), Counter())
    print(f"{count} mutants of {library}, {time.process_time() - began:.0f} CPU seconds: {dict(total.most_common())}")
    for strategy, seen in outcomes.items():
        print(f"  {strategy:12s} inconclusive {100 * seen[INCONCLUSIVE] / sum(seen.values()):5.1f} %  {dict(seen.most_common())}")
    print("excuses of inconclusive ones:", dict(excuses.most_common()))
    print(f"false alarms: {len(accused)}   (wanted: 0)")
    for line in accused[:50]:
        print(f"    {line}")
    return 1 if accused else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(
        main(
            int(arguments[0]) if arguments else 100_000,
            arguments[1] if len(arguments) > 1 else "numpy",
            int(arguments[2]) if len(arguments) > 2 else 0,
        )
    )
