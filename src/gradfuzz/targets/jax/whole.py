"""F as a function of all that its Program is given: its differentiable inputs, and what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

import jax
import jax.numpy as jnp

from gradfuzz.targets.base.dtypes import UNITS
from gradfuzz.targets.base.nesting import Many, Tensors

WHOLE_KINDS = "iub"  # NumPy's letters for whole numbers and truth values


@dataclass(frozen=True)
class Whole:
    """F of its differentiable inputs. `call` takes what stands beside them, too (fixed numbers, indices, masks), and gives whole numbers
    beside the floating outputs: control flow and transforms treat those by other rules."""

    call: Callable[[Tensors, Tensors], tuple[Any, ...]]
    beside: tuple[Any, ...] = ()

    def __call__(self, inputs: Tensors) -> tuple[Any, ...]:
        return floating(self.call(inputs, self.beside))

    def behind(self, rule: Callable[[Any], Any]) -> Whole:
        """The same with a function behind each floating output."""
        return Whole(lambda xs, beside: tuple(rule(o) if _floats(o) else o for o in self.call(xs, beside)), self.beside)

    def operands(self, xs: Tensors) -> tuple[Callable[..., tuple[Any, ...]], tuple[Any, ...]]:
        """A function and what to give it: all that F takes where nothing of it must be known beforehand, else its inputs alone."""
        count = len(xs)

        def of_all(*given: Any) -> tuple[Any, ...]:
            return self.call(given[:count], given[count:])

        if self.beside:
            try:
                jax.eval_shape(of_all, *xs, *self.beside)
                return of_all, (*xs, *self.beside)
            except Exception:  # sizes, axes and the like must be numbers that are known
                pass
        return (lambda *inputs: self.call(inputs, self.beside)), tuple(xs)


def whole(function: Many) -> Whole:
    """A function of differentiable inputs alone has nothing beside them."""
    return function if isinstance(function, Whole) else Whole(lambda inputs, _: tuple(function(inputs)))


def arrays(value: Any) -> tuple[Any, ...]:
    """Arrays of numbers inside tuples, lists, dicts and JAX's own result types, in order."""
    leaves = [leaf for leaf in jax.tree_util.tree_leaves(value) if hasattr(leaf, "dtype")]
    return tuple(jnp.asarray(leaf) for leaf in leaves if _floats(leaf) or getattr(leaf.dtype, "kind", "") in WHOLE_KINDS)


def floating(outputs: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(o for o in outputs if _floats(o))


def _floats(array: Any) -> bool:
    return str(array.dtype) in UNITS
