"""Another way to the same numbers: the static graph."""

from __future__ import annotations

from typing import Any

import oneflow as flow

from gradfuzz.targets.base.tape import Function


class _Graph(flow.nn.Graph):  # type: ignore[misc]
    """F as a graph of its own."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self._function = function

    def build(self, *xs: Any) -> Any:
        return self._function(xs)


def graph(point: Any) -> Function:
    """`nn.Graph`: the calls are compiled as a whole. It has gradients inside a training step alone, which is no function of F's inputs."""
    made = _Graph(point.function)
    return lambda xs: made(*xs)


WAYS = {"graph": graph}
