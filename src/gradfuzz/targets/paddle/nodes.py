"""What hangs on Paddle's tape: the names of the rules that a derivative goes through, and those that exist.

A node of the tape is named after its operator in another spelling: SinGradNode belongs to `sin`. The package ships no table of its rules,
but an operator for each of the first order: `sin_grad` is the rule of `sin`. Those of higher orders are known to its C++ side alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from paddle.base import core

from gradfuzz.targets.base.scenario import Modes

MOST_NODES = 200
_NODE, _OPERATOR = "GradNode", "_grad"


@cache
def _spelling() -> dict[str, str]:
    """Operators by the name that a node gives them."""
    ops = sorted({*dir(core.eager.ops), *dir(core.pir.ops)})
    return {op.replace("_", "").lower(): op[: -len(_OPERATOR)] for op in ops if op.endswith(_OPERATOR)}


def names(tensors: Sequence[Any]) -> list[str]:
    """The rules on the tapes of the tensors, by their operators' names."""
    seen: set[str] = set()
    queue = [t.grad_fn for t in tensors if t.grad_fn is not None]
    met = 0
    while queue and met < MOST_NODES:
        node = queue.pop()
        met += 1
        seen.add(node.name())
        queue.extend(parent for parent in node.next_functions if parent is not None)
    spelt = _spelling()
    found = (spelt.get(name[: -len("Node")].lower()) for name in seen if name.endswith(_NODE))
    return sorted({name for name in found if name is not None})


def rules(tensors: Sequence[Any], ran: set[Modes]) -> list[str]:
    """The rules on a tape that reverse mode has run on."""
    return [f"reverse:{name}" for name in names(tensors)] if any("r" in modes for modes in ran) else []


@cache
def rules_that_exist() -> dict[str, str]:
    """Every rule; nothing says which of them a processor cannot reach, nor which have a rule of their own for the second order."""
    return {f"reverse:{name}": "" for name in sorted(set(_spelling().values()))}
