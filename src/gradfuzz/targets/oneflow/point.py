"""A Program bound to OneFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import oneflow as flow

from gradfuzz.targets.base.modules import Module, call_with
from gradfuzz.targets.base.taped import TapedPoint
from gradfuzz.targets.oneflow.tensors import DTYPES, RNG_SEED, TAPE
from gradfuzz.targets.oneflow.ways import WAYS


class OneFlowPoint(TapedPoint):
    """One Program at one point, run eagerly unless a way says otherwise."""

    tape = TAPE
    ways = WAYS

    def build_module(self, made: Any, dtype: str) -> Module:
        made = made.to(DTYPES[dtype])
        rng = np.random.default_rng(RNG_SEED)
        with flow.no_grad():
            for parameter in made.parameters():  # those whose own start values are constants still get distinct numbers
                parameter.copy_(TAPE.tensor(rng.standard_normal(tuple(parameter.shape)) * 0.5, dtype))
        return Module(made, call_with)
