"""The same numbers in another memory layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

import torch

from gradfuzz.program.model import Program


def check_follows(program: Program, copied: Sequence[torch.Tensor] | None = None) -> None:
    """NotImplementedError where what lies in memory is itself an argument of the function: elsewhere it is another function.

    `copied`: all that becomes of these is a copy, which is the same where they have no gaps and nothing lies before them.
    """
    if copied is not None and all(x.is_contiguous() and not x.storage_offset() for x in copied):
        return
    if any("as_strided" in call.func for call in program.calls()):
        raise NotImplementedError("what lies in memory is itself an argument of the function")


def _transposed(t: torch.Tensor) -> torch.Tensor:
    return t.transpose(-1, -2).contiguous().transpose(-1, -2) if t.dim() >= 2 else _strided(t)


def _strided(t: torch.Tensor) -> torch.Tensor:
    if t.dim() == 0:
        return t
    wide = torch.zeros(t.shape[:-1] + (2 * t.shape[-1],), dtype=t.dtype)
    view = wide[..., ::2]
    view.copy_(t)
    return view


def _offset(t: torch.Tensor) -> torch.Tensor:
    room = torch.zeros(t.numel() + 3, dtype=t.dtype)
    view = room[3:].view(t.shape)
    view.copy_(t)
    return view


def _expanded(t: torch.Tensor) -> torch.Tensor:
    """The first slice repeated with stride 0: the numbers of such a recipe are the same in every slice."""
    return t[:1].clone().expand(t.shape) if t.dim() and t.shape[0] > 0 else t


def _channels_last(t: torch.Tensor) -> torch.Tensor:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return t.contiguous(memory_format=formats[t.dim()]) if t.dim() in formats else _transposed(t)


def _conjugated(t: torch.Tensor) -> torch.Tensor:
    return t.conj().resolve_conj().conj() if t.is_complex() else t


def _negated(t: torch.Tensor) -> torch.Tensor:
    if t.is_complex() or not t.is_floating_point():
        return t
    # The imaginary part of a conjugated tensor is a view with the negative bit set.
    return torch.complex(torch.zeros_like(t), -t).conj().imag if t.dtype in (torch.float32, torch.float64) else t


_LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": _transposed, "strided": _strided, "offset": _offset, "expanded": _expanded,
    "channels_last": _channels_last, "conjugated": _conjugated, "negated": _negated,
}  # fmt: skip


def lay_out(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    return _LAYOUTS[layout](tensor)


def like(tensor: torch.Tensor, model: torch.Tensor) -> torch.Tensor:
    """The numbers with the model's strides and offset: sums of tensors with gaps have none, and some functions read strides.

    What shares memory stays as it is: it has no room for numbers of its own.
    """
    strides, offset = model.stride(), model.storage_offset()
    shared = 0 in strides or not model.numel() or model.is_neg() or model.is_conj()
    if shared or (tensor.stride() == strides and tensor.storage_offset() == offset):
        return tensor
    room = torch.zeros(offset + 1 + sum((n - 1) * s for n, s in zip(model.shape, strides)), dtype=model.dtype, device=model.device)
    return room.as_strided(model.shape, strides, offset).copy_(tensor)
