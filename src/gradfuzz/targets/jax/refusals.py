"""How JAX's errors are read."""

from __future__ import annotations

from gradfuzz.targets.base.protocol import Refusal
from gradfuzz.targets.base.refusals import Refusals


class JaxRefusals(Refusals):
    """Many of JAX's errors say by their type what they are."""

    def classify(self, error: BaseException) -> Refusal:
        message = str(error).strip()
        return self.read(error, message, f"{type(error).__name__}: {message}")
