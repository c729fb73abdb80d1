"""In the place of the derivative: other ways to it, by transforms of `torch.func`, batched, by Jacobians and Hessians, input by input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, Optional, cast

import torch

from gradfuzz.targets.base.nesting import derivative as folded
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.torch import flow
from gradfuzz.targets.torch.compile import HasF, compiled_around, compiled_function, outcome
from gradfuzz.targets.torch.derivatives import Function, NoGradient, Tensors, forward, needed, reverse
from gradfuzz.targets.torch.layouts import check_follows
from gradfuzz.targets.torch.transforms import Transforms, functional, inner

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

Found = tuple[Any, Any]  # outputs, derivative: as base/nesting.py has them
InPlaceOfD = Callable[["TorchPoint", Tensors, Modes, Sequence[Vec], Optional[Vec]], Outcome]


# How a batch's other member differs from the point: enough that mixing the two would show, and nearer to zero, where most functions are
# still inside their domain.
NEIGHBOUR = 0.75
# A Jacobian with more entries is not made.
JACOBIAN_ENTRIES = 4096


def eagerly(derivative: Callable[..., Found], stacks: bool = False) -> InPlaceOfD:
    """The derivative of F in a way of this file's, with the point's own tensors, or with those of a batch that it `stacks`."""

    def way(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
        if not modes or v is None:
            raise NotImplementedError("there is no derivative to take")
        if stacks:
            check_follows(point.program, xs)
        with torch.no_grad():
            found = derivative(point, [x.detach() for x in xs], modes, [point.native(u) for u in us], point.native_like(v))
        return outcome(found, modes)

    return way


def by_transforms(point: HasF, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> Found:
    """`torch.func` throughout: vjp and jvp, nested."""
    needed("vjp")
    return folded(Transforms(), _tuple(point.function), xs, modes, us, v)


def vmap_of_grad(point: HasF, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> Found:
    """`vmap` over a batch of two derivatives: the point's, and that of a neighbour with other numbers throughout."""
    return _vmap_of(by_transforms, point, xs, modes, us, v)


