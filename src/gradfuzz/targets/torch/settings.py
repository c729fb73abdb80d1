"""In the place of F: F under other settings (checkpoints, mixed precision, determinism, without writes in place, traced), and at inputs
that lie otherwise in memory. None of it changes F but by its rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch

from gradfuzz.targets.torch.compile import AROUND, KEPT, check, saying
from gradfuzz.targets.torch.derivatives import Function, Tensors, needed
from gradfuzz.targets.torch.layouts import check_follows, lay_out
from gradfuzz.targets.torch.transforms import functional

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

InPlaceOfF = Callable[["TorchPoint"], Function]


def checkpointed(point: TorchPoint) -> Function:
    """F is run again in the backward pass. Random numbers drawn in between must not change what it draws then."""
    from torch.utils.checkpoint import checkpoint

    def function(xs: Tensors) -> Any:
        point.reseed()
        outputs = checkpoint(lambda *inputs: tuple(point.seedless(inputs)), *xs, use_reentrant=False)
        if point.random:
            torch.rand(3)
        return list(outputs)

    return function


def autocast(point: TorchPoint) -> Function:
    """F as mixed precision runs it."""
    _all_single(point)
    return lambda xs: _as_usual(point, _autocast(point.function, True)(xs))


def autocast_off(point: TorchPoint) -> Function:
    """Mixed precision outside, and switched off inside: nothing may be left of it."""
    return _in_single(point, _autocast(_off(point), True))


def compiled_autocast_off(point: TorchPoint) -> Function:
    """The same where what is inside is compiled: its backward pass is traced ahead, while mixed precision is on outside."""
    check(point)
    inside = KEPT.function(point, ("autocast-off",), lambda: torch.compile(_off(point), backend=AROUND, fullgraph=True, dynamic=False))
    return _in_single(point, _autocast(lambda tensors: saying(inside, tensors), True))


def _off(point: TorchPoint) -> Function:
    return _autocast(lambda tensors: point.of_tensors(*tensors), False)


def _in_single(point: TorchPoint, function: Function) -> Function:
    """F, and what a function of all its tensors adds to it in single precision, for which mixed precision is: nothing."""
    try:
        with torch.no_grad():
            outputs = point.of_tensors(*map(_single, (*point.leaves, *point.others())))
    except RuntimeError as error:
        raise NotImplementedError(f"it does not run in single precision: {error}") from None
    if not all(bool(torch.isfinite(o).all()) for o in outputs):
        raise NotImplementedError("it leaves the range of single precision")

    def both(xs: Tensors) -> list[torch.Tensor]:
        tensors = [_single(t) for t in (*xs, *point.others())]
        added = [a - b for a, b in zip(function(tensors), point.of_tensors(*tensors))]
        return [o + a.to(o.dtype) for o, a in zip(point.function(xs), added)]

    return both


def _single(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype == torch.float64 else tensor


def _autocast(function: Function, enabled: bool) -> Function:
    def run(xs: Tensors) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            return function(xs)

    return run


def _all_single(point: TorchPoint) -> None:
    if any(x.dtype != torch.float32 for x in point.leaves):
        raise NotImplementedError("mixed precision is for float32")


def _as_usual(point: TorchPoint, outputs: Any) -> list[torch.Tensor]:
    """The outputs in the types that F has without autocast; its types are judged by their numbers."""
    return [o.to(d) for o, d in zip(outputs, point.output_dtypes)]


def laid_out(layout: str) -> InPlaceOfF:
    """F at inputs that lie otherwise in memory."""

    def make(point: TorchPoint) -> Function:
        if point.random:
            raise NotImplementedError("random numbers are drawn in the order of memory")
        check_follows(point.program)
        if all(lay_out(x, layout).stride() == x.stride() for x in point.leaves):
            raise NotImplementedError("the inputs lie in memory like that already")
        try:
            point.function([lay_out(x, layout) for x in point.leaves])
        except RuntimeError as error:  # a view, say, is only of some layouts
            raise NotImplementedError(f"the function itself does not take such a layout: {error}") from None
        return lambda xs: point.function([lay_out(x, layout) for x in xs])

    return make


def deterministic(point: TorchPoint) -> Function:
    """F with algorithms that give the same numbers each time, where the usual ones need not."""

    def function(xs: Tensors) -> Any:
        before = torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(True)
        try:
            return point.function(xs)
        finally:
            torch.use_deterministic_algorithms(before)

    return function


def packed(point: TorchPoint) -> Function:
    """What the backward pass needs is packed away as copies, and found again through hooks."""

    def function(xs: Tensors) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
            return point.function(xs)

    return function


def functionalized(point: TorchPoint) -> Function:
    """F without its writes in place."""
    if not any(call.func.endswith("_") for call in point.program.calls()):
        raise NotImplementedError("nothing is written in place")
    needed("functionalize")
    made = functional.functionalize(point.of_tensors)  # of all its tensors: what is captured cannot be written to
    return lambda xs: list(made(*xs, *point.others()))


def traced(point: TorchPoint) -> Function:
    """`torch.jit.trace`, run often enough that its executor has chosen what it optimises."""
    if point.random or point.modules:
        raise NotImplementedError("a trace keeps no seed, and takes no parameters from outside")
    example = tuple(x.detach() for x in point.leaves)
    # Outputs that hang on no input would become constants, which a tracer refuses.
    made = torch.jit.trace(lambda *xs: tuple(point.function(xs)), example, check_trace=False)

    def function(xs: Tensors) -> Any:
        for _ in range(2):
            made(*xs)
        answer = made(*xs)
        return list(answer) if isinstance(answer, tuple) else [answer]

    return function


FUNCTIONS: dict[str, InPlaceOfF] = {
    "checkpointed": checkpointed,
    "autocast": autocast,
    "autocast-off": autocast_off,
    "compiled-autocast-off": compiled_autocast_off,
    "channels-last": laid_out("channels_last"),
    "strided": laid_out("strided"),
    "deterministic": deterministic,
    "packed": packed,
    "functionalized": functionalized,
    "traced": traced,
}
