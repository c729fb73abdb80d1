"""Ways that call another form of the Program's one operator: in place, into a given tensor, on lists; or on inputs of another layout.

A form that does not exist, or does not take these arguments, is unsupported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

import torch

from gradfuzz.program.model import Call
from gradfuzz.targets.torch.tensors import floating

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

Function = Callable[[Sequence[torch.Tensor]], Any]
NEIGHBOUR = 0.75
INTERNAL = "INTERNAL ASSERT FAILED"
MASKED_GRAD = "masked_grad" in (torch.Tensor.to_dense.__doc__ or "")  # since 2.1


class NoForm(NotImplementedError):
    """The operator has no such form, or it does not take these arguments."""


def in_place(point: TorchPoint) -> Function:
    """`x.clone().exp_()` for `torch.exp(x)`."""
    name, _ = _operator(point)
    if not hasattr(torch.Tensor, f"{name}_"):
        raise NoForm(f"there is no {name}_")
    return _calling(point, lambda first, *rest, **options: getattr(first.clone(), f"{name}_")(*rest, **options))


def out(point: TorchPoint) -> Function:
    """The direct run into tensors that are there already."""
    _, function = _operator(point)

    def into(*args: Any, **options: Any) -> Any:
        made = function(*args, **options)
        room = tuple(torch.full_like(t, 7) for t in made) if isinstance(made, tuple) else torch.full_like(made, 7)
        function(*args, **options, out=room)
        return room

    return _calling(point, into)


def foreach(point: TorchPoint) -> Function:
    """`torch._foreach_exp` on a list of two."""
    name, _ = _operator(point)
    listed = getattr(torch, f"_foreach_{name}", None)
    if listed is None:
        raise NoForm(f"there is no _foreach_{name}")

    def call(first: torch.Tensor, *rest: Any, **options: Any) -> Any:
        lists = [[t, t] if isinstance(t, torch.Tensor) else t for t in rest]
        return listed([first, first * NEIGHBOUR], *lists, **options)[0]

    return _calling(point, call)


def sparse(point: TorchPoint) -> Function:
    """At inputs in coordinate form, where the operator takes them."""
    return _elsewhere(point, lambda x: x.to_sparse(), lambda t: _dense(t) if t.layout == torch.sparse_coo else None)


def _dense(t: torch.Tensor) -> torch.Tensor:
    """The tensor with the gradient of all its elements: by default only those that are stored have one."""
    return t.to_dense(masked_grad=False) if MASKED_GRAD else t.to_dense()


def jagged(point: TorchPoint) -> Function:
    """At nested tensors whose rows happen to be of one length."""
    return _elsewhere(point, _nested, _stacked)


def jagged_first(point: TorchPoint) -> Function:
    """The first of several inputs alone is nested: what the others are broadcast to has rows of its own."""
    if len(point.leaves) < 2:
        raise NoForm("there is one input only")
    return _elsewhere(point, _nested, _stacked, 1)


def _nested(x: torch.Tensor) -> torch.Tensor:
    return torch.nested.as_nested_tensor([row.contiguous() for row in x.unbind()], layout=torch.jagged)


def _stacked(t: torch.Tensor) -> torch.Tensor | None:
    return torch.stack(t.unbind()) if t.is_nested else None


def _elsewhere(
    point: TorchPoint, there: Callable[[torch.Tensor], torch.Tensor], back: Callable[[torch.Tensor], torch.Tensor | None],
    count: int | None = None,
) -> Function:  # fmt: skip
    """F at its first `count` inputs, or at all of them, in another layout."""
    if not point.leaves or any(x.dim() < 2 or not x.numel() for x in point.leaves[:count]):
        raise NoForm("such layouts are for matrices and more")
    laid = len(point.leaves[:count])

    def function(xs: Sequence[torch.Tensor]) -> Any:
        try:
            found = point.raw([*map(there, xs[:laid]), *xs[laid:]])
            outputs = [back(t) for t in (found if isinstance(found, (tuple, list)) else [found]) if isinstance(t, torch.Tensor)]
        except (RuntimeError, TypeError, ValueError, AttributeError, IndexError, NotImplementedError) as error:
            if INTERNAL in str(error):
                raise
            raise NoForm(f"the operator does not take this layout: {str(error).splitlines()[0] if str(error) else error!r}") from None
        if any(o is None for o in outputs):
            raise NoForm("an output has left the layout")
        return outputs

    return function


def _operator(point: TorchPoint) -> tuple[str, Callable[..., Any]]:
    """The name and the function of the Program's one call, whose first argument is a tensor."""
    calls = list(point.program.calls())
    if len(calls) != 1 or len(point.steps) != 1 or point.mutates or point.modules:
        raise NoForm("only a single call has other forms")
    call = calls[0]
    name = call.func.rsplit(".", 1)[-1]
    if name.startswith("_") or name.endswith("_") or call.func.startswith("torch.ops."):
        raise NoForm("only public operators have other forms")
    return name, getattr(torch.Tensor, name) if call.func[0] == "." else point.compiler.resolve(call.func)


def _calling(point: TorchPoint, form: Callable[..., Any]) -> Function:
    """F with the form in the place of its call; arguments are made as always."""
    (call,) = point.program.calls()
    assert isinstance(call, Call)
    args = [point.compiler.thunk(a) for a in call.args]
    options = {k: point.compiler.thunk(a) for k, a in call.kwargs}

    def function(xs: Sequence[torch.Tensor]) -> Any:
        env = point.environment(xs)
        given = [thunk(env) for thunk in args]
        if not given or not isinstance(given[0], torch.Tensor):
            raise NoForm("the first argument is no tensor")
        try:
            return floating(form(*given, **{k: thunk(env) for k, thunk in options.items()}))
        except (RuntimeError, TypeError, ValueError, AttributeError, IndexError) as error:
            if INTERNAL in str(error):
                raise
            raise NoForm(f"this form does not take these arguments: {str(error).splitlines()[0] if str(error) else error!r}") from None

    return function
