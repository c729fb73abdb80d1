"""Recurrences of F: control flow that carries numbers from turn to turn, held against Python's own loop. It adds nothing to F.

What a turn closes over, what it carries and what it gives have derivatives that meet again in each turn before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

import torch

from gradfuzz.targets.torch.compile import AROUND, KEPT, check, saying
from gradfuzz.targets.torch.derivatives import Function, NestingUnsupported, Tensors

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

# How F's inputs are scaled from turn to turn: nearer and nearer to zero, where most functions are still inside their domain.
TURNS, LESS = 3, 0.25

Call = Callable[..., tuple[torch.Tensor, ...]]
# Takes F, a weight and F's inputs; gives what each turn carried (or the last one alone), an output each.
Loop = Callable[[Call, torch.Tensor, Tensors], Sequence[torch.Tensor]]


def _turn(call: Call, weight: torch.Tensor, given: Tensors, carried: Tensors, factor: Any) -> tuple[torch.Tensor, ...]:
    """One turn: F at inputs that are scaled, and what was carried, through a function whose output the backward pass needs."""
    outputs = call(*[x * factor if x.is_floating_point() or x.is_complex() else x for x in given])
    return tuple(torch.tanh(c * weight) + o for c, o in zip(carried, outputs))


def _apart(outputs: Tensors) -> tuple[torch.Tensor, ...]:
    """What is carried lies in memory like what it began with: without gaps."""
    return tuple(o.clone(memory_format=torch.contiguous_format) for o in outputs)


def by_hand(call: Call, weight: torch.Tensor, given: Tensors) -> list[list[torch.Tensor]]:
    """Python's own loop: what each turn carries."""
    carried: Tensors = [torch.zeros_like(o) for o in call(*given)]
    turns = []
    for turn in range(TURNS):
        carried = _turn(call, weight, given, carried, 1 - LESS * turn)
        turns.append(list(carried))
    return turns


def scanned(call: Call, weight: torch.Tensor, given: Tensors) -> Sequence[torch.Tensor]:
    """`scan`, closing over the weight and F's inputs; it carries zeros at first, which have no gradient."""
    from torch._higher_order_ops.scan import scan

    start = tuple(torch.zeros_like(o.detach()) for o in call(*given))

    def step(carried: Any, factor: Any) -> Any:
        after = _turn(call, weight, given, carried, factor)
        return after, tuple(c.clone() for c in after)

    factors = 1 - LESS * torch.arange(TURNS, dtype=given[0].real.dtype)
    found: Sequence[torch.Tensor] = scan(step, start, factors)[1]
    return found


def associated(call: Call, weight: torch.Tensor, given: Tensors) -> Sequence[torch.Tensor]:
    """`associative_scan` of maps c -> a c + b, of which the second part alone is wanted."""
    from torch._higher_order_ops.associative_scan import associative_scan

    factors = [1 - LESS * turn for turn in range(TURNS)]
    turns = [call(*[x * factor if x.is_floating_point() or x.is_complex() else x for x in given]) for factor in factors]
    found = []
    for outputs in zip(*turns):
        slopes = torch.stack([(weight * factor).to(outputs[0].dtype).expand(outputs[0].shape) for factor in factors])

        def composed(first: Any, then: Any) -> Any:
            return first[0] * then[0], then[1] + then[0] * first[1]

        found.append(associative_scan(composed, (slopes, torch.stack(outputs)), dim=0, combine_mode="generic")[1])
    return found


def associated_by_hand(call: Call, weight: torch.Tensor, given: Tensors) -> list[list[torch.Tensor]]:
    """The same by Python's own loop."""
    carried: Tensors = [torch.zeros_like(o) for o in call(*given)]
    turns = []
    for turn in range(TURNS):
        factor = 1 - LESS * turn
        outputs = call(*[x * factor if x.is_floating_point() or x.is_complex() else x for x in given])
        carried = [c * (weight * factor) + o for c, o in zip(carried, outputs)]
        turns.append(list(carried))
    return turns


def turned(call: Call, weight: torch.Tensor, given: Tensors) -> Sequence[torch.Tensor]:
    """`while_loop`, which gives what the last turn carried."""
    start = tuple(torch.zeros_like(o) for o in call(*given))

    def body(turn: torch.Tensor, *carried: torch.Tensor) -> Any:
        return turn + 1, *_turn(call, weight, given, carried, 1 - LESS * turn)

    found: Sequence[torch.Tensor] = torch.while_loop(lambda turn, *_: turn < TURNS, body, (torch.tensor(0), *start))[1:]
    return [c[None] for c in found]


def recurrent(loop: Loop, usual: Callable[..., list[list[torch.Tensor]]]) -> Any:
    """F, and what a compiled loop adds to Python's own: nothing."""

    def make(point: TorchPoint) -> Function:
        check(point)
        if point.mutates or not hasattr(torch, "while_loop"):
            raise NotImplementedError("it writes to what every turn needs") if point.mutates else NestingUnsupported("no loops of its own")
        count = len(point.leaves)

        def total(one: Loop, tensors: Tensors) -> list[torch.Tensor]:
            """Sums over all turns."""
            xs, others = list(tensors[:count]), tensors[count:]
            weight = torch.cos(xs[0].real.sum())
            turns = one(lambda *z: _apart(point.of_tensors(*z, *others)), weight, xs)
            return [turn.sum(0) for turn in turns]

        def python(call: Call, weight: torch.Tensor, given: Tensors) -> list[torch.Tensor]:
            turns = usual(call, weight, given)
            return [torch.stack(o) if loop is not turned else o[-1][None] for o in map(list, zip(*turns))]

        try:
            with torch.no_grad():
                plain = total(python, [*point.leaves, *point.others()])
        except Exception as error:
            raise NotImplementedError(f"it does not take what is nearer to zero: {type(error).__name__}") from None
        if not all(bool(torch.isfinite(o).all()) for o in plain):
            raise NotImplementedError("it is not defined nearer to zero")

        def inside(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(total(loop, tensors))

        what = ("recurrent", loop.__name__)
        compiled = KEPT.function(point, what, lambda: torch.compile(inside, backend=AROUND, fullgraph=True, dynamic=False))

        def both(xs: Tensors) -> list[torch.Tensor]:
            tensors = [*xs, *point.others()]
            return [o + (b - a) for o, a, b in zip(point.function(xs), total(python, tensors), saying(compiled, *tensors))]

        return both

    return make


FUNCTIONS = {
    "compiled-recurrent": recurrent(scanned, by_hand),
    "compiled-associated": recurrent(associated, associated_by_hand),
    "compiled-turned": recurrent(turned, by_hand),
}
