"""TensorFlow for people's own functions: the derivatives and the refusals of campaigns, run eagerly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from gradfuzz.targets.base.dtypes import as_seen
from gradfuzz.targets.base.functions import Array, Function, Functions, Unsupported
from gradfuzz.targets.base.nesting import derivative
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.refusals import Refusals
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.tensorflow.derivatives import TensorflowTransforms
from gradfuzz.targets.tensorflow.derivatives import derivative as declared_derivative
from gradfuzz.targets.tensorflow.refusals import TensorflowRefusals
from gradfuzz.targets.tensorflow.ways import BY_HAND, BY_XLA, EAGER, WAYS

GRAPH = "graph"  # people's own functions run op by op plainly


class TensorflowFunctions(Functions):
    """The installed TensorFlow."""

    version = str(tf.__version__)
    highest_order = 3
    way_names = (GRAPH, *(name for name in WAYS if name != EAGER))
    own_integers = True

    def read_refusals(self, data: dict[str, Any]) -> Refusals:
        return TensorflowRefusals(data)

    def owns(self, value: Any) -> bool:
        return isinstance(value, (tf.Tensor, tf.Variable))

    def dtype(self, tensor: Any) -> str:
        return str(tensor.dtype.name)

    def tensor(self, array: Array, dtype: str) -> Any:
        return tf.constant(array, getattr(tf, dtype))

    def array(self, tensor: Any) -> Array:
        return as_seen(tf.convert_to_tensor(tensor).numpy())

    def derivative(self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        directions = [[tf.constant(d, x.dtype) for d, x in zip(u, xs)] for u in us]
        weights = [tf.constant(np.asarray(w)) for w in v]
        outputs, result = derivative(TensorflowTransforms(declared=False), function, xs, scenario.modes, directions, weights)
        return self.outcome(scenario, outputs, result)

    def in_way(
        self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array], random: bool
    ) -> Outcome:  # fmt: skip
        if random:
            raise Unsupported("a graph draws other random numbers")
        directions = [[tf.constant(d, x.dtype) for d, x in zip(u, xs)] for u in us]
        way: Any = WAYS.get(scenario.way, declared_derivative)

        def run(xs: Any, us: Any, v: Any) -> Any:
            outputs, result = way(function, xs, scenario.modes, us, v)
            return list(outputs or ()), list(result)

        made: Any = run if scenario.way in BY_HAND else tf.function(run, jit_compile=scenario.way in BY_XLA)
        outputs, result = made(list(xs), directions, [tf.constant(np.asarray(w)) for w in v])
        return self.outcome(scenario, outputs, result)
