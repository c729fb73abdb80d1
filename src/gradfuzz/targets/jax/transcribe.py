"""Reads a Program off a function: the primitives it reaches, in order, from its jaxpr.

JAX traces a function into the calls of primitives it makes. Where each of them has a public name (jax.lax.sin_p) and plain
arguments, they are a Program. Functions with rules of their own (custom_jvp and its like) are not: their rules would be lost.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Callable

import jax
import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.language import Language
from gradfuzz.program.model import DISCRETE, DTYPES, Call, Expr, Let, Name, Program, Ref, Tensor
from gradfuzz.targets.base.recipes import values_of
from gradfuzz.targets.jax.api import primitives

INLINED = ("pjit", "jit", "closed_call", "core_call", "remat", "checkpoint")


class NotAProgram(ProgramError):
    """The function did something that a Program cannot say."""


class Transcriber:
    """Records functions of one installed JAX."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._paths = primitives(language)

    def transcribe(self, function: Callable[..., Any], args: Sequence[Any]) -> Program:
        """The Program of function(*args). Floating arguments become its differentiable inputs."""
        closed = jax.make_jaxpr(function)(*args)
        self._inputs: list[Let] = []
        self._calls: list[Let] = []
        known = {var: self._input(np.asarray(arg)) for var, arg in zip(closed.jaxpr.invars, args)}
        outputs = self._walk(closed.jaxpr, closed.consts, known)
        floating = [o for o, aval in zip(outputs, closed.out_avals) if str(aval.dtype) in DTYPES and str(aval.dtype) not in DISCRETE]
        if not self._calls or not floating:
            raise NotAProgram("no call with a floating output was seen")
        if floating != [Ref(self._calls[-1].names[0])]:
            self._calls.append(Let(("out",), tuple(floating)))
        return Program((*self._inputs, *self._calls)).check()

    def _input(self, array: Any) -> Expr:
        dtype = str(array.dtype)
        if dtype not in DTYPES:
            raise NotAProgram(f"dtype {dtype} is outside the language")
        name = f"x{len(self._inputs)}"
        wide = {"float32": "float64", "complex64": "complex128", "float16": "float64", "bfloat16": "float64"}.get(dtype, dtype)
        values = values_of(array.astype(wide), len(self._inputs) + 1)
        self._inputs.append(Let((name,), Tensor(tuple(array.shape), wide, values, wide not in DISCRETE)))
        return Ref(name)

    def _walk(self, jaxpr: Any, consts: Sequence[Any], known: dict[Any, Expr]) -> list[Expr]:
        for var, const in zip(jaxpr.constvars, consts):
            known[var] = self._input(np.asarray(const))

        def read(atom: Any) -> Expr:
            return self._literal(atom.val) if hasattr(atom, "val") else known[atom]

        for eqn in jaxpr.eqns:
            inner = eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))
            arguments = [read(atom) for atom in eqn.invars]
            if eqn.primitive.name in INLINED and inner is not None:
                body = getattr(inner, "jaxpr", inner)
                results = self._walk(body, getattr(inner, "consts", ()), dict(zip(body.invars, arguments)))
                known.update(zip(eqn.outvars, results))
                continue
            path = self._paths.get(eqn.primitive)
            if path is None:
                raise NotAProgram(f"primitive {eqn.primitive.name} has no public name")
            named = tuple((key, self._argument(value)) for key, value in eqn.params.items())
            names = tuple(f"y{len(self._calls)}_{i}" if len(eqn.outvars) > 1 else f"y{len(self._calls)}" for i in range(len(eqn.outvars)))
            self._calls.append(Let(names, Call(f"{path}.bind", tuple(arguments), named)))
            known.update(zip(eqn.outvars, map(Ref, names)))
        return [read(atom) for atom in jaxpr.outvars]

    def _literal(self, value: Any) -> Expr:
        array = np.asarray(value)
        if array.ndim or array.dtype.kind not in "fc" or array.dtype.itemsize < 8:
            return self._input(array)
        return array.item()

    def _argument(self, value: Any) -> Expr:
        """A parameter of a primitive as an expression: literals, dtypes, members of enumerations, named tuples."""
        if value is None or type(value) in (bool, int, float, complex, str):
            return value
        if isinstance(value, enum.Enum):
            return self._name(f"jax.lax.{type(value).__name__}.{value.name}")
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            fields = tuple((key, self._argument(part)) for key, part in zip(value._fields, value))
            return Call(self._name(f"jax.lax.{type(value).__name__}").path, (), fields)
        if isinstance(value, (tuple, list)):
            return type(value)(self._argument(part) for part in value)
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            return value.item()
        if isinstance(value, np.dtype) and str(value) in DTYPES:
            return Name(f"jax.numpy.{value}")
        raise NotAProgram(f"an argument of type {type(value).__name__} is outside the language")

    def _name(self, path: str) -> Name:
        reason = self.language.refusal(path)
        if reason:
            raise NotAProgram(reason)
        return Name(path)
