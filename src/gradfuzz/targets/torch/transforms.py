"""`torch.func` as the fold wants it: in its own words, and, for eager code alone, in those of the layer below.

`torch.func.jvp` and `vjp` flatten, check and rebuild their arguments at each level, which costs more than most operators do. Below them
lie the levels of nesting and the wrapping of tensors, which do the work; here both are always flat tuples of tensors. Scripts and ways
say `torch.func` itself, and a test holds the two together.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Callable

import torch
import torch.autograd.forward_ad as fwd

Tensors = Sequence[torch.Tensor]
Function = Callable[[Tensors], Any]

_run_backward = torch.autograd.Variable._execution_engine.run_backward
_make_dual, _unpack_dual = torch._C._VariableFunctions._make_dual, torch._C._VariableFunctions._unpack_dual
_set_grad = torch._C._set_grad_enabled


def first_of(*names: str) -> Any:
    """The first of these modules that this release has; None where it has none."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


# PyTorch's own since 2.0, a package beside it before, absent before that.
functional = first_of("torch.func", "functorch")
_below = first_of("torch._C._functorch")
_levels = first_of("torch._functorch.eager_transforms")
_NEEDED = (
    "_jvp_increment_nesting", "_jvp_decrement_nesting", "_grad_increment_nesting", "_grad_decrement_nesting", "_wrap_for_grad",
    "_unwrap_for_grad", "set_inplace_requires_grad_allowed", "get_inplace_requires_grad_allowed",
)  # fmt: skip


def inner(a: Tensors, b: Tensors) -> torch.Tensor:
    """Re⟨a, b⟩ as a differentiable number."""
    total: torch.Tensor | None = None
    for x, y in zip(a, b):
        part = torch.real(x.conj() * y).sum() if x.is_complex() or y.is_complex() else (x * y).sum()
        total = part if total is None else total + part  # nothing is added to zero: beside absent tangents that is dear
    return torch.zeros((), dtype=torch.float64) if total is None else total


class Transforms:
    """`torch.func` in its own words."""

    def push(self, g: Function, xs: Tensors, u: Tensors) -> tuple[Any, Any]:
        outputs, tangents = functional.jvp(lambda *inputs: tuple(g(inputs)), tuple(xs), tuple(u))
        return outputs, tangents

    def pull(self, g: Function, xs: Tensors, weights: Tensors) -> tuple[Any, Any]:
        outputs, back = functional.vjp(lambda *inputs: tuple(g(inputs)), *xs)
        return outputs, back(tuple(w.to(o.dtype) for w, o in zip(weights, outputs)))

    def inner(self, a: Tensors, b: Tensors) -> torch.Tensor:
        return inner([torch.where(y != 0, x, 0) for x, y in zip(a, b)], b)  # what is not moved says nothing, be it NaN

    def one(self) -> torch.Tensor:
        return torch.ones((), dtype=torch.float64)


class LeanTransforms(Transforms):
    """The same by the layer below, for functions of tuples of tensors."""

    def push(self, g: Function, xs: Tensors, u: Tensors) -> tuple[Any, Any]:
        level = _levels.enter_jvp_nesting()
        enabled = torch._C._is_fwd_grad_enabled()
        outermost = _levels.JVP_NESTING == 1  # one level of dual numbers serves all nested ones
        entered = -1
        try:
            torch._C._set_fwd_grad_enabled(True)
            if outermost:
                entered = fwd.enter_dual_level()
            duals = [_make_dual(x, d, level=fwd._current_level) for x, d in zip(xs, u)]
            pairs = [_unpack_dual(o, level=fwd._current_level) for o in g(duals)]
            unwrap = _below._unwrap_for_grad
            outputs = tuple([unwrap(primal, level) for primal, _ in pairs])
            return outputs, tuple([unwrap(torch.zeros_like(p) if t is None else t, level) for p, t in pairs])
        finally:
            if entered >= 0:
                fwd.exit_dual_level(level=entered)
            torch._C._set_fwd_grad_enabled(enabled)
            _levels.exit_jvp_nesting()

    def pull(self, g: Function, xs: Tensors, weights: Tensors) -> tuple[Any, Any]:
        recording = torch.is_grad_enabled()
        level = _below._grad_increment_nesting()
        try:
            _set_grad(True)
            leaves = [_below._wrap_for_grad(x, level) for x in xs]
            allowed = _below.get_inplace_requires_grad_allowed()
            _below.set_inplace_requires_grad_allowed(True)
            try:
                for leaf in leaves:
                    leaf.requires_grad_()
            finally:
                _below.set_inplace_requires_grad_allowed(allowed)
            wrapped = g(leaves)
            outputs = tuple([_below._unwrap_for_grad(o, level) for o in wrapped])
        finally:
            _set_grad(recording)
            _below._grad_decrement_nesting()
        live = [(o, w.to(o.dtype)) for o, w in zip(wrapped, weights) if o.requires_grad]
        if not live:
            return outputs, tuple([torch.zeros_like(leaf) for leaf in leaves])
        grads = _run_backward(tuple([o for o, _ in live]), tuple([w for _, w in live]), True, recording, tuple(leaves), True, False)
        return outputs, tuple([torch.zeros_like(leaf) if g is None else g for g, leaf in zip(grads, leaves)])

    def inner(self, a: Tensors, b: Tensors) -> torch.Tensor:
        return inner(a, b)


def _has_all() -> bool:
    here = _below is not None and all(hasattr(_below, name) for name in _NEEDED)
    return here and all(hasattr(_levels, name) for name in ("enter_jvp_nesting", "exit_jvp_nesting", "JVP_NESTING"))


# What campaigns nest with: a release that lacks any of it is asked in its own words.
EAGER: Transforms = LeanTransforms() if _has_all() else Transforms()
