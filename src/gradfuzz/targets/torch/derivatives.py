"""Derivatives by PyTorch: reverse and forward mode of order one, and both nested in any order.

Two engines nest: the tape with dual numbers (one forward level), and `torch.func` (any nesting). Campaigns and people's own functions
are differentiated by the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import numpy as np
import torch
import torch.autograd.forward_ad as fwd

from gradfuzz.targets.base.functions import WrongGradientShape
from gradfuzz.targets.base.nesting import derivative as folded
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.torch.tensors import Array, dot, to_numpy
from gradfuzz.targets.torch.transforms import EAGER, Transforms, first_of, functional

# The context managers torch.no_grad and torch.enable_grad cost as much as a small operator. A worker leaves recording off
# and turns it on where a tape is wanted.
set_grad = torch._C._set_grad_enabled
# The functions below torch.autograd.grad and forward_ad.make_dual: the public ones check again what holds here by construction.
_run_backward = torch.autograd.Variable._execution_engine.run_backward
_enter_dual_level, _exit_dual_level = torch._C._enter_dual_level, torch._C._exit_dual_level
_make_dual, _unpack_dual = torch._C._VariableFunctions._make_dual, torch._C._VariableFunctions._unpack_dual


# What looks into the tensors that transforms wrap.
_wrappers = first_of("torch._C._functorch", "functorch._C")

Tensors = Sequence[torch.Tensor]
Function = Callable[[Tensors], Any]


class NoGradient(RuntimeError):
    """PyTorch declares that nothing here has a derivative."""


class NestingUnsupported(NotImplementedError):
    """This PyTorch cannot nest these modes."""


def needed(name: str) -> None:
    """NestingUnsupported where this release has no transform of that name."""
    if functional is None or not hasattr(functional, name):
        raise NestingUnsupported(f"this release has no torch.func.{name}")


def nested(function: Function, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> Outcome:
    """Order two and up."""
    engine = _engine(modes)
    outputs, result = engine(function, xs, modes, us, v, EAGER)
    if "r" in modes and any(map(_has_nan, result)) and not all(bool(d.all()) for u in us for d in u):
        # What is not moved says nothing, be it NaN. To leave it out at every call would be dear.
        outputs, result = engine(function, xs, modes, us, v, Transforms())
    return Outcome([to_numpy(o) for o in outputs], [to_numpy(r) for r in result], "r" in modes)


def reverse(function: Function, xs: Tensors, u: Sequence[Array], v: Tensors, taped: list[torch.Tensor], keep: bool = False) -> Outcome:
    """Order one on the tape; `u` are arrays in double precision. `taped` gets the outputs that hang on it, whatever backward does then.

    With `keep` the graph can be gone through again.
    """
    leaves = [x.detach().requires_grad_() for x in xs]
    set_grad(True)
    try:
        outputs = function(leaves)
    finally:
        set_grad(False)
    flags = [o.requires_grad for o in outputs]
    taped[:] = outputs if all(flags) else [o for o in outputs if o.requires_grad]
    if not taped:
        raise NoGradient("no output depends on a differentiable input")
    weights = [c if c.dtype == o.dtype else c.to(o.dtype) for o, c in zip(outputs, v) if o.requires_grad]
    grads = _run_backward(tuple(taped), tuple(weights), keep, False, tuple(leaves), True, False)
    return Outcome([to_numpy(o.detach()) for o in outputs], [along(grads, u)], True, flags)


def along(grads: Sequence[torch.Tensor | None], u: Sequence[Array]) -> float:
    """The gradients' component along u; what is absent is zero."""
    total = 0.0
    for grad, direction in zip(grads, u):
        if grad is not None:
            if grad.layout != torch.strided:
                grad = grad.to_dense()  # gradients of embeddings may be sparse
            if tuple(grad.shape) != direction.shape:
                raise WrongGradientShape(f"the gradient has shape {tuple(grad.shape)}, the input {direction.shape}")
            total += dot(to_numpy(grad), direction)
    return total


def forward(function: Function, xs: Tensors, u: Tensors) -> Outcome:
    """Order one by dual numbers."""
    level = _enter_dual_level()
    outer, fwd._current_level = fwd._current_level, level
    try:
        duals = [_make_dual(x, d, level=level) for x, d in zip(xs, u)]
        pairs = [_unpack_dual(o, level=level) for o in function(duals)]
        result = [np.zeros(p.shape) if t is None else to_numpy(_checked_tangent(p, t)) for p, t in pairs]
        return Outcome([to_numpy(p) for p, _ in pairs], result, False, [t is not None for _, t in pairs])
    finally:
        _exit_dual_level(level=level)
        fwd._current_level = outer


