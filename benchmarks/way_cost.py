"""What further ways of running cost, in examinations of a mutant as campaigns have them: what `ways.json` says, and what is measured.

    python benchmarks/way_cost.py [EVERY [WAY ...]]

Every EVERY-th of PyTorch's samples (96) is examined plainly at order two, in each way for the first time, where it compiles, and once more
along other directions. Time is that of the processor, that of compilers that were started included.
"""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import replace
from statistics import mean

from gradfuzz.oracles.check import Options, examine
from gradfuzz.targets.homes import load_target
from gradfuzz.targets.torch.compile import KEPT, prepare
from gradfuzz.targets.torch.samples import sample_seeds

UNIT = 0.003  # seconds, as ways.json says
SALT = 7


def spent() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main(every: int = 96, *names: str) -> None:
    warnings.simplefilter("ignore")
    target = load_target("torch")
    programs = [seed.program for seed in list(sample_seeds(target))[::every]]
    ways = [way for way in target.ways.values() if (way.name in names if names else way.compiles)]
    prepare([way.name for way in ways])
    for way in ways:
        first, again = [], []
        for program in programs:
            options, began = Options(order=2, ways=(way.name,)), spent()
            examine(target, program, replace(options, ways=()))
            usual, began = spent() - began, spent()
            examine(target, program, options)
            once, began = spent() - began, spent()
            examine(target, program, replace(options, salt=SALT))
            first.append(once - usual)
            again.append(spent() - began - usual)
        KEPT.forget()
        compiles = (mean(first) - mean(again)) / UNIT
        print(f"{way.name}: cost {mean(again) / UNIT:.1f} (says {way.cost}), compiles {compiles:.0f} (says {way.compiles})", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
