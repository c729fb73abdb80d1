"""Derivatives of order two and up: reverse and forward mode nested in any order.

Each mode turns a function g of the inputs into another: forward mode along u gives g's tangent; reverse mode gives the
number ⟨∇⟨w, g⟩, u⟩, where w contracts what g returns. So a nesting of any depth is a fold over its modes.
Two engines can do it: the tape with dual numbers (which nests one forward level), and `torch.func` (any nesting).
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Callable

import torch
import torch.autograd.forward_ad as fwd


def _transforms() -> Any:
    """torch.func (2.0), or the functorch it was before, or nothing."""
    for name in ("torch.func", "functorch"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


functional = _transforms()

Tensors = Sequence[torch.Tensor]
Function = Callable[[Tensors], Any]


class NestingUnsupported(NotImplementedError):
    """This PyTorch cannot nest these modes."""


def derivative(
    function: Function, xs: Tensors, modes: tuple[str, ...], us: Sequence[Tensors], v: Tensors
) -> tuple[list[torch.Tensor], list[torch.Tensor], bool]:
    """(F's outputs, the derivative, whether it is contracted with v already)."""
    outputs, result = _engine(modes)(function, xs, modes, us, v)
    return outputs, result, "r" in modes


def _engine(modes: tuple[str, ...]) -> Callable[..., tuple[list[torch.Tensor], list[torch.Tensor]]]:
    """The tape where it suffices: it is what most people run. Reverse mode over forward mode is promised by torch.func alone."""
    reverse_over_forward = "f" in modes and "r" in modes[modes.index("f") :]
    if modes.count("f") <= 1 and not (reverse_over_forward and functional is not None):
        return _with_tape
    return _with_transforms


def inner(a: Tensors, b: Tensors) -> torch.Tensor:
    """Re⟨a, b⟩ as a differentiable number."""
    total: Any = 0.0
    for x, y in zip(a, b):
        if x.is_complex() or y.is_complex():
            total = total + torch.real(x.conj() * y).sum()
        else:
            total = total + (x * y).sum()
    return total if isinstance(total, torch.Tensor) else torch.zeros((), dtype=torch.float64)


def _with_tape(
    function: Function, xs: Tensors, modes: tuple[str, ...], us: Sequence[Tensors], v: Tensors
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The tape differentiates through everything; a forward mode is one level of dual numbers on the inputs.

    The tape is recorded on the dual inputs, so the forward mode's place in the nesting only decides when its tangent is read:
    right after F (reverse-over-forward) or after some gradients (forward-over-reverse).
    """
    leaves = [x.detach().requires_grad_() for x in xs]
    if "f" not in modes:
        with torch.enable_grad():
            outputs = function(leaves)
            return outputs, _fold(outputs, leaves, modes, us, v)
    with fwd.dual_level(), torch.enable_grad():
        duals = [fwd.make_dual(x, d) for x, d in zip(leaves, us[modes.index("f")])]
        outputs = function(duals)
        result = _fold(outputs, duals, modes, us, v)
        # A result read after the tangent still carries one of its own; only its primal is meant.
        return [fwd.unpack_dual(o)[0].detach() for o in outputs], [fwd.unpack_dual(r)[0].detach() for r in result]


def _fold(outputs: Any, leaves: Tensors, modes: tuple[str, ...], us: Sequence[Tensors], v: Tensors) -> list[torch.Tensor]:
    current, weights = list(outputs), list(v)
    for mode, u in zip(modes, us):
        if mode == "f":
            current = [_tangent(t) for t in current]
        else:
            current, weights = [_directional(current, weights, leaves, u)], [torch.ones((), dtype=torch.float64)]
    return current


def _tangent(tensor: torch.Tensor) -> torch.Tensor:
    primal, tangent = fwd.unpack_dual(tensor)
    return torch.zeros_like(primal) if tangent is None else tangent


def _directional(current: Tensors, weights: Tensors, leaves: Tensors, u: Tensors) -> torch.Tensor:
    """⟨∇⟨w, g⟩, u⟩ on the tape."""
    live = [(t, w) for t, w in zip(current, weights) if t.requires_grad]
    if not live:
        return torch.zeros((), dtype=torch.float64)
    grads = torch.autograd.grad([t for t, _ in live], leaves, [w.to(t.dtype) for t, w in live], allow_unused=True, create_graph=True)
    connected = [(g, d) for g, d in zip(grads, u) if g is not None]
    return inner([g for g, _ in connected], [d for _, d in connected])


def _with_transforms(
    function: Function, xs: Tensors, modes: tuple[str, ...], us: Sequence[Tensors], v: Tensors
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    if functional is None:
        raise NestingUnsupported("nested forward mode needs torch.func (PyTorch 2.0) or functorch")
    seen: list[Any] = []

    def outermost(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(function(inputs))

    current: Callable[..., tuple[torch.Tensor, ...]] = outermost
    weights = tuple(v)
    for mode, u in zip(modes, us):
        if mode == "f":
            current = _pushed(current, tuple(u))
        else:
            current, weights = _pulled(current, tuple(u), weights), (torch.ones((), dtype=torch.float64),)
    with torch.no_grad():
        seen = function(xs)
    result = current(*[x.detach() for x in xs])
    return [o.detach() for o in seen], [r.detach() for r in result]


def _pushed(g: Callable[..., Any], u: tuple[torch.Tensor, ...]) -> Callable[..., Any]:
    def tangent(*inputs: torch.Tensor) -> Any:
        return functional.jvp(g, inputs, u)[1]

    return tangent


def _pulled(g: Callable[..., Any], u: tuple[torch.Tensor, ...], w: tuple[torch.Tensor, ...]) -> Callable[..., Any]:
    def directional(*inputs: torch.Tensor) -> Any:
        outputs, pull = functional.vjp(g, *inputs)
        return (inner(pull(tuple(c.to(o.dtype) for c, o in zip(w, outputs))), u),)

    return directional