def _checked_tangent(primal: torch.Tensor, tangent: torch.Tensor) -> torch.Tensor:
    if tangent.shape != primal.shape or tangent.dtype != primal.dtype:
        theirs, ours = (f"{t.dtype}{list(t.shape)}" for t in (tangent, primal))
        raise WrongGradientShape(f"the tangent is {theirs}, the output {ours}")
    return tangent


def _engine(modes: Modes) -> Callable[..., tuple[list[torch.Tensor], list[torch.Tensor]]]:
    """The tape where it suffices: it is what most people run. Reverse mode over forward mode is promised by torch.func alone."""
    reverse_over_forward = "f" in modes and "r" in modes[modes.index("f") :]
    if modes.count("f") <= 1 and not (reverse_over_forward and functional is not None):
        return _with_tape
    return _with_transforms


def _with_tape(
    function: Function, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors, library: Transforms
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The tape differentiates through everything; a forward mode is one level of dual numbers on the inputs.

    The tape is recorded on the dual inputs, so the forward mode's place in the nesting only decides when its tangent is read:
    right after F (reverse-over-forward) or after some gradients (forward-over-reverse).
    """
    leaves = [x.detach().requires_grad_() for x in xs]
    if "f" not in modes:
        with torch.enable_grad():
            outputs = function(leaves)
            return outputs, _fold(outputs, leaves, modes, us, v, library.inner)
    with fwd.dual_level(), torch.enable_grad():
        duals = [fwd.make_dual(x, d) for x, d in zip(leaves, us[modes.index("f")])]
        outputs = function(duals)
        result = _fold(outputs, duals, modes, us, v, library.inner)
        # A result read after the tangent still carries one of its own; only its primal is meant.
        return [fwd.unpack_dual(o)[0].detach() for o in outputs], [fwd.unpack_dual(r)[0].detach() for r in result]


def _fold(
    outputs: Any, leaves: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors, inner: Callable[[Tensors, Tensors], torch.Tensor]
) -> list[torch.Tensor]:  # fmt: skip
    current, weights = list(outputs), list(v)
    for position, (mode, u) in enumerate(zip(modes, us)):
        if mode == "f":
            current = [_tangent(t) for t in current]
            continue
        pairs = _gradients(current, weights, leaves, u)
        if modes[position + 1 :] == ("f",):
            # The tangent of ⟨gradient, u⟩ is ⟨tangent of the gradient, u⟩: the product itself need not be differentiated, and beside
            # u, which has no tangent, that would be dear.
            return [inner([_tangent(g) for g, _ in pairs], [d for _, d in pairs])]
        current, weights = [inner([g for g, _ in pairs], [d for _, d in pairs])], [torch.ones((), dtype=torch.float64)]
    return current


def _has_nan(tensor: torch.Tensor) -> bool:
    return bool(torch.isnan(tensor).any())


def _tangent(tensor: torch.Tensor) -> torch.Tensor:
    primal, tangent = fwd.unpack_dual(tensor)
    return torch.zeros_like(primal) if tangent is None else tangent


def _gradients(current: Tensors, weights: Tensors, leaves: Tensors, u: Tensors) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """∇⟨w, g⟩ on the tape, each part with its direction; none where nothing is connected."""
    live = [(t, w if w.dtype == t.dtype else w.to(t.dtype)) for t, w in zip(current, weights) if t.requires_grad]
    if not live:
        return []
    grads = _run_backward(tuple([t for t, _ in live]), tuple([w for _, w in live]), True, True, tuple(leaves), True, False)
    return [(g, d) for g, d in zip(grads, u) if g is not None]


def _with_transforms(
    function: Function, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors, library: Transforms
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    if functional is None:
        raise NestingUnsupported("nested forward mode needs torch.func (PyTorch 2.0) or functorch")
    seen: list[torch.Tensor] = []

    def watched(inputs: Tensors) -> tuple[torch.Tensor, ...]:
        seen[:] = function(inputs)
        return tuple(seen)

    _, result = folded(library, watched, [x.detach() for x in xs], modes, us, v)
    return [_unwrapped(o).detach() for o in seen], [r.detach() for r in result]


def _unwrapped(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor inside those that the transforms wrap around it."""
    while _wrappers.is_functorch_wrapped_tensor(tensor):
        tensor = _wrappers.get_unwrapped(tensor)
    return tensor
