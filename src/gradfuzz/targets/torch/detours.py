"""Detours: another layout of F's inputs and back again, which is the identity. What goes wrong on the way is no operator's fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch

from gradfuzz.targets.torch.derivatives import Function, Tensors

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

Detour = Callable[[torch.Tensor], torch.Tensor]


def padded(x: torch.Tensor) -> torch.Tensor:
    """Rows of their own, padded by one more than they need, cut again to what they were, without the gaps."""
    wide = torch.nn.functional.pad(torch.nested.to_padded_tensor(_nested(x), 0.0), [0, 0] * (x.dim() - 2) + [0, 1])
    lengths = torch.full((len(x),), x.shape[1], dtype=torch.int64)
    cut = torch.nested.narrow(wide, 1, 0, lengths, layout=torch.jagged).contiguous()
    return cut.values().reshape(x.shape)


def joined(x: torch.Tensor) -> torch.Tensor:
    """Rows of their own, whose numbers are taken out and given other borders."""
    nested = _nested(x)
    again = torch.nested.nested_tensor_from_jagged(nested.values(), offsets=nested.offsets())
    return torch.stack(again.unbind())


def compressed(layout: str) -> Detour:
    """By rows or columns, or by blocks of them."""

    def detour(x: torch.Tensor) -> torch.Tensor:
        there = x.to_sparse(layout=getattr(torch, layout), **({"blocksize": (1, 1)} if "bs" in layout else {}))
        return there.to_dense(masked_grad=False)

    return detour


def _nested(x: torch.Tensor) -> torch.Tensor:
    return torch.nested.as_nested_tensor([row.contiguous() for row in x.unbind()], layout=torch.jagged)


def by(detour: Detour, least: int = 2, most: int | None = None) -> Callable[[TorchPoint], Function]:
    """F behind the detour of each input that has the dimensions for it."""

    def make(point: TorchPoint) -> Function:
        if not hasattr(getattr(torch, "nested", None), "narrow"):
            raise NotImplementedError("this release has no such layouts")

        def fits(x: torch.Tensor) -> bool:
            return bool(least <= x.dim() <= (most or x.dim()) and x.numel() and not (x == 0).any() and x.is_contiguous())

        if not any(map(fits, point.leaves)):
            raise NotImplementedError("such layouts are for matrices without gaps and zeros")
        chosen = [fits(x) for x in point.leaves]
        try:
            with torch.no_grad():
                for x, here in zip(point.leaves, chosen):
                    if here:
                        detour(x)
        except (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
            raise NotImplementedError(f"there is no such layout: {str(error).splitlines()[0] if str(error) else error!r}") from None

        def function(xs: Tensors) -> Any:
            return point.function([detour(x) if here else x for x, here in zip(xs, chosen)])

        return function

    return make


FUNCTIONS = {
    "detour-padded": by(padded),
    "detour-joined": by(joined),
    "detour-csr": by(compressed("sparse_csr"), most=2),
    "detour-csc": by(compressed("sparse_csc"), most=2),
    "detour-bsr": by(compressed("sparse_bsr"), most=2),
}
