"""What hangs on PyTorch's tape: the names of the rules that a derivative goes through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import torch

MOST_NODES = 200
_SECOND_TAPES: dict[tuple[str, ...], list[str]] = {}
# Copies are how an in-place call is tested; they are not what is at work.
COPIES = ("CloneBackward", "AliasBackward")


def nodes(tensors: Sequence[torch.Tensor]) -> list[str]:
    """Names of the autograd nodes that the tensors hang on."""
    seen: dict[Any, None] = {}
    queue = [t.grad_fn for t in tensors if t.grad_fn is not None]
    while queue and len(seen) < MOST_NODES:
        node = queue.pop()
        if node in seen:
            continue
        seen[node] = None
        queue.extend(parent for parent, _ in node.next_functions if parent is not None)
    return sorted({node.name() for node in seen} - {"torch::autograd::AccumulateGrad"})


def second_tape(first: tuple[str, ...], function: Callable[..., list[torch.Tensor]], inputs: Sequence[torch.Tensor]) -> list[str]:
    """Nodes that the gradient itself is made of: the rules of the operators that backward formulas call.

    It costs another double backward, so that tapes of the same nodes are read once a batch.
    """
    if first not in _SECOND_TAPES:
        _SECOND_TAPES[first] = _read_second_tape(function, inputs)
    return _SECOND_TAPES[first]


def forget() -> None:
    _SECOND_TAPES.clear()


def _read_second_tape(function: Callable[..., list[torch.Tensor]], inputs: Sequence[torch.Tensor]) -> list[str]:
    leaves = [x.detach().requires_grad_() for x in inputs]
    with torch.enable_grad():
        try:
            outputs = [o for o in function(leaves) if o.requires_grad]
            weights = [torch.ones_like(o).requires_grad_() for o in outputs]
            grads = torch.autograd.grad(outputs, leaves, weights, create_graph=True, allow_unused=True)
            return nodes([g for g in grads if g is not None])
        except Exception:  # the scenario ran with other weights; this look at its tape is for coverage alone
            return []


def rules(first: list[str], ran: set[tuple[str, ...]], inner: Callable[[], list[str]]) -> list[str]:
    """Rules by table, from the nodes of the first tape and the modes that ran on it; `inner` gives those of the gradient's own tape."""
    found = {f"reverse:{n}" for n in first}
    if ("f",) in ran:
        found |= {f"forward:{n}" for n in first}
    if any(len(modes) == 2 for modes in ran):
        found |= {f"second:{n}" for n in first}
    if ("r", "r") in ran:
        deeper = inner()
        found |= {f"reverse:{n}" for n in deeper}
        if ("r", "f") in ran:
            found |= {f"forward:{n}" for n in deeper}
        if ("r", "r", "r") in ran:
            found |= {f"second:{n}" for n in deeper}
    return sorted(found)
