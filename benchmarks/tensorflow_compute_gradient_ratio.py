"""gradfuzz against tf.test.compute_gradient on the same functions, shapes and numbers, tracing counted, one core, one run.

    python benchmarks/tensorflow_compute_gradient_ratio.py [FUNCTIONS] [INPUTS]

INPUTS is how many share a shape: by default as many as in a campaign's families.

Each function is a seed from signatures; its inputs differ in their numbers, as most mutants of a campaign do. Both sides check reverse and
forward mode against numerical differentiation. compute_gradient makes the Jacobian by reverse mode and by differences; forward mode is
checked against it the way TensorFlow's own tests do, column by column with a ForwardAccumulator. Time is CPU time.
"""

from __future__ import annotations

import contextlib
import random
import statistics
import sys
import time
from dataclasses import replace

import numpy as np

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.homes import load_target

WANTED = 10


def main(count: int, inputs: int) -> None:
    import tensorflow as tf

    from gradfuzz.targets.tensorflow.function import Inputs, add_weights, build
    from gradfuzz.targets.tensorflow.tensors import tensors

    target = load_target("tensorflow")

    def checked(program) -> None:
        binding = Inputs(program, target.compiler)
        function, fixed = build(binding, program), tensors(list(binding.fixed.values()))
        add_weights(binding, function)
        inputs = tensors(binding.leaves)
        for position in range(len(function(inputs, fixed))):
            with contextlib.suppress(Exception):  # a failed check is a check
                reverse, _ = tf.test.compute_gradient(lambda *xs, p=position: function(xs, fixed)[p], inputs)
                for which, (x, jacobian) in enumerate(zip(inputs, reverse)):
                    columns = [column(function, inputs, fixed, which, i, position) for i in range(int(tf.size(x)))]
                    np.allclose(np.stack(columns, -1), jacobian, rtol=1e-6)

    def column(function, inputs, fixed, which, element, position):
        """One column of the Jacobian by forward mode."""
        unit = np.zeros(inputs[which].shape, inputs[which].dtype.as_numpy_dtype)
        unit.flat[element] = 1
        with tf.autodiff.ForwardAccumulator(inputs[which], tf.constant(unit)) as accumulator:
            output = function(inputs, fixed)[position]
        return accumulator.jvp(output, unconnected_gradients=tf.UnconnectedGradients.ZERO).numpy().ravel()

    rows = []
    for path, seed in some_seeds(target, count):
        programs = [seed, *(redrawn(seed, index) for index in range(1, inputs))]
        target.plans.clear()  # what choosing the functions traced is not ours to use
        ours = timed(programs, lambda program: examine(target, program, Options(order=1, salt=1)))
        theirs = timed(programs, checked)
        rows.append((path, ours, theirs))
        print(
            f"{path:44s} ours {inputs / ours:8.1f} checks/s   compute_gradient {inputs / theirs:6.1f} checks/s   ratio {theirs / ours:6.1f}"
        )
    ours, theirs = (sum(row[i] for row in rows) for i in (1, 2))
    print(f"{len(rows)} functions, {inputs} inputs each, CPU seconds: gradfuzz {ours:.1f}, compute_gradient {theirs:.1f}")
    print(f"ratio, median of functions  {statistics.median(t / o for _, o, t in rows):.1f}   (wanted: {WANTED})")
    print(f"ratio, totals               {theirs / ours:.1f}   (wanted: {WANTED})")


def some_seeds(target, count):
    """Functions drawn from the whole surface, each with its first seed that both sides can judge."""
    from gradfuzz.errors import ProgramError
    from gradfuzz.targets.tensorflow.probing import RAW, attempts
    from gradfuzz.targets.tensorflow.samples import surface, works

    paths = [path for path in surface(target) if not path.startswith(RAW)]  # some operators abort the process when they are tried out
    random.Random(0).shuffle(paths)
    found = 0
    for path in paths:
        for _, texts in attempts(path, target.compiler.resolve(path)):
            programs = []
            for text in texts[:4]:
                with contextlib.suppress(ProgramError):
                    programs.append(parse(text, target.language))
            program = next((p for p in programs if works(target, p)), None)
            if program is not None and examine(target, program, Options(order=1, salt=1)).outcome == "agree":
                yield path, program
                found += 1
                break
        if found >= count:
            return


def redrawn(seed, index):
    """The seed with other numbers from the same distributions: inputs on which neither side stops early."""
    changes = {}
    for name, recipe in seed.inputs.items():
        if recipe.differentiable and recipe.values.seed is not None:
            changes[name] = replace(recipe, values=replace(recipe.values, seed=recipe.values.seed + 100 * index))
    return seed.with_inputs(changes)


def timed(programs, work) -> float:
    start = time.process_time()
    for program in programs:
        work(program)
    return time.process_time() - start


if __name__ == "__main__":
    from gradfuzz.targets.tensorflow.target import TensorflowTarget

    arguments = [int(a) for a in sys.argv[1:]]
    main(*(arguments + [24, TensorflowTarget.family][len(arguments) :]))
