"""Recording a running Paddle program."""

from __future__ import annotations

import paddle

from gradfuzz.targets.base.taped_recording import TapedRecording
from gradfuzz.targets.paddle.tensors import TAPE


class Recording(TapedRecording):
    """A context that records Paddle."""

    tape = TAPE
    dtype_class = paddle.dtype
