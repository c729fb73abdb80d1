"""How PyTorch's errors are read."""

from __future__ import annotations

from typing import Any

from gradfuzz.targets.base.functions import WrongGradientShape
from gradfuzz.targets.base.protocol import Refusal
from gradfuzz.targets.base.refusals import Refusals
from gradfuzz.targets.torch.derivatives import NestingUnsupported, NoGradient


class TorchRefusals(Refusals):
    """Messages come with a C++ trace behind them."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data, (NestingUnsupported, NoGradient))

    def classify(self, error: BaseException) -> Refusal:
        message = str(error).split("\nException raised from")[0].strip()
        if isinstance(error, WrongGradientShape):
            return self.with_symptom(Refusal("malformed", message))
        return self.read(error, message)
