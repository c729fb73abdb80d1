"""What a short script shows: one entry of a derivative, what AD gives for it, and what is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradfuzz.errors import StoreError


@dataclass(frozen=True)
class Short:
    """A short script that was run in a process of its own and showed the finding there, with what it showed in words."""

    script: str
    output: str
    what: str  # d y[0] / d x[2]
    scenario: str
    actual: float
    right: float
    source: str  # why the right number is right: "proven", "a difference quotient", "forward"

    @property
    def lines(self) -> int:
        return len(self.script.splitlines())

    @property
    def told(self) -> str:
        """One line for people."""
        return f"{self.what} is {self.right!r} ({self.source}); {self.scenario} gives {self.actual!r}"

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))

    @staticmethod
    def from_json(data: Any) -> Short | None:
        """Read what `to_json` wrote; a store may be anybody's."""
        if data is None:
            return None
        try:
            words = {key: data[key] for key in ("script", "output", "what", "scenario", "source")}
            if not all(isinstance(word, str) for word in words.values()):
                raise TypeError
            return Short(**words, actual=float(data["actual"]), right=float(data["right"]))
        except (KeyError, TypeError, ValueError):
            raise StoreError("a short script that is none") from None
