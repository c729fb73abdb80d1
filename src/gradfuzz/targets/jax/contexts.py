"""Where JAX writes down what it lowers: one place for many functions. A new one costs as much as lowering an operator does."""

from __future__ import annotations

from typing import Any, Callable

from jax._src.interpreters import mlir

# What stands in it is kept for as long as it is: types, and constants.
USES = 64


def shared(make: Callable[[], Any], uses: int = USES) -> Callable[[], Any]:
    """The same context so many times, then another."""
    context, left = None, 0

    def made() -> Any:
        nonlocal context, left
        if not left:
            context, left = make(), uses
        left -= 1
        return context

    made.gradfuzz_shared = True  # type: ignore[attr-defined]
    return made


def share() -> None:
    """Once for the whole process, whoever asks for it. Nothing is made here: threads would not outlive a fork."""
    make = mlir.make_ir_context
    if not hasattr(make, "gradfuzz_shared"):
        mlir.make_ir_context = shared(make)