def vmap_of_jacobian(point: HasF, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> Found:
    """The same of Jacobians or Hessians, which are batches of derivatives themselves; of several inputs the first alone has a batch."""
    return _vmap_of(jacobian, point, xs, modes, us, v, 1)


def _vmap_of(
    derivative: Callable[..., Found], point: HasF, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors, some: int | None = None
) -> Found:  # fmt: skip
    needed("vmap")

    def one(xs: Any, us: Any, v: Any) -> Any:
        outputs, result = derivative(point, xs, modes, us, v)
        return tuple(outputs or ()), tuple(result)

    count = len(xs) if some is None else some
    batch = tuple((*_paired(tuple(part[:count])), *part[count:]) for part in (xs, *us))
    axes = tuple(0 if k < count else None for k in range(len(xs)))
    mapped = functional.vmap(one, in_dims=(axes, tuple(axes for _ in us), 0), randomness="same")
    outputs, result = mapped(batch[0], batch[1:], _paired(tuple(v)))
    return [o[0] for o in outputs] or None, [r[0] for r in result]


def grad_of_vmap(point: HasF, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> Found:
    """The derivative of `vmap` of F on the same batch. The neighbour, which may be outside the domain, stays where it is."""
    needed("vmap")
    mapped = functional.vmap(lambda *inputs: tuple(point.function(inputs)), randomness="same")

    def first(inputs: Tensors) -> Any:
        return tuple(o[0] for o in mapped(*[torch.stack([x, (x * NEIGHBOUR).to(x.dtype).detach()]) for x in inputs]))

    return folded(Transforms(), first, xs, modes, us, v)


def grad_of_vmap_over_last(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> Found:
    """The same with the batch in the last axis, where slices have gaps in memory: rules for batches look where it is."""
    needed("vmap")
    check_follows(point.program)
    with torch.no_grad():
        usual = point.function(xs)
        try:
            found = point.function([flow.paired(x, -1)[..., 0] for x in xs])
        except RuntimeError as error:  # a view, say, is only of some layouts
            raise NotImplementedError(f"the function itself does not take such slices: {error}") from None
    if not all(a.numel() and a.shape == b.shape and torch.allclose(a, b, equal_nan=True) for a, b in zip(usual, found)):
        raise NotImplementedError("what lies in memory is itself an argument of the function, or an output is empty")
    mapped = functional.vmap(lambda *inputs: tuple(point.function(inputs)), in_dims=-1, out_dims=-1, randomness="same")
    return folded(Transforms(), lambda inputs: tuple(o[..., 0] for o in mapped(*[flow.paired(x, -1) for x in inputs])), xs, modes, us, v)


def grad_of_vmap_over_first(point: HasF, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> Found:
    """The derivative of `vmap` over the first of several inputs alone: rules for batches have a branch for each choice of them."""
    needed("vmap")
    if len(xs) < 2:
        raise NotImplementedError("there is one input only")
    mapped = functional.vmap(lambda *inputs: tuple(point.function(inputs)), in_dims=(0, *(None for _ in xs[1:])), randomness="same")

    def first(inputs: Tensors) -> Any:
        return tuple(o[0] for o in mapped(flow.paired(inputs[0]), *inputs[1:]))

    return folded(Transforms(), first, xs, modes, us, v)


def vmap_of_grad_over_rest(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> Found:
    """`vmap` of the derivative over all tensors but the first, those that are not differentiated (indices, masks) among them."""
    needed("vmap")
    rest = [*xs[1:], *point.others()]
    if not rest:
        raise NotImplementedError("there is one tensor only")
    if any(call.func.endswith("_") for call in point.program.calls()):
        raise NotImplementedError("a batch cannot be written to what has none")

    def one(*rest: torch.Tensor) -> Any:
        inputs, others = (xs[0], *rest[: len(xs) - 1]), rest[len(xs) - 1 :]
        outputs, result = folded(Transforms(), _tuple(point.given(others).function), inputs, modes, us, v)
        return tuple(outputs or ()), tuple(result)

    outputs, result = functional.vmap(one, randomness="same")(*map(flow.paired, rest))
    return [o[0] for o in outputs] or None, [r[0] for r in result]


def linearized(point: HasF, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> Found:
    """`torch.func.linearize`: the tangents' part of a trace, run by itself."""
    needed("linearize")
    if modes != ("f",):
        raise NotImplementedError("what is linear is pushed forward")
    outputs, push = functional.linearize(lambda *z: tuple(point.function(z)), *xs)
    return outputs, push(*us[0])


def jacobian(point: HasF, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> Found:
    """`jacrev`, `jacfwd`, and of order two each of the other, as `hessian` is made; contracted with both directions."""
    needed("jacrev")
    inputs = tuple(range(len(xs)))
    rows = sum(o.numel() for o in v)
    if rows * sum(x.numel() for x in xs) ** len(modes) > JACOBIAN_ENTRIES:
        raise NotImplementedError("the Jacobian is too large to be made here")
    if any(t.is_complex() for t in (*xs, *v)):
        raise NotImplementedError("rows of complex Jacobians are half of them")
    made: Any = lambda *z: tuple(point.function(z))  # noqa: E731
    with torch.no_grad():
        outputs = made(*xs)
    for mode in modes:
        made = (functional.jacrev if mode == "r" else functional.jacfwd)(made, argnums=inputs)
    tangents = [_contracted(part, us) for part in made(*xs)]
    return (outputs if len(modes) == 1 else None), tangents if "r" not in modes else [inner(tangents, v)]


def hessian_on_tape(point: HasF, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> Found:
    """`torch.autograd.functional.hessian` of F, weighted; contracted with both directions."""
    if modes != ("r", "r"):
        raise NotImplementedError("a Hessian is of order two")
    if not all(x.numel() for x in xs):
        raise NotImplementedError("rows of a Hessian are stacked, and there are none")
    if sum(x.numel() for x in xs) ** 2 > JACOBIAN_ENTRIES:
        raise NotImplementedError("the Hessian is too large to be made here")
    if any(t.is_complex() for t in (*xs, *v)):
        raise NotImplementedError("it is for real numbers")
    with torch.enable_grad():
        made = torch.autograd.functional.hessian(lambda *z: inner(point.function(z), v), tuple(xs))
    return None, [_contracted(made, us)]


def apart(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
    """Each input differentiated by itself, the others being constants: formulas leave out what nobody asked for."""
    if len(xs) < 2:
        raise NotImplementedError("there is one input only")
    found = []
    for index, x in enumerate(xs):

        def alone(inputs: Tensors, index: int = index) -> Any:
            return point.function([*xs[:index], *inputs, *xs[index + 1 :]])

        if modes == ("f",):
            found.append(forward(alone, [x], [point.native(us[0])[index]]))
        elif modes == ("r",) and v is not None:
            try:
                found.append(reverse(alone, [x], [us[0].arrays[index]], [w.clone() for w in point.native_like(v)], []))
            except NoGradient:  # of this one
                continue
    if not found:
        raise NoGradient("no output depends on a differentiable input")
    total = [sum(parts[1:], parts[0]) for parts in zip(*(part.result for part in found))]
    return Outcome(found[0].outputs, total, modes == ("r",))


class _Only:
    """A function in the place of a point, where a derivative needs nothing else of it."""

    def __init__(self, function: Function) -> None:
        self.function = function


def around_compiled(derivative: Callable[..., Found]) -> InPlaceOfD:
    """A derivative by `torch.func` of compiled F."""
    return eagerly(lambda point, xs, modes, us, v: derivative(_Only(compiled_function(point)), xs, modes, us, v))


def duals_compiled(backend: str) -> InPlaceOfD:
    """Dual numbers handed to compiled F, which its compiler has to push through."""

    def way(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
        if modes != ("f",):
            raise NotImplementedError("dual numbers are forward mode")
        return forward(compiled_function(point, backend), [x.detach() for x in xs], point.native(us[0]))

    return way


def _contracted(part: Any, us: Sequence[Tensors]) -> torch.Tensor:
    """One output's part of a Jacobian of any order, nested by inputs, times a direction for each differentiation, innermost first."""
    if not us:
        return cast(torch.Tensor, part)
    rest, u = us[1:], us[0]
    terms = []
    for block, d in zip(part, u):
        flat = _contracted(block, rest)
        rows, along = flat.reshape(*flat.shape[: flat.dim() - d.dim()], d.numel()), d.reshape(-1)
        terms.append((torch.where(along != 0, rows, 0) * along).sum(-1))  # what is not moved says nothing, be it NaN
    return sum(terms[1:], terms[0])


def _tuple(function: Function) -> Function:
    return lambda inputs: tuple(function(inputs))


def _paired(tensors: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return tuple(torch.stack([t, (t * NEIGHBOUR).to(t.dtype)]) for t in tensors)


DERIVATIVES: dict[str, InPlaceOfD] = {
    "functional": eagerly(by_transforms),
    "batched": eagerly(vmap_of_grad, stacks=True),
    "batched-inside": eagerly(grad_of_vmap, stacks=True),
    "batched-last": eagerly(grad_of_vmap_over_last),
    "batched-first": eagerly(grad_of_vmap_over_first, stacks=True),
    "batched-rest": eagerly(vmap_of_grad_over_rest, stacks=True),
    "jacobian": eagerly(jacobian),
    "linearized": eagerly(linearized),
    "hessian": eagerly(hessian_on_tape),
    "apart": apart,
    "batched-jacobian": eagerly(vmap_of_jacobian, stacks=True),
    "compiled-outside": compiled_around(by_transforms),
    "compiled-batched": compiled_around(vmap_of_grad),
    "batched-inductor": compiled_around(vmap_of_grad, "inductor"),
    "compiled-jacobian": compiled_around(jacobian),
    "compiled-batched-jacobian": compiled_around(vmap_of_jacobian),
    "compiled-inside": around_compiled(by_transforms),
    "compiled-inside-batched": around_compiled(vmap_of_grad),
    "compiled-inside-jacobian": around_compiled(jacobian),
    "compiled-hessian": around_compiled(hessian_on_tape),
    "duals-inductor": duals_compiled("inductor"),
}
