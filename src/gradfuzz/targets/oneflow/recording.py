"""Recording a running OneFlow program."""

from __future__ import annotations

import oneflow as flow

from gradfuzz.targets.base.taped_recording import TapedRecording
from gradfuzz.targets.oneflow.tensors import TAPE


class Recording(TapedRecording):
    """A context that records OneFlow."""

    tape = TAPE
    dtype_class = flow.dtype
