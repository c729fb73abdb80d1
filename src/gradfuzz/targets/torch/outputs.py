"""What becomes of F's outputs inside of one compiled function: aliases of them and twins that are cut off, inputs that are written to and
given back, a backward pass for each, comparisons. None of it changes F's derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

import torch

from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.torch.compile import AROUND, KEPT, check, saying
from gradfuzz.targets.torch.derivatives import Function, NoGradient, Tensors, along
from gradfuzz.targets.torch.layouts import check_follows
from gradfuzz.targets.torch.tensors import to_numpy

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

# By what an input is multiplied in place, and divided again: nothing is rounded.
HALF = 0.5
# The part of a mean that numbers are compared with: those that are alike are above it, whatever rounding does to their mean.
PART = 0.7320508
# Two outputs that are no further apart than this, beside the largest, may change places where they are rounded otherwise.
APART = 1e-4

Inside = Callable[..., tuple[torch.Tensor, ...]]
# Takes F of all its tensors; gives what is compiled, and what makes F's outputs again of what that gives.
Form = Callable[[Inside], tuple[Inside, Callable[[Tensors], list[torch.Tensor]]]]


def _nothing(tensor: torch.Tensor) -> torch.Tensor:
    """Zeros, with the gradient of the tensor: nothing where it has none, as it should."""
    return torch.where(tensor.detach() == tensor.detach(), tensor - tensor.detach(), torch.zeros_like(tensor))


def aliased(function: Inside) -> tuple[Inside, Callable[[Tensors], list[torch.Tensor]]]:
    """Each output, an alias of it that is differentiated too, its detached twin, and what nobody uses."""

    def inside(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs = [o * 1.0 for o in function(*tensors)]  # an output may be an input, or another output
        return tuple(t for o in outputs for t in (o, o.reshape(-1), o.detach(), o + o))

    def outside(found: Tensors) -> list[torch.Tensor]:
        fours = [found[i : i + 4] for i in range(0, len(found), 4)]
        return [o / 2 + a.reshape(o.shape) / 2 + _nothing(twin) for o, a, twin, _ in fours]

    return inside, outside


def unrecorded(function: Inside) -> tuple[Inside, Callable[[Tensors], list[torch.Tensor]]]:
    """Each output, and a view of it that was made while nothing was recorded."""

    def inside(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs = [o * 1.0 for o in function(*tensors)]
        with torch.no_grad():
            views = [o.view(-1) for o in outputs]
        return *(o * 1.0 for o in outputs), *views

    return inside, lambda found: list(found[: len(found) // 2])


def compared(function: Inside) -> tuple[Inside, Callable[[Tensors], list[torch.Tensor]]]:
    """Each output; what is above a part of its mean, chosen by a comparison and by a mask, less the same by `relu`."""

    def inside(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(map(_chosen, function(*tensors)))

    return inside, list


def _chosen(output: torch.Tensor) -> torch.Tensor:
    size = output.real
    least = PART * size.mean(tuple(range(size.dim()))[-1:], keepdim=True)
    more, above = size - least, size > least
    nothing = torch.where(above, more, torch.zeros_like(more)) - torch.relu(more)
    return output + (nothing + (more * above - torch.relu(more))).to(output.dtype)


def formed(form: Form, backend: str = AROUND) -> Callable[[TorchPoint], Function]:
    """F's outputs, made again of what one compiled function gives."""

    def make(point: TorchPoint) -> Function:
        check(point)
        inside, outside = form(point.of_tensors)
        function = KEPT.function(
            point, (form.__name__, backend), lambda: torch.compile(inside, backend=backend, fullgraph=True, dynamic=False)
        )  # fmt: skip
        return lambda xs: outside(saying(function, *xs, *point.others()))

    return make


