"""Another device than the processor: what is made there, and with which precision."""

from __future__ import annotations

from functools import lru_cache
from typing import Callable, TypeVar

import torch

Answer = TypeVar("Answer")


def on_device(device: str, what: Callable[[], Answer]) -> Answer:
    """What it gives with new tensors on the device. NotImplementedError where there is none; called after the fork only."""
    _ready(device)
    if not hasattr(torch, "set_default_device"):  # before 2.0
        return what()
    with torch.device(device):
        return what()


@lru_cache(maxsize=4)
def _ready(device: str) -> None:
    """Start the device's runtime; full precision where the default is less: TensorFloat-32 and short sums are another precision."""
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise NotImplementedError(f"there is no device {device!r} here: {str(error).splitlines()[0]}") from None
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    for name in ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction"):
        if hasattr(torch.backends.cuda.matmul, name):
            setattr(torch.backends.cuda.matmul, name, False)
