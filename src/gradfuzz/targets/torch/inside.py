"""What happens beside F inside of one compiled function: a tensor that is written to once it was read, numbers that are drawn, a break,
what is cut off from the tape, checkpoints.

None of it changes F's derivative. But a compiler chooses what its backward pass computes again, and what was written to or drawn is not
the same the second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.torch.compile import AROUND, BACKENDS, KEPT, check, compiled_function, saying
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


def cut_off(point: TorchPoint) -> Function:
    """F, and once more without a gradient: what is computed where nothing is recorded, less what is cut off in place."""
    check(point)

    def inside(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        with torch.no_grad():
            unrecorded = [o.clone() for o in point.of_tensors(*tensors)]  # an output may be an input, which has a gradient
        cut = [o.clone().detach_() for o in point.of_tensors(*tensors)]
        return tuple(o + (u - c) for o, u, c in zip(point.of_tensors(*tensors), unrecorded, cut))

    compiled = KEPT.function(point, ("cut off",), lambda: torch.compile(inside, backend=AROUND, dynamic=False))
    return lambda xs: list(saying(compiled, *xs, *point.others()))


def checkpointed_inside(point: TorchPoint) -> Function:
    """A compiled function that checkpoints F: what the compiler's backward pass computes again is what it is told to."""
    check(point)
    from torch.utils.checkpoint import checkpoint

    def inside(*tensors: torch.Tensor) -> Any:
        return checkpoint(point.of_tensors, *tensors, use_reentrant=False)

    backend = BACKENDS["decomposed"]
    compiled = KEPT.function(point, ("checkpointed",), lambda: torch.compile(inside, backend=backend, fullgraph=True, dynamic=False))
    return lambda xs: list(saying(compiled, *xs, *point.others()))


def checkpointed_outside(point: TorchPoint) -> Function:
    """A checkpoint of compiled F, in which what the backward pass needs is packed away, too."""
    from torch.utils.checkpoint import checkpoint

    function = compiled_function(point)

    def outside(xs: Tensors) -> list[torch.Tensor]:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
            return list(checkpoint(lambda *given: tuple(function(given)), *xs, use_reentrant=False))

    return outside


def packed(point: TorchPoint) -> Function:
    """Compiled F, where what its backward pass needs is packed away as copies."""
    function = compiled_function(point)

    def hooked(xs: Tensors) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
            return function(xs)

    return hooked


def compiled_backward(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
    """F as it is, and its backward pass compiled (`compiled_autograd`)."""
    check(point)
    if modes != ("r",):
        raise NotImplementedError("only reverse mode has a pass of its own to compile")
    import torch._dynamo.compiled_autograd as compiled_autograd

    compiler = KEPT.function(point, ("backward",), lambda: torch.compile(backend=AROUND, fullgraph=True, dynamic=False))
    enable: Any = getattr(compiled_autograd, "_enable", None) or compiled_autograd.enable
    with enable(compiler):
        return saying(point.in_tape, point.function, xs, modes, us, v)  # type: ignore[no-any-return]


FUNCTIONS = {
    "compiled-read": written_later, "compiled-drawn": drawn, "compiled-cut-off": cut_off, "compiled-checkpointed": checkpointed_inside,
    "compiled-rerun": checkpointed_outside, "compiled-packed": packed,
}  # fmt: skip
DERIVATIVES = {"compiled-broken": broken_off, "compiled-backward": compiled_backward}
