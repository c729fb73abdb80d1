"""The same call again: what an earlier call has left behind, or what happens between a call and its backward pass, must not show.

Each protocol is a way: something is done before or in between, and the derivative must be what it is without it, or PyTorch must say
that it cannot be had any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

import torch

from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.torch.compile import AROUND, KEPT, check, compiled_function, saying
from gradfuzz.targets.torch.derivatives import Function, NoGradient, Tensors, along, needed
from gradfuzz.targets.torch.layouts import check_follows
from gradfuzz.targets.torch.tensors import to_numpy
from gradfuzz.targets.torch.transforms import functional

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

# What overwrites a tensor: other numbers throughout, zeros included.
FACTOR, SHIFT = -1.25, 1.0
# By what a hook multiplies gradients: a number that no mistake makes by itself.
HOOK = 3.0
# By what an input is multiplied before the call: nearer to zero, where most functions are still inside their domain.
NEARER = 0.75
# The other row of a Jacobian, in weights of the first.
ROW = 0.75
# Other shapes are looked for among this many; each costs a plain run.
MOST_SHAPES = 4
# By these words PyTorch says that a backward pass cannot be had any more.
_OVERWRITTEN = ("modified by an inplace operation", "has been modified inplace")


# Between a call and its backward pass ----------------------------------------------------------------------------------------


@dataclass
class Tape:
    """A call of F on the tape, before its backward pass. `given` are copies of the leaves: they may be written to."""

    leaves: list[torch.Tensor]
    given: list[torch.Tensor]
    outputs: list[torch.Tensor]
    weights: list[torch.Tensor]

    def pull(self) -> Sequence[torch.Tensor | None]:
        live = [(o, w) for o, w in zip(self.outputs, self.weights) if o.requires_grad]
        if not live:
            raise NoGradient("no output depends on a differentiable input")
        outputs, weights = zip(*live)
        grads: Sequence[torch.Tensor | None] = torch.autograd.grad(outputs, self.leaves, weights, retain_graph=True, allow_unused=True)
        return grads


def between(happens: Callable[[Tape], object], place: Callable[[TorchPoint], Function] = lambda point: point.function) -> Any:
    """Reverse mode, with something happening between the call and its backward pass."""

    def way(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
        if modes != ("r",) or v is None:
            raise NotImplementedError("only reverse mode has a pass of its own that something could come before")
        check_follows(point.program, xs)
        function = place(point)
        leaves = [x.detach().requires_grad_() for x in xs]
        with torch.enable_grad():
            given = [x.clone() for x in leaves]
            outputs = list(function(given))
        tape = Tape(leaves, given, outputs, [w.to(o.dtype, copy=True) for w, o in zip(point.native_like(v), outputs)])
        values = [to_numpy(o.detach().clone()) for o in outputs]
        try:
            happens(tape)
            grads = tape.pull()
        except RuntimeError as error:
            if any(words in str(error) for words in _OVERWRITTEN):
                raise NotImplementedError("it says itself that what it needs was overwritten") from None
            raise
        return Outcome(values, [along(grads, us[0].arrays)], True)

    return way


def _overwrite(tensors: Sequence[torch.Tensor]) -> None:
    with torch.no_grad():
        for tensor in tensors:
            try:
                tensor.mul_(FACTOR).add_(SHIFT)
            except RuntimeError as error:  # one element that stands in many places, a view that nobody may write to
                raise NotImplementedError(f"it cannot be overwritten: {error}") from None


def _inputs_overwritten(tape: Tape) -> None:
    _overwrite(tape.given)


def _outputs_overwritten(tape: Tape) -> None:
    _overwrite(tape.outputs)


def rows(
    pull: Callable[[Any, Any, Any], Any], axis: int, place: Callable[[TorchPoint], Function] = lambda point: point.function
) -> Any:  # fmt: skip
    """Two rows of a Jacobian in one backward pass, which runs once for a batch of weights."""

    def way(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
        if modes != ("r",) or v is None:
            raise NotImplementedError("only reverse mode has rows")
        check_follows(point.program, xs)
        leaves = [x.detach().requires_grad_() for x in xs]
        with torch.enable_grad():
            outputs = list(place(point)([x.clone() for x in leaves]))
        values = [to_numpy(o.detach().clone()) for o in outputs]
        live = [(o, torch.stack([w, w * ROW], axis).to(o.dtype)) for o, w in zip(outputs, point.native_like(v)) if o.requires_grad]
        if not live:
            raise NoGradient("no output depends on a differentiable input")
        pulled, weights = zip(*live)
        found = pull(pulled, leaves, weights)
        return Outcome(values, [along([None if g is None else g[0] for g in found], us[0].arrays)], True)

    return way


def _pulled_at_once(outputs: Any, leaves: Any, weights: Any) -> Any:
    return torch.autograd.grad(outputs, leaves, weights, allow_unused=True, is_grads_batched=True)


def _pulled_at_once_from_compiled(outputs: Any, leaves: Any, weights: Any) -> Any:
    try:
        return _pulled_at_once(outputs, leaves, weights)
    except RuntimeError as error:  # in these words a batch refuses what it has not; code that was generated for a tensor asks for it
        if "data pointer" in str(error):
            raise RuntimeError("what was compiled reads the memory of a batch of weights, which has none") from error
        raise


def _pulled_by_vmap(outputs: Any, leaves: Any, weights: Any) -> Any:
    """The batch is the weights' last axis: each row of it has gaps in memory."""
    needed("vmap")

    def pull(*weights: torch.Tensor) -> Any:
        found = torch.autograd.grad(outputs, leaves, weights, allow_unused=True)
        return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves))

    return functional.vmap(pull, in_dims=-1)(*weights)


