"""Control flow around F, compiled: a branch, a step of a scan, what a scan carries, the first turn of a map. None of them changes F."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

import torch

from gradfuzz.targets.torch.compile import AROUND, KEPT, check, saying
from gradfuzz.targets.torch.derivatives import Function, NestingUnsupported

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

# How the other member of a sequence differs from the point: nearer to zero, where most functions are still inside their domain.
NEIGHBOUR = 0.75

Tensors = Sequence[torch.Tensor]
Call = Callable[..., tuple[torch.Tensor, ...]]
Place = Callable[[Call, Tensors], Tensors]


def branched(call: Call, given: Tensors) -> Tensors:
    """A branch of `torch.cond` that is chosen when it runs, whatever the numbers are."""
    total = given[0].sum()
    low = (total.real if total.is_complex() else total) < 1
    return torch.cond(low | ~low, call, lambda *z: tuple(-o for o in call(*z)), tuple(given))  # type: ignore[no-any-return]


def scanned(call: Call, given: Tensors) -> Tensors:
    """A step of `scan`, the first of two."""
    from torch._higher_order_ops.scan import scan

    start = torch.zeros((), dtype=given[0].dtype)
    return _first(scan(lambda carry, z: (carry + 1, call(*z)), start, tuple(map(paired, given)))[1])


def carried(call: Call, given: Tensors) -> Tensors:
    """The only step of `scan`, whose carry is what F gives: recurrences save what they give for their backward pass."""
    from torch._higher_order_ops.scan import scan

    def step(carry: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        (output,) = call(carry, *given[1:])
        return output, output.clone()

    return [scan(step, given[0], torch.zeros(1, 1, dtype=given[0].dtype))[1][0]]


def mapped(call: Call, given: Tensors) -> Tensors:
    """The first turn of `map`."""
    from torch._higher_order_ops.map import map as mapping

    return _first(mapping(lambda z: call(*z), tuple(paired(t) for t in given)))


def regional(call: Call, given: Tensors) -> Tensors:
    """The mean of two calls of a region that is compiled once (`nested_compile_region`): the second makes use of the first."""
    return [(a + b) / 2 for a, b in zip(call(*given), call(*given))]


def paired(tensor: torch.Tensor, axis: int = 0) -> torch.Tensor:
    """The tensor and a neighbour that is a constant. Whole numbers, which may be indices, have none."""
    floats = tensor.is_floating_point() or tensor.is_complex()
    return torch.stack([tensor, (tensor * NEIGHBOUR).to(tensor.dtype).detach() if floats else tensor], axis)


def _first(outputs: Tensors) -> Tensors:
    return [o[0] for o in outputs]


def compiled_in(place: Place, backend: str = AROUND) -> Callable[[TorchPoint], Function]:
    """F in its place, both in one compiled function."""

    def make(point: TorchPoint) -> Function:
        check(point)
        if not hasattr(torch, "cond"):
            raise NestingUnsupported("this release has no control flow of its own")
        if place is carried:
            _check_carried(point)

        def fresh(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(o.clone() for o in point.of_tensors(*given))  # control flow may give no views of what it is given

        call: Call = point.of_tensors if place is carried else fresh
        if place is regional:
            if not hasattr(torch.compiler, "nested_compile_region"):
                raise NestingUnsupported("this release has no regions that are compiled once")
            call = torch.compiler.nested_compile_region(fresh)

        def inside(*given: torch.Tensor) -> Any:
            return tuple(place(call, given))

        function = KEPT.function(
            point, (place.__name__, backend), lambda: torch.compile(inside, backend=backend, fullgraph=True, dynamic=False)
        )  # fmt: skip
        return lambda xs: list(saying(function, *xs, *point.others()))

    return make


def _check_carried(point: TorchPoint) -> None:
    """NotImplementedError where what F gives is no carry: it is like the first input, and memory of its own."""
    x = point.leaves[0]
    with torch.no_grad():
        outputs = point.of_tensors(*point.leaves, *point.others())
    if len(outputs) != 1 or outputs[0].shape != x.shape or outputs[0].dtype != x.dtype or outputs[0].stride() != x.stride():
        raise NotImplementedError("what it gives is not like its first input")
    if outputs[0].untyped_storage().data_ptr() in {t.untyped_storage().data_ptr() for t in (*point.leaves, *point.others())}:
        raise NotImplementedError("control flow may give no views of what it is given")


FUNCTIONS = {f"compiled-{place.__name__}": compiled_in(place) for place in (branched, scanned, carried, mapped)}
FUNCTIONS["compiled-region"] = compiled_in(regional)
FUNCTIONS["carried-inductor"] = compiled_in(carried, "inductor")
