"""Derivatives that people write for HIPS autograd: primitives with `defvjp` or `defjvp`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import autograd.extend
import autograd.tracer
import numpy as np
from autograd.core import primitive_jvps, primitive_vjps

from gradfuzz.program.model import Expr
from gradfuzz.targets.base.handwritten import HandWritten
from gradfuzz.targets.base.recording import Note

KIND = "autograd primitive"


class AutogradHandWritten(HandWritten):
    """A package's primitives."""

    def listen(self) -> None:
        original, owner = autograd.tracer.primitive, self

        def primitive(f: Any) -> Any:
            @functools.wraps(f)
            def raw(*args: Any, **kwargs: Any) -> Any:
                result = f(*args, **kwargs)
                owner.heard(getattr(f, "__module__", None), getattr(f, "__qualname__", ""), KIND, args, kwargs)
                return result

            return original(raw)

        # Rules are kept by the function that `primitive` returns, so what is stood before is what that one calls.
        for place in (autograd.tracer, autograd.extend):
            place.primitive = primitive

    def rules_in(self, module: Any) -> Iterator[tuple[Any, str, str]]:
        primitives: list[tuple[str, Any]] = [(n, v) for n, v in vars(module).items() if inspect.isfunction(v)]
        for name, value in primitives:
            own = getattr(value, "_is_autograd_primitive", False) and getattr(value.fun, "__module__", None) == module.__name__
            if own and (value in primitive_vjps or value in primitive_jvps):
                yield value, name, KIND

    def arguments(self, rule: Any) -> list[inspect.Parameter]:
        return super().arguments(getattr(rule, "fun", rule))

    def note(self, path: str) -> Note:
        return _Call(path, self.contents)

    def tensor(self, numbers: Any) -> Any:
        return numbers


class _Call(Note):
    def own(self, value: Any) -> Expr:
        if isinstance(value, (np.ndarray, np.number)):
            held = np.asarray(value)
            return self.array(held.shape, str(held.dtype), held)
        return super().own(value)
