"""OneFlow for people's own functions: the derivatives and the refusals of campaigns."""

from __future__ import annotations

import oneflow as flow

from gradfuzz.targets.base.taped_functions import TapedFunctions
from gradfuzz.targets.oneflow.tensors import TAPE


class OneFlowFunctions(TapedFunctions):
    """The installed OneFlow."""

    version = str(flow.__version__)
    tape = TAPE
    module_class = flow.nn.Module
