"""Where an op does not come back: a sweep that met this once keeps away from there.

A kernel that loops for as many rounds as its argument is large costs a worker's whole time limit. It is a finding, met once with the
op alone; chains that would send numbers there leave those points out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradfuzz.chains.ops import Op, listed, program_of
from gradfuzz.targets.base.protocol import Target


@dataclass
class Hazards:
    """Open intervals by op, in the form that travels: {name of the op: [[low, high], …]}"""

    ranges: dict[str, list[list[float]]] = field(default_factory=dict)

    def keep(self, target: Target, ops: Sequence[Op], points: Sequence[float], dtype: str) -> list[float]:
        """The points that send no op into one of its intervals."""
        kept = np.array(points, float)
        for depth, op in enumerate(ops):
            ranges = self.ranges.get(op.name)
            if not ranges or not kept.size:
                continue
            values = kept if depth == 0 else _values(target, ops[:depth], kept, dtype)
            if values is None:
                continue
            bad = np.zeros(kept.shape, bool)
            for low, high in ranges:
                bad |= (values > low) & (values < high)
            kept = kept[~bad]
        return [float(x) for x in kept]


def around(points: Sequence[float], bad: Sequence[float]) -> list[list[float]]:
    """The intervals around bad points, up to the good ones beside them."""
    found: list[list[float]] = []
    good = sorted(set(points) - set(bad))
    for x in sorted(bad):
        low = max((g for g in good if g < x), default=-np.inf)
        high = min((g for g in good if g > x), default=np.inf)
        if [low, high] not in found:
            found.append([float(low), float(high)])
    return found


def _values(target: Target, ops: Sequence[Op], points: Any, dtype: str) -> Any:
    try:
        outputs = target.point(program_of(ops, listed(points, dtype))).first()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None
    return outputs[0] if len(outputs) == 1 and outputs[0].shape == points.shape else None
