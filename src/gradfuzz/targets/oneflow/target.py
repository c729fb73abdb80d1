"""OneFlow as a target."""

from __future__ import annotations

import inspect
from typing import Any

import oneflow as flow

from gradfuzz.program.model import Program
from gradfuzz.targets.base.protocol import Overload
from gradfuzz.targets.base.taped_target import TapedTarget
from gradfuzz.targets.oneflow import parameters
from gradfuzz.targets.oneflow.point import OneFlowPoint


class OneFlowTarget(TapedTarget):
    """The installed OneFlow on the CPU."""

    version = str(flow.__version__)
    point_class = OneFlowPoint
    module_class = flow.nn.Module
    tensor_class = flow.Tensor

    def signature(self, path: str, found: Any) -> list[Overload]:
        if inspect.isbuiltin(found):
            return parameters.overloads(path.rpartition(".")[2], found)
        known = super().signature(path, found)
        if known and not all(p.kind == "starred" for p in known[0]):
            return known
        return parameters.overloads(path.rpartition(".")[2], found) if not isinstance(found, type) else known

    def accepted(self, program: Program) -> Program | None:
        """No tensors without dimensions: many a function ends the process over them, and would have no seed at all then."""
        return super().accepted(program) if all(recipe.shape for recipe in program.inputs.values()) else None

    def smoke_test(self) -> str:
        return 'x = tensor((2,), "float64", uniform(0.5, 1.0, seed=1))\ny = oneflow.sin(x)\n'
