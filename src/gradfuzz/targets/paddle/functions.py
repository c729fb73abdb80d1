"""PaddlePaddle for people's own functions: the derivatives and the refusals of campaigns."""

from __future__ import annotations

import paddle

from gradfuzz.targets.base.taped_functions import TapedFunctions
from gradfuzz.targets.paddle.tensors import TAPE


class PaddleFunctions(TapedFunctions):
    """The installed PaddlePaddle."""

    version = str(paddle.__version__)
    tape = TAPE
    module_class = paddle.nn.Layer
