"""What happens beside F inside of one compiled function: a tensor that is written to once it was read, numbers that are drawn, a break.

None of it changes F's derivative. But a compiler chooses what its backward pass computes again, and what was written to or drawn is not
the same the second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.torch.compile import AROUND, BACKENDS, KEPT, check, saying
from gradfuzz.targets.torch.derivatives import Function, NestingUnsupported, NoGradient, Tensors, along

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

# The compiler's setting by which its backward pass keeps nothing that it can compute again.
BUDGET = "activation_memory_budget"
READ = 0.25


def written_later(point: TorchPoint) -> Function:
    """F times what was read from a tensor that is written to afterwards, divided by it outside."""
    check(point)

    def inside(read: torch.Tensor, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        factor = torch.exp(torch.sin(read))
        outputs = tuple(o * factor.reshape([1] * o.dim()) for o in point.of_tensors(*tensors))
        read.add_(1.0)
        return outputs

    compiled = KEPT.function(point, ("read",), lambda: torch.compile(inside, backend=AROUND, fullgraph=True, dynamic=False))
    read = torch.full((1,), READ, dtype=torch.float64)
    factor = torch.exp(torch.sin(read))

    def function(xs: Tensors) -> list[torch.Tensor]:
        found = saying(compiled, read.to(xs[0].real.dtype, copy=True), *xs, *point.others())
        return [o / factor.reshape([1] * o.dim()).to(o.real.dtype) for o in found]

    return function


def drawn(point: TorchPoint) -> Function:
    """F times numbers that are drawn inside, divided by them outside, where the backward pass keeps nothing that it can compute again."""
    check(point)
    import torch._functorch.config as config

    if not hasattr(config, BUDGET):
        raise NestingUnsupported("this release's compiler always chooses itself what to compute again")

    def inside(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(o * (0.5 + torch.rand_like(o.real)) for o in point.of_tensors(*tensors))

    backend = BACKENDS["decomposed"]
    compiled = KEPT.function(point, ("drawn",), lambda: torch.compile(inside, backend=backend, fullgraph=True, dynamic=False))

    def function(xs: Tensors) -> list[torch.Tensor]:
        plain = [o.detach() for o in point.function([x.detach() for x in xs])]
        if any((o == 0).any() for o in plain):
            raise NotImplementedError("where a number is zero nobody can tell by what it was multiplied")
        with config.patch({BUDGET: 0.0}):
            found = saying(compiled, *xs, *point.others())
        return [o / (o.detach() / p) for o, p in zip(found, plain)]

    return function


def broken_off(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
    """Reverse mode, where what is compiled breaks off between F and the gradient of its weighted outputs by themselves: their weights."""
    check(point)
    if modes != ("r",) or v is None:
        raise NotImplementedError("only reverse mode goes back over a break")

    def inside(xs: Any, weights: Any, others: Any) -> Any:
        outputs = point.given(others).function(xs)
        live = [(o, w) for o, w in zip(outputs, weights) if o.requires_grad]
        total = sum((o * w.conj()).real.sum() for o, w in live)
        torch._dynamo.graph_break()
        pulled = [o for o, _ in live]
        return pulled, torch.autograd.grad(total, pulled, retain_graph=True, allow_unused=True) if live else ()

    compiled = KEPT.function(point, ("broken off",), lambda: torch.compile(inside, backend=AROUND, dynamic=False))
    leaves = [x.detach().requires_grad_() for x in xs]
    with torch.enable_grad():
        outputs, weights = saying(compiled, leaves, point.native_like(v), point.others())
    if not outputs:
        raise NoGradient("no output depends on a differentiable input")
    given = [torch.zeros_like(o) if w is None else w for o, w in zip(outputs, weights)]
    grads = torch.autograd.grad(outputs, leaves, given, allow_unused=True)
    return Outcome([], [along(grads, us[0].arrays)], True)


FUNCTIONS = {"compiled-read": written_later, "compiled-drawn": drawn}
DERIVATIVES = {"compiled-broken": broken_off}
