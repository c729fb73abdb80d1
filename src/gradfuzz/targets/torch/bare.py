"""A Program's calls under one mode, with nothing run before them: what may well refuse them."""

from __future__ import annotations

from typing import Any

import torch
import torch.autograd.forward_ad as fwd

from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.torch.derivatives import set_grad
from gradfuzz.targets.torch.point import RNG_SEED, TorchPoint
from gradfuzz.targets.torch.tensors import floating


def bare(point: TorchPoint, scenario: Scenario) -> str:
    """What comes out of the calls; in reverse mode the gradient of what hangs on the tape is computed, too."""
    torch.default_generator.manual_seed(RNG_SEED)
    if scenario.modes == ("r",):
        return _described(_on_tape(point))
    set_grad(False)
    if scenario.modes == ("f",):
        with fwd.dual_level():
            return _described(point.raw([fwd.make_dual(x, torch.ones_like(x)) for x in point.leaves]))
    return _described(point.raw(point.leaves))


def _on_tape(point: TorchPoint) -> Any:
    leaves = [x.detach().requires_grad_() for x in point.leaves]
    set_grad(True)
    try:
        result = point.raw(leaves)
    finally:
        set_grad(False)
    taped = [o for o in floating(result) if o.requires_grad]
    if taped:
        torch.autograd.grad(taped, leaves, [torch.ones_like(o) for o in taped], allow_unused=True)
    return result


def _described(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype}{list(value.shape)}".replace("torch.", "")
    if isinstance(value, (tuple, list)):
        return ", ".join(map(_described, value)) or "nothing"
    return type(value).__name__
