"""Control flow around F, compiled: a branch, a step of a scan, the first turn of a map, the only turn of a loop. None of them changes F."""

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


def mapped(call: Call, given: Tensors) -> Tensors:
    """The first turn of `map`."""
    from torch._higher_order_ops.map import map as mapping

    return _first(mapping(lambda z: call(*z), tuple(paired(t) for t in given)))


def paired(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor and a neighbour that is a constant. Whole numbers, which may be indices, have none."""
    floats = tensor.is_floating_point() or tensor.is_complex()
    return torch.stack([tensor, (tensor * NEIGHBOUR).to(tensor.dtype).detach() if floats else tensor])


def _first(outputs: Tensors) -> Tensors:
    return [o[0] for o in outputs]


def compiled_in(place: Place) -> Callable[[TorchPoint], Function]:
    """F in its place, both in one compiled function."""

    def make(point: TorchPoint) -> Function:
        check(point)
        if not hasattr(torch, "cond"):
            raise NestingUnsupported("this release has no control flow of its own")

        def fresh(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(o.clone() for o in point.of_tensors(*given))  # control flow may give no views of what it is given

        def inside(*given: torch.Tensor) -> Any:
            return tuple(place(fresh, given))

        function = KEPT.function(
            point, (place.__name__,), lambda: torch.compile(inside, backend=AROUND, fullgraph=True, dynamic=False)
        )  # fmt: skip
        return lambda xs: list(saying(function, *xs, *point.others()))

    return make


FUNCTIONS = {f"compiled-{place.__name__}": compiled_in(place) for place in (branched, scanned, mapped)}
