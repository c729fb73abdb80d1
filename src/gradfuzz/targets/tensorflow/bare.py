"""A Program's calls under one mode, op by op, with nothing run before them: what may well refuse them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from gradfuzz.program.model import Program
from gradfuzz.targets.base.evaluate import Compiler
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.tensorflow.derivatives import TensorflowTransforms
from gradfuzz.targets.tensorflow.function import Inputs, add_weights, build
from gradfuzz.targets.tensorflow.tensors import tensors


def bare(program: Program, compiler: Compiler, scenario: Scenario) -> str:
    """What comes out of the calls, as far as it is floating; its derivative is computed, too."""
    inputs = Inputs(program, compiler)
    function = build(inputs, program)
    add_weights(inputs, function)
    xs, fixed = tensors(inputs.leaves), tensors(list(inputs.fixed.values()))

    def called(given: Any) -> list[Any]:
        return function(given, fixed)

    if scenario.modes == ("r",):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            outputs = called(xs)
        tape.gradient(outputs, xs)
    elif scenario.modes == ("f",):
        outputs, _ = TensorflowTransforms(declared=False).push(called, xs, [tf.ones_like(x) for x in xs])
    else:
        outputs = called(xs)
    return ", ".join(f"{o.dtype.name}{list(o.shape)}" for o in outputs) or "nothing floating"
