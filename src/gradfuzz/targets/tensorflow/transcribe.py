"""Reads a Program off a function: the operators it reaches, in order, from its graph.

TensorFlow traces a function into operators. Where each of them may be called as `tf.raw_ops.NAME` with plain arguments, they are a Program.
Functions with gradients of their own (`tf.custom_gradient`) are not: their gradients would be lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from gradfuzz.errors import ProgramError
from gradfuzz.program.language import Language
from gradfuzz.program.model import DISCRETE, DTYPES, Call, Expr, Item, Let, Name, Program, Ref, Tensor
from gradfuzz.targets.base.recipes import values_of
from gradfuzz.targets.tensorflow.probing import RAW, renamed

# Constants of so few elements are written where they are used: axes, shapes, factors.
SHORT = 8
WIDE = {"float32": "float64", "complex64": "complex128", "float16": "float64", "bfloat16": "float64"}


class NotAProgram(ProgramError):
    """The function did something that a Program cannot say."""


class Transcriber:
    """Records functions of the installed TensorFlow."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def transcribe(self, function: Callable[..., Any], args: Sequence[Any]) -> Program:
        """The Program of function(*args). Floating arguments become its differentiable inputs."""
        specs = [tf.TensorSpec(np.asarray(a).shape, np.asarray(a).dtype) for a in args]
        graph = tf.function(function, autograph=False).get_concrete_function(*specs)
        self._inputs: list[Let] = []
        self._calls: list[Let] = []
        self._known: dict[str, Expr] = {}
        for tensor, argument in zip(graph.inputs, args):
            self._known[tensor.name] = self._input(np.asarray(argument), True)
        for operation in graph.graph.get_operations():
            self._operation(operation)
        outputs = [self._known[o.name] for o in graph.outputs if o.dtype.is_floating or o.dtype.is_complex]
        if not self._calls or not outputs:
            raise NotAProgram("no call with a floating output was seen")
        if outputs != [Ref(self._calls[-1].names[0])]:
            self._calls.append(Let(("out",), tuple(outputs)))
        return Program((*self._inputs, *self._calls)).check()

    def _input(self, array: Any, argument: bool) -> Expr:
        """An input for an argument, in double precision, or for a constant, as it is."""
        dtype = str(array.dtype)
        if dtype not in DTYPES:
            raise NotAProgram(f"dtype {dtype} is outside the language")
        if argument and dtype in WIDE:
            raise NotAProgram(f"record in double precision: {WIDE[dtype]} instead of {dtype}")
        name = f"x{len(self._inputs)}"
        recipe = Tensor(
            tuple(array.shape), dtype, values_of(array, len(self._inputs) + 1, not argument), argument and dtype not in DISCRETE
        )
        self._inputs.append(Let((name,), recipe))
        return Ref(name)

    def _operation(self, operation: Any) -> None:
        if operation.type in ("Placeholder", "NoOp"):
            return
        if operation.type in ("Identity", "ReadVariableOp") and not _overridden(operation):
            self._known[operation.outputs[0].name] = self._known[operation.inputs[0].name]
            return
        if operation.type == "Const":
            self._known[operation.outputs[0].name] = self._constant(tf.make_ndarray(operation.get_attr("value")))
            return
        if _overridden(operation):
            raise NotAProgram(f"{operation.type} has a gradient of its own here")
        path = RAW + operation.type
        reason = self.language.refusal(path)
        if reason or not hasattr(tf.raw_ops, operation.type):
            raise NotAProgram(reason or f"{operation.type} has no public name")
        name = f"y{len(self._calls)}"
        self._calls.append(Let((name,), Call(path, (), tuple(self._arguments(operation)))))
        for position, output in enumerate(operation.outputs):
            self._known[output.name] = Item(Ref(name), position) if len(operation.outputs) > 1 else Ref(name)

    def _arguments(self, operation: Any) -> list[tuple[str, Expr]]:
        definition = op_def_registry.get(operation.type)
        defined = [a.name for a in definition.input_arg] + [a.name for a in definition.attr]
        names = renamed(getattr(tf.raw_ops, operation.type), defined)
        tensors = [self._known[t.name] for t in operation.inputs]
        found: list[tuple[str, Expr]] = []
        inferred: set[str] = set()
        for argument in definition.input_arg:
            inferred |= {argument.type_attr, argument.number_attr, argument.type_list_attr}
            if argument.number_attr or argument.type_list_attr:
                many = operation.get_attr(argument.number_attr or argument.type_list_attr)
                count = many if argument.number_attr else len(many)
                value, tensors = list(tensors[:count]), tensors[count:]
            else:
                value, tensors = tensors[0], tensors[1:]
            found.append((names.get(argument.name, argument.name), value))
        for attr in definition.attr:
            if attr.name not in inferred:
                found.append((names.get(attr.name, attr.name), self._attribute(operation.get_attr(attr.name))))
        return found

    def _constant(self, array: Any) -> Expr:
        if array.size <= SHORT and str(array.dtype) in ("int32", "int64", "bool", "float32", "float64"):
            return Call("tf.constant", (array.tolist(), Name(f"tf.{array.dtype}")))
        return self._input(array, False)

    def _attribute(self, value: Any) -> Expr:
        """An attribute as an expression: literals, types, shapes, lists of these."""
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, tf.DType):
            return Name(f"tf.{value.name}")
        if type(value) in (bool, int, float, str):
            return value
        if isinstance(value, (list, tuple)):
            return [self._attribute(part) for part in value]
        if hasattr(value, "dim") and hasattr(value, "unknown_rank"):
            if value.unknown_rank:
                return None
            return [int(d.size) for d in value.dim]
        raise NotAProgram(f"an attribute of type {type(value).__name__} is outside the language")


def _overridden(operation: Any) -> bool:
    return "_gradient_op_type" in operation.node_def.attr
