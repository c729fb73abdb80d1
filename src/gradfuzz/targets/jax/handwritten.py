"""Derivatives that people write for JAX: `custom_jvp` and `custom_vjp`, and functions that hand a solution to `custom_root`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from gradfuzz.targets.base.callers import called_in, made_in
from gradfuzz.targets.base.handwritten import INSIDE, HandWritten
from gradfuzz.targets.base.made_up import no_tensor
from gradfuzz.targets.base.recording import Note
from gradfuzz.targets.jax.recording import Call

KINDS = {jax.custom_jvp: "jax.custom_jvp", jax.custom_vjp: "jax.custom_vjp"}
MAKERS = ("custom_jvp", "custom_vjp")
# Their derivative is that of an equation which the solution is said to satisfy.
IMPLICIT, EQUATION = ("custom_root", "custom_linear_solve"), "jax.lax.custom_root"


class JaxHandWritten(HandWritten):
    """A package's functions with rules of their own."""

    CALLERS = frozenset({EQUATION})

    def listen(self) -> None:
        owner = self
        for kind, named in KINDS.items():
            _stand_before(kind, named, owner)

    def rules_in(self, module: Any) -> Iterator[tuple[Any, str, str]]:
        for name, value in [(name, value) for name, value in vars(module).items() if callable(value)]:
            rule = getattr(value, "__wrapped__", value) if not isinstance(value, tuple(KINDS)) else value
            for kind, named in KINDS.items():
                # Behind a `jit` the rule is what is wrapped; what people call is what has the name.
                if isinstance(rule, kind) and getattr(value, "__module__", None) == module.__name__:
                    yield value, name, named
            if inspect.isfunction(rule) and rule.__module__ == module.__name__:  # behind a `jit`, perhaps
                if _solves(rule):
                    yield value, name, EQUATION
                elif made_in(rule, MAKERS):
                    yield value, name, f"{' or '.join(KINDS.values())}{INSIDE}"

    def arguments(self, rule: Any) -> list[inspect.Parameter]:
        fixed = tuple(getattr(getattr(rule, "__wrapped__", rule), "nondiff_argnums", ()) or getattr(rule, "nondiff_argnums", ()))
        found = super().arguments(rule)
        return [no_tensor(p) if i in fixed else p for i, p in enumerate(found)]

    def note(self, path: str) -> Note:
        return Call(path, self.contents)

    def tensor(self, numbers: Any) -> Any:
        return jnp.asarray(numbers)


def _stand_before(kind: Any, named: str, owner: HandWritten) -> None:
    called = kind.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = called(self, *args, **kwargs)
        function = getattr(self, "fun", None) or getattr(self, "_fun", None)
        owner.heard(getattr(function, "__module__", None), getattr(function, "__qualname__", ""), named, args, kwargs, self)
        return result

    kind.__call__ = call


def _solves(function: Any) -> bool:
    """Whether a function's own text calls one of those that differentiate an equation."""
    return any(call.rpartition(".")[2] in IMPLICIT for call in called_in(function))
