"""gradfuzz against jax.test_util.check_grads on the same functions, shapes and numbers, compilation counted, one core, one run.

    python benchmarks/jax_check_grads_ratio.py [FUNCTIONS] [MUTANTS]

Each function is a seed from signatures; its inputs differ in their numbers, as most mutants of a campaign do: as many of them as share a
shape there, unless MUTANTS says otherwise.
Both sides check order one in forward and reverse mode against numerical differentiation. Time is CPU time.
"""

from __future__ import annotations

import contextlib
import random
import statistics
import sys
import time
import warnings
from dataclasses import replace

import jax
from jax.test_util import check_grads

from gradfuzz.errors import ProgramError
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.homes import load_target
from gradfuzz.targets.jax.api import functions
from gradfuzz.targets.jax.probing import attempts
from gradfuzz.targets.jax.samples import moves, traces
from gradfuzz.targets.jax.target import JaxTarget

WANTED = 25


def main(count: int, mutants: int) -> None:
    warnings.simplefilter("ignore")
    target = load_target("jax")
    rows = []
    for path, seed in some_seeds(target, count):
        programs = [seed, *(redrawn(seed, index) for index in range(1, mutants))]
        for program in programs:
            target.point(program)  # drawing the numbers is neither side's work
        target.plans.clear()  # what choosing the functions compiled is not ours to use
        ours = timed(programs, lambda program: examine(target, program, Options(order=1, salt=1)))
        theirs = timed(programs, lambda program: checked(target, program))
        rows.append((path, ours, theirs))
        print(f"{path:40s} ours {mutants / ours:8.1f} checks/s   check_grads {mutants / theirs:6.1f} checks/s   ratio {theirs / ours:6.1f}")
    ours, theirs = (sum(row[i] for row in rows) for i in (1, 2))
    print(f"{len(rows)} functions, {mutants} inputs each, CPU seconds: gradfuzz {ours:.1f}, check_grads {theirs:.1f}")
    print(f"ratio, median of functions  {statistics.median(t / o for _, o, t in rows):.1f}   (wanted: {WANTED})")
    print(f"ratio, totals               {theirs / ours:.1f}   (wanted: {WANTED})")


def some_seeds(target, count):
    """Functions drawn from the whole surface, each with its first seed that both sides can judge."""
    surface = list(functions(target.language))
    random.Random(0).shuffle(surface)
    found = 0
    for path, function in surface:
        for group in attempts(path, function):
            program = next((p for p in map(parsed(target), group[:4]) if p is not None and traces(target, p)), None)
            if program is not None and moves(target, program) and examine(target, program, Options(order=1, salt=1)).outcome == "agree":
                yield path, program
                found += 1
                break
        if found >= count:
            return


def parsed(target):
    def read(text):
        try:
            return parse(text, target.language)
        except ProgramError:
            return None

    return read


def redrawn(seed, index):
    """The seed with other numbers from the same distributions: inputs on which neither side stops early."""
    changes = {}
    for name, recipe in seed.inputs.items():
        if recipe.differentiable and recipe.values.seed is not None:
            changes[name] = replace(recipe, values=replace(recipe.values, seed=recipe.values.seed + 100 * index))
    return seed.with_inputs(changes)


def checked(target, program) -> None:
    point = target.point(program)
    with contextlib.suppress(Exception):  # a failed check is a check
        check_grads(lambda *xs: point.function(xs, point.resting), tuple(point.leaves), order=1, modes=("fwd", "rev"))


def timed(programs, work) -> float:
    """CPU seconds, from cold caches: what a side compiles it pays for."""
    jax.clear_caches()
    start = time.process_time()
    for program in programs:
        work(program)
    return time.process_time() - start


if __name__ == "__main__":
    arguments = [int(a) for a in sys.argv[1:]]
    main(*(arguments + [12, JaxTarget.family][len(arguments) :]))
