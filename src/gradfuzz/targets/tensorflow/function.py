"""A Program's calls as a function of its inputs, with its layers' weights among them."""

from __future__ import annotations

import contextlib
from typing import Any

import tensorflow as tf

from gradfuzz.program.model import Program, Tensor
from gradfuzz.program.values import size_of
from gradfuzz.targets.base.binding import Array, Binding
from gradfuzz.targets.base.bundle import Arrays
from gradfuzz.targets.base.evaluate import Env, Steps, Thunk, run_steps
from gradfuzz.targets.tensorflow.modules import Module
from gradfuzz.targets.tensorflow.tensors import flatten, of_dtype, tensors


class Function:
    """A Program's calls as a function of its inputs. Layers are made when it is made, and built by its first run."""

    def __init__(
        self, names: list[str], fixed: list[str], constants: dict[str, Array], steps: Steps,
        layers: list[tuple[str, Thunk]], floatx: str,
    ) -> None:  # fmt: skip
        self.names, self.fixed, self.constants, self.steps, self.floatx = names, fixed, constants, steps, floatx
        self._precision()
        self.layers = [(name, thunk({})) for name, thunk in layers]
        self.modules: list[Module] = []

    def _precision(self) -> None:
        """Keras makes its constants and weights in the precision of the Program."""
        if tf.keras.backend.floatx() != self.floatx:
            tf.keras.backend.set_floatx(self.floatx)
            tf.keras.mixed_precision.set_global_policy(self.floatx)

    def build(self, xs: Arrays, fixed: Arrays) -> None:
        """Layers make their weights when they first see an input."""
        if self.layers:
            self(tensors(xs), tensors(fixed))
            self.modules = [Module(layer) for _, layer in self.layers]

    def __call__(self, xs: Arrays, fixed: Arrays) -> list[Any]:
        """F at xs: the floating outputs, flattened."""
        return flatten(self.result(xs, fixed))

    def result(self, xs: Arrays, fixed: Arrays) -> Any:
        """What the last call gives at xs."""
        self._precision()
        env: Env = {name: tf.constant(value) for name, value in self.constants.items()}
        env.update(zip(self.names, xs))
        env.update(zip(self.fixed, fixed))
        env.update(self.layers)
        with contextlib.ExitStack() as stack:
            position = len(self.names)
            for module in self.modules:
                stack.enter_context(module.bound(xs[position : position + len(module.values)]))
                position += len(module.values)
            return run_steps(self.steps, env)


class Inputs(Binding):
    """A Program's inputs as TensorFlow takes them. Indices and masks are arrays: many APIs want them to be known when they are traced."""

    def leaf(self, array: Array, recipe: Tensor) -> Array:
        return of_dtype(array, recipe.dtype)

    def constant(self, array: Array, recipe: Tensor) -> Array:
        return array


def build(binding: Binding, program: Program) -> Function:
    """The function, with its layers built. Raises what the library raises."""
    function = Function(list(binding.names), list(binding.fixed), binding.constants, binding.steps, binding.constructors, _floatx(program))
    function.build(binding.leaves, list(binding.fixed.values()))
    return function


def add_weights(binding: Binding, function: Function) -> None:
    """The layers' weights, as further inputs."""
    for (layer, _), module in zip(function.layers, function.modules):
        for name, value in zip(module.names, module.values):
            array = of_dtype(binding.replacement(value), str(value.dtype))
            binding.add_leaf(f"{layer}.{name}", array, None, size_of(array))


def _floatx(program: Program) -> str:
    """Keras's precision: the widest real one of the inputs."""
    dtypes = [t.dtype.replace("complex128", "float64").replace("complex64", "float32") for t in program.inputs.values()]
    return next((d for d in ("float64", "float32", "float16", "bfloat16") if d in dtypes), "float64")