# Before the call -------------------------------------------------------------------------------------------------------------


def aliased(point: TorchPoint) -> Function:
    """F at parts of one tensor, to which it may write."""
    check_follows(point.program)
    return lambda xs: list(point.writing(*_joined(xs), *[t.clone() for t in point.others()]))


def aliased_later(point: TorchPoint) -> Function:
    """Compiled F, called with one tensor in the place of all that look like it; now at parts of one tensor."""
    check_follows(point.program)

    def first() -> Iterator[tuple[Tensors, Tensors]]:
        one: dict[Any, torch.Tensor] = {}
        yield [one.setdefault((x.shape, x.dtype), x) for x in point.leaves], point.others()

    function = _after(point, "aliased", point.writing, first)
    return lambda xs: list(saying(function, *_joined(xs), *[t.clone() for t in point.others()]))


def overlapping(point: TorchPoint) -> Function:
    """F, and what compiling adds to it where inputs overlap, and the first of them is written to before the call: nothing.

    What is compiled was called before with inputs that lie apart.
    """

    def written(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        tensors[0].mul_(NEARER)
        return point.of_tensors(*tensors)

    with torch.no_grad():
        if not all(bool(torch.isfinite(o).all()) for o in written(*_overlapped(point.leaves), *point.others())):
            raise NotImplementedError("it is not defined where they overlap")
    function = _after(point, "overlapping", written, lambda: iter([(point.leaves, point.others())]))

    def both(xs: Tensors) -> list[torch.Tensor]:
        usual = written(*_overlapped(xs), *point.others())
        found = saying(function, *_overlapped(xs), *point.others())
        return [o + (b - a) for o, a, b in zip(point.function(xs), usual, found)]

    return both


def _overlapped(xs: Tensors) -> list[torch.Tensor]:
    """The first tensor, and parts of it in the place of those that fit into it."""
    whole = xs[0].reshape(-1).clone()
    fits = [bool(0 < x.numel() <= whole.numel() and x.dtype == whole.dtype) for x in xs[1:]]
    if not any(fits):
        raise NotImplementedError("there is nothing that fits into the first input")
    parts = [whole[whole.numel() - x.numel() :].view(x.shape) if fit else x.clone() for fit, x in zip(fits, xs[1:])]
    return [whole.view(xs[0].shape), *parts]


def resized(point: TorchPoint) -> Function:
    """Compiled F, called with other shapes before: from then on the compiler takes sizes for unknown."""
    function = _after(point, "resized", point.of_tensors, lambda: _other_shapes(point), dynamic=None)
    return lambda xs: list(saying(function, *xs, *point.others()))


def hooked_later(point: TorchPoint) -> Function:
    """F in a compiled module, with a hook that was registered after the first call."""
    check(point)

    def make() -> Callable[..., Any]:
        module = _Module(point.of_tensors)
        function: Callable[..., Any] = torch.compile(module, backend=AROUND, fullgraph=True, dynamic=False)
        with _guarded_hooks():
            _call(function, point.leaves, point.others())
        module.register_forward_hook(lambda _, inputs, outputs: tuple(HOOK * o for o in outputs))
        return function

    function = KEPT.function(point, ("hooked",), make)
    return lambda xs: [o / HOOK for o in saying(function, *xs, *point.others())]


def backward_hooked_later(register: str) -> Any:
    """Compiled F calls a module, on whose backward pass a hook was put after the first call; with the compiler's usual settings."""

    def way(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
        check(point)
        if point.mutates or point.others():
            raise NotImplementedError("such a module is given what has a gradient, and does not write to it")

        def make() -> Callable[..., Any]:
            module = _Module(point.of_tensors)
            function: Callable[..., Any] = torch.compile(lambda *tensors: module(*tensors), backend=AROUND, dynamic=False)
            _call(function, point.leaves, point.others())
            # Behind the module: the gradients of its outputs, or those of its inputs, and of its outputs then.
            getattr(module, register)(lambda *given: tuple(None if g is None else HOOK * g for g in given[1]))
            return function

        function = KEPT.function(point, (register,), make)
        found = point.in_tape(lambda tensors: list(saying(function, *tensors, *point.others())), xs, modes, us, v)
        return Outcome(found.outputs, [r / HOOK for r in found.result], found.contracted, found.live)

    return way


def thawed(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
    """Reverse mode of a compiled module whose parameters are F's inputs, which was called before while they were frozen."""
    check(point)
    if modes != ("r",) or v is None:
        raise NotImplementedError("parameters have gradients in reverse mode")
    if point.mutates:
        raise NotImplementedError("parameters are not written to")
    check_follows(point.program, xs)
    module: Any = KEPT.function(point, ("thawed",), lambda: _Holding(point.of_tensors, xs))
    for parameter, x in zip(module.held, xs):
        parameter.requires_grad_(False).copy_(x)
    others = point.others()
    with torch.enable_grad():
        saying(module.compiled, *others)
        leaves = [parameter.requires_grad_() for parameter in module.held]
        outputs = list(saying(module.compiled, *others))
    live = [(o, w.to(o.dtype)) for o, w in zip(outputs, point.native_like(v)) if o.requires_grad]
    if not live:
        raise NoGradient("no output depends on a differentiable input")
    grads = torch.autograd.grad([o for o, _ in live], leaves, [w for _, w in live], allow_unused=True)
    return Outcome([to_numpy(o.detach().clone()) for o in outputs], [along(grads, us[0].arrays)], True)


class _Holding(torch.nn.Module):  # type: ignore[misc]
    """F as a module that holds its inputs as parameters, and itself compiled."""

    def __init__(self, function: Callable[..., Any], xs: Tensors) -> None:
        super().__init__()
        self.function = function
        self.held = torch.nn.ParameterList([torch.nn.Parameter(x.detach().clone(), requires_grad=False) for x in xs])
        self.compiled = torch.compile(self.forward, backend=AROUND, fullgraph=True, dynamic=False)

    def forward(self, *others: torch.Tensor) -> Any:
        return self.function(*self.held, *others)


def _guarded_hooks() -> Any:
    """By default the compiler does not look for hooks that come later, and says so in its documentation; it can be told to."""
    return torch._dynamo.config.patch(skip_nnmodule_hook_guards=False)


class _Module(torch.nn.Module):  # type: ignore[misc]
    """F as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.function(*tensors)


def _after(
    point: TorchPoint, name: str, function: Callable[..., Any], earlier: Callable[[], Iterator[tuple[Tensors, Tensors]]],
    dynamic: bool | None = False,
) -> Callable[..., Any]:  # fmt: skip
    """The compiled function after earlier calls, each with inputs and other tensors of its own."""
    check(point)

    def make() -> Callable[..., Any]:
        made: Callable[..., Any] = torch.compile(function, backend=AROUND, fullgraph=True, dynamic=dynamic)
        for xs, others in earlier():
            _call(made, xs, others)
        return made

    return KEPT.function(point, (name,), make)


def _call(function: Callable[..., Any], xs: Tensors, others: Tensors) -> None:
    """A call with its backward pass. What fails here is no finding: it is not the call that is asked about."""
    copies: dict[int, torch.Tensor] = {}
    try:
        with torch.enable_grad():
            given = [copies.setdefault(id(x), x.detach().requires_grad_().clone()) for x in xs]
            outputs = [o for o in saying(function, *given, *[t.clone() for t in others]) if o.requires_grad]
            if outputs:
                torch.autograd.grad(outputs, given, [torch.ones_like(o) for o in outputs], allow_unused=True)
    except Exception as error:
        raise NotImplementedError(f"the call before this one fails: {str(error).splitlines()[0] if str(error) else error!r}") from None


def _joined(xs: Tensors) -> list[torch.Tensor]:
    """The same numbers as parts of one tensor."""
    if len({x.dtype for x in xs}) != 1:
        raise NotImplementedError("tensors of several types are no parts of one")
    whole = torch.cat([x.reshape(-1) for x in xs])
    parts, start = [], 0
    for x in xs:
        parts.append(whole[start : start + x.numel()].view(x.shape))
        start += x.numel()
    return parts


def _other_shapes(point: TorchPoint) -> Iterator[tuple[Tensors, Tensors]]:
    """All tensors with each axis of some size twice as long: the first such size that F takes."""
    everything = [*point.leaves, *point.others()]
    sizes = sorted({n for t in everything for n in t.shape if n}, reverse=True)
    for size in sizes[:MOST_SHAPES]:
        doubled = [t.repeat([2 if n == size else 1 for n in t.shape]) for t in everything]
        xs, others = doubled[: len(point.leaves)], doubled[len(point.leaves) :]
        try:
            with torch.no_grad():
                point.given(others).function(xs)
        except Exception:
            continue
        yield xs, others
        return
    raise NotImplementedError("it takes no other shapes")


FUNCTIONS = {
    "aliased": aliased, "compiled-aliased": aliased_later, "compiled-overlapping": overlapping, "compiled-resized": resized,
    "compiled-hooked": hooked_later,
}  # fmt: skip
DERIVATIVES = {
    "rows": rows(_pulled_at_once, 0),
    "rows-last": rows(_pulled_by_vmap, -1),
    "rows-inductor": rows(_pulled_at_once_from_compiled, 0, lambda point: compiled_function(point, "inductor")),
    "compiled-backward-hooked": backward_hooked_later("register_full_backward_pre_hook"),
    "compiled-full-hooked": backward_hooked_later("register_full_backward_hook"),
    "compiled-thawed": thawed,
    "twice": between(Tape.pull),
    "overwritten": between(_inputs_overwritten),
    "overwritten-output": between(_outputs_overwritten),
    "compiled-overwritten": between(_inputs_overwritten, compiled_function),
    "overwritten-inductor": between(_inputs_overwritten, lambda point: compiled_function(point, "inductor")),
}
