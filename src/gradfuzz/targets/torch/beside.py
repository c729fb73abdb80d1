"""What stands beside F, or between F and its weights: sums, parts of outputs, views that are written to, a gradient inside.

None of it changes F's derivative. Weights lie in memory otherwise than those that are drawn: behind a sum one number is that of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

import torch

from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.torch.compile import AROUND, KEPT, check, compiled_function, saying
from gradfuzz.targets.torch.derivatives import Function, NestingUnsupported, NoGradient, Tensors, along
from gradfuzz.targets.torch.layouts import lay_out
from gradfuzz.targets.torch.tensors import to_numpy
from gradfuzz.targets.torch.transforms import functional

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

# By what a view is multiplied in place: nearer to zero, where most functions are still inside their domain.
NEARER = 0.75
# The compiler's setting by which it compiles gradients inside of what it is given.
TRACED = "trace_autograd_ops"


# Weights ---------------------------------------------------------------------------------------------------------------------


def weights_elsewhere(place: Callable[[TorchPoint], Function] = lambda point: point.function) -> Any:
    """Reverse mode with weights that lie otherwise in memory; and what it changes that weights which are alike are one number: nothing."""

    def way(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
        if modes != ("r",) or v is None:
            raise NotImplementedError("only reverse mode has weights")
        leaves = [x.detach().requires_grad_() for x in xs]
        with torch.enable_grad():
            outputs = list(place(point)(leaves))
        live = [(o, w.to(o.dtype)) for o, w in zip(outputs, point.native_like(v)) if o.requires_grad]
        if not live:
            raise NoGradient("no output depends on a differentiable input")
        if all(o.numel() < 2 for o, _ in live):
            raise NotImplementedError("a single weight lies in memory in one way only")
        pulled = [o for o, _ in live]

        def pull(weights: Tensors) -> list[torch.Tensor]:
            found = torch.autograd.grad(pulled, leaves, weights, retain_graph=True, allow_unused=True)
            return [torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves)]

        apart = pull([lay_out(w.detach(), "strided") for _, w in live])
        turned = pull([lay_out(w.detach(), "channels_last") for _, w in live]) if any(o.dim() > 1 for o in pulled) else apart
        first = [w.detach().reshape(-1)[:1].sum() for _, w in live]  # one of the weights: the whole stays linear in them
        one = pull([w.expand(o.shape) for o, w in zip(pulled, first)])
        many = pull([w.expand(o.shape).contiguous() for o, w in zip(pulled, first)])
        grads = [a + _more(n, m) + _more(t, a) for a, n, m, t in zip(apart, one, many, turned)]
        return Outcome([to_numpy(o.detach()) for o in outputs], [along(grads, us[0].arrays)], True)

    return way


def _more(found: torch.Tensor, usual: torch.Tensor) -> torch.Tensor:
    """By how much the one is more than the other, where they are not the same infinity or both no number."""
    same = (found == usual) | (found.isnan() & usual.isnan())
    return torch.where(same, torch.zeros_like(found), found - usual)


def _beyond_rounding(apart: torch.Tensor, terms: torch.Tensor) -> torch.Tensor:
    """What two sums of the same terms are apart: as a number nothing where another order of adding explains it, with its derivative."""
    number = apart.detach()
    explained = terms.numel() * torch.finfo(terms.dtype).eps * terms.detach().abs().sum()
    return apart - torch.where(number.abs() <= explained, number, torch.zeros_like(number))


def summed(backend: str) -> Callable[[TorchPoint], Function]:
    """F, and what compiling adds to the sum of each output: nothing."""

    def make(point: TorchPoint) -> Function:
        check(point)
        with torch.no_grad():
            if all(o.numel() < 2 for o in point.function(point.leaves)):
                raise NotImplementedError("there is nothing to sum")

        def sums(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(o.sum() for o in point.of_tensors(*tensors))

        compiled = KEPT.function(point, ("summed", backend), lambda: torch.compile(sums, backend=backend, fullgraph=True, dynamic=False))

        def both(xs: Tensors) -> list[torch.Tensor]:
            usual, found = sums(*xs, *point.others()), saying(compiled, *xs, *point.others())
            return [o + _beyond_rounding(b - a, o) for o, a, b in zip(point.function(xs), usual, found)]

        return both

    return make


# Outputs ---------------------------------------------------------------------------------------------------------------------


def parted(backend: str) -> Callable[[TorchPoint], Function]:
    """Compiled F, whose outputs are returned in two parts each, with a twin that is detached."""

    def make(point: TorchPoint) -> Function:
        check(point)
        with torch.no_grad():
            if not all(o.dim() and len(o) > 1 for o in point.function(point.leaves)):
                raise NotImplementedError("there are no two parts")

        def parts(*tensors: torch.Tensor) -> list[torch.Tensor]:
            return [part for o in point.of_tensors(*tensors) for part in (o[: len(o) // 2], o[len(o) // 2 :], o.detach())]

        compiled = KEPT.function(point, ("parted", backend), lambda: torch.compile(parts, backend=backend, fullgraph=True, dynamic=False))

        def whole(xs: Tensors) -> list[torch.Tensor]:
            found = saying(compiled, *xs, *point.others())
            return [torch.cat(found[i : i + 2]) for i in range(0, len(found), 3)]

        return whole

    return make


# Views -----------------------------------------------------------------------------------------------------------------------


def written(point: TorchPoint) -> Function:
    """F of what it is a view of, and what it adds to that to write to the view: nothing but a factor, which is known."""
    return _written(point, lambda through: through)


def written_functionalized(point: TorchPoint) -> Function:
    """The same without its writes in place: what a compiler does to them first."""
    if functional is None or not hasattr(functional, "functionalize"):
        raise NestingUnsupported("this release has no torch.func.functionalize")
    others = point.others()  # nothing is written to these: the function may capture them, as people's do

    def made(through: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        without: Callable[..., torch.Tensor] = functional.functionalize(lambda *xs: through(*xs, *others))
        return lambda *tensors: without(*tensors[: len(point.leaves)])

    return _written(point, made)


def written_compiled(point: TorchPoint) -> Function:
    """The same in a compiled function."""
    check(point)

    def make(through: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        return KEPT.function(point, ("written",), lambda: torch.compile(through, backend=AROUND, fullgraph=True, dynamic=False))

    return _written(point, lambda through: lambda *tensors: saying(make(through), *tensors))


def _written(point: TorchPoint, made: Callable[[Callable[..., torch.Tensor]], Callable[..., torch.Tensor]]) -> Function:
    def through(*tensors: torch.Tensor) -> torch.Tensor:
        base = tensors[0].clone()
        for view in point.of_tensors(base, *tensors[1:]):
            view.mul_(NEARER)
        return base

    _check_view(point)
    try:  # on the tape: views that may not be written to are refused there
        with torch.enable_grad():
            factors = through(torch.ones_like(point.leaves[0]).requires_grad_(), *point.leaves[1:], *point.others()).detach()
    except RuntimeError as error:
        raise NotImplementedError(f"the view is not written to: {error}") from None
    function = made(through)

    def both(xs: Tensors) -> list[torch.Tensor]:
        more = function(*xs, *point.others()) - xs[0] * factors
        total = torch.view_as_real(more.resolve_conj()).sum() if more.is_complex() else more.sum()
        return [o + total.to(o.real.dtype) for o in point.function(xs)]

    return both


def _check_view(point: TorchPoint) -> None:
    """NotImplementedError where F is no view of its first input, or one with elements that share their memory."""
    if point.mutates or point.modules:
        raise NotImplementedError("it is no view")
    with torch.no_grad():
        base = point.leaves[0].clone()
        views = point.of_tensors(base, *point.leaves[1:], *point.others())
    if any(view.dtype != base.dtype for view in views):
        raise NotImplementedError("it is a part of each number, which no factor of the number scales")
    for view in views:
        if view.untyped_storage().data_ptr() != base.untyped_storage().data_ptr() or not view.numel():
            raise NotImplementedError("it is no view of its first input")
        if view is not base and not view._is_view():
            raise NotImplementedError("it shares memory and does not say so, as unsafe functions promise: writes are not followed")
        room = torch.arange(view.untyped_storage().nbytes() // view.element_size())
        if room.as_strided(view.shape, view.stride(), view.storage_offset()).unique().numel() != view.numel():
            raise NotImplementedError("elements share their memory")


# A gradient inside -----------------------------------------------------------------------------------------------------------


def gradient_inside(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
    """The gradient of the gradient, the inner one in a compiled function: what a penalty on gradients needs."""
    check(point)
    if not hasattr(torch._dynamo.config, TRACED):
        raise NestingUnsupported("this release compiles no gradients by torch.autograd.grad")
    if modes != ("r", "r") or v is None:
        raise NotImplementedError("it is a gradient of a gradient")

    def inside(xs: Any, weights: Any, others: Any) -> Any:
        outputs = point.given(others).function(xs)
        live = [(o, w) for o, w in zip(outputs, weights) if o.requires_grad]
        return torch.autograd.grad([o for o, _ in live], xs, [w for _, w in live], create_graph=True, allow_unused=True)

    compiled = KEPT.function(point, ("gradient",), lambda: torch.compile(inside, backend=AROUND, fullgraph=True, dynamic=False))
    leaves = [x.detach().requires_grad_() for x in xs]
    with torch.enable_grad():
        with torch._dynamo.config.patch({TRACED: True}):
            first = saying(compiled, leaves, point.native_like(v), point.others())
        terms = [(g * u.conj()).real.sum() for g, u in zip(first, point.native(us[0])) if g is not None and g.requires_grad]
        if not terms:
            return Outcome([], [to_numpy(torch.zeros(()))], True)
        second = torch.autograd.grad(sum(terms[1:], terms[0]), leaves, allow_unused=True)
    return Outcome([], [along(second, us[1].arrays)], True)


# An eye upon the backward pass --------------------------------------------------------------------------------------------------


def watched(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
    """The derivative of F on the tape while its backward pass is watched, as people do who look for a NaN; none is looked for."""
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        return point.in_tape(point.function, xs, modes, us, v)


FUNCTIONS = {
    "written": written, "written-functionalized": written_functionalized, "compiled-written": written_compiled,
    "summed-inductor": summed("inductor"), "parted-inductor": parted("inductor"),
}  # fmt: skip
DERIVATIVES = {
    "weights": weights_elsewhere(), "compiled-weights": weights_elsewhere(compiled_function),
    "weights-inductor": weights_elsewhere(lambda point: compiled_function(point, "inductor")),
    "compiled-gradient": gradient_inside, "anomaly": watched,
}  # fmt: skip
