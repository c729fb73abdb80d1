"""What a profile's further ways of running cost: CPU seconds a mutant with them over those without, taking turns on the same seeds.

    python benchmarks/profile_cost.py [PROFILE [MUTANTS [WANTED]]]

The default profile may cost a tenth more than none (`--profile plain`). Exits 1 where it costs more.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from throughput import HERE, TURNS, rate, sample_seeds

WANTED = 1.10


def main(profile: str = "default", mutants: int = 6000, wanted: float = WANTED) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds = sample_seeds(folder)
        ratios = []
        for turn in range(TURNS):
            without, with_ways = (rate(HERE, folder, seeds, mutants, turn, "--profile", p) for p in ("plain", profile))
            ratios.append(without / with_ways)
            print(f"plain: {without:.0f} mutants per CPU second, {profile}: {with_ways:.0f}, cost {ratios[-1]:.3f}", flush=True)
    print(f"{profile} costs {median(ratios):.3f} of plain ({min(ratios):.3f} to {max(ratios):.3f}; wanted: at most {wanted})")
    raise SystemExit(median(ratios) > wanted)


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]), *map(float, sys.argv[3:4]))