def extremes(point: TorchPoint) -> Function:
    """F, and what generated code adds to the greatest and the least of its outputs: nothing.

    Which they are is found again in the backward pass, among numbers that may be computed again.
    """
    check(point)

    def inside(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(t for o in point.of_tensors(*tensors) for t in (o.amax(-1), o.amin(-1)))

    with torch.no_grad():
        for output in point.function(point.leaves):
            if output.is_complex() or not output.dim() or output.shape[-1] < 2 or not output.numel():
                raise NotImplementedError("there is no greatest of several")
            ordered, apart = output.sort(-1).values, APART * output.abs().max()
            if not bool(((ordered[..., 1] - ordered[..., 0] > apart) & (ordered[..., -1] - ordered[..., -2] > apart)).all()):
                raise NotImplementedError("another rounding has another greatest")
    function = KEPT.function(point, ("extremes",), lambda: torch.compile(inside, backend="inductor", fullgraph=True, dynamic=False))

    def both(xs: Tensors) -> list[torch.Tensor]:
        usual, found = inside(*xs, *point.others()), saying(function, *xs, *point.others())
        added = [b - a for a, b in zip(usual, found)]
        more = [a.sum() - a.detach().sum() for a in added]  # other roundings are no difference
        return [o + a + b for o, a, b in zip(point.function(xs), more[::2], more[1::2])]

    return both


def given_back(point: TorchPoint) -> Function:
    """F of its first input, which was written to before and is given back with the outputs."""
    check(point)
    check_follows(point.program)
    if point.mutates:
        raise NotImplementedError("it writes to its inputs itself")

    def inside(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        before = tensors[0].detach()
        tensors[0].mul_(HALF)
        outputs = tuple(o * 1.0 for o in point.of_tensors(tensors[0] / HALF, *tensors[1:]))
        return *outputs, tensors[0], before

    compiled = KEPT.function(point, ("given back",), lambda: torch.compile(inside, backend=AROUND, fullgraph=True, dynamic=False))

    def function(xs: Tensors) -> list[torch.Tensor]:
        *outputs, written, _ = saying(compiled, xs[0].clone(), *xs[1:], *point.others())
        more = written - HALF * xs[0]  # which is nothing, and so is its gradient
        total = torch.view_as_real(more).sum() if more.is_complex() else more.sum()
        return [o + total.to(o.real.dtype) for o in outputs]

    return function


def one_by_one(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
    """Reverse mode of two copies of F in one compiled function, each with a backward pass of its own, which keeps nothing for another."""
    check(point)
    if modes != ("r",) or v is None:
        raise NotImplementedError("only reverse mode has a pass of its own")

    def inside(*tensors: torch.Tensor) -> tuple[Any, Any]:
        return point.of_tensors(*tensors), point.of_tensors(*[t * 1.0 if t.is_floating_point() or t.is_complex() else t for t in tensors])

    compiled = KEPT.function(point, ("one by one",), lambda: torch.compile(inside, backend=AROUND, fullgraph=True, dynamic=False))
    leaves = [x.detach().requires_grad_() for x in xs]
    with torch.enable_grad():
        copies = saying(compiled, *leaves, *point.others())
    total: list[torch.Tensor] = [torch.zeros_like(x) for x in leaves]
    for outputs in copies:
        live = [(o, w.to(o.dtype)) for o, w in zip(outputs, point.native_like(v)) if o.requires_grad]
        if not live:
            raise NoGradient("no output depends on a differentiable input")
        found = torch.autograd.grad([o for o, _ in live], leaves, [w for _, w in live], allow_unused=True)
        total = [t if g is None else t + g / 2 for t, g in zip(total, found)]
    return Outcome([to_numpy(o.detach()) for o in copies[0]], [along(total, us[0].arrays)], True)


FUNCTIONS = {
    "compiled-outputs": formed(aliased), "compiled-unrecorded": formed(unrecorded), "compiled-compared": formed(compared),
    "compiled-given-back": given_back, "extremes-inductor": extremes,
}  # fmt: skip
DERIVATIVES = {"compiled-one-by-one": one_by_one}
