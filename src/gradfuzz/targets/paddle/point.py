"""A Program bound to Paddle."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.targets.base.modules import Module, call_with
from gradfuzz.targets.base.taped import TapedPoint
from gradfuzz.targets.paddle import nodes
from gradfuzz.targets.paddle.tensors import RNG_SEED, TAPE
from gradfuzz.targets.paddle.ways import WAYS


class PaddlePoint(TapedPoint):
    """One Program at one point, in the dynamic graph unless a way says otherwise."""

    tape = TAPE
    ways = WAYS

    def build_module(self, made: Any, dtype: str) -> Module:
        made = made.to(dtype=dtype)
        rng, held = np.random.default_rng(RNG_SEED), "float32" if dtype == "bfloat16" else dtype
        for parameter in made.parameters():  # those whose own start values are constants still get distinct numbers
            parameter.set_value((rng.standard_normal(tuple(parameter.shape)) * 0.5).astype(held))
        return Module(made, call_with)

    def rules(self) -> list[str]:
        return nodes.rules(self.taped, self.ran)

    def fault(self) -> str:
        """The one rule behind the last reverse run, if there is just one."""
        names = nodes.names(self.taped)
        return names[0] if len(names) == 1 else ""
