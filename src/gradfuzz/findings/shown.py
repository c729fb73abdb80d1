"""What a short script shows: one entry of a derivative, what AD gives for it, and what is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradfuzz.errors import StoreError
from gradfuzz.findings.proof import spots_of


@dataclass(frozen=True)
class Trigger:
    """What makes a bug appear (for an expanded `input`), and the control that was seen to be right; its number, if it is this one."""

    trigger: str
    control: str = ""
    number: float | None = None


@dataclass(frozen=True)
class Context:
    """What was seen around the entry (`worker/context.py`)."""

    modes: Mapping[str, str] = field(default_factory=dict)  # of each scenario: right, wrong (0.5), raises …
    triggers: tuple[Trigger, ...] = ()
    quotient: tuple[float, float, float] | None = None  # how far it moves with its step, the difference quotient, its step
    still: bool = False  # the output does not change with the input at all
    gradient: str = ""  # the right one of this output as nested lists, where it is small
    names: Mapping[str, str] = field(default_factory=dict)  # of variables: what the API calls them

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "triggers": [vars(t) for t in self.triggers]}

    @staticmethod
    def from_json(data: Any) -> Context:
        """TypeError, KeyError or ValueError for what is none."""
        gradient, quotient = data.get("gradient") or "", data.get("quotient")
        triggers = (
            Trigger(str(t["trigger"]), str(t["control"]), None if t["number"] is None else float(t["number"])) for t in data["triggers"]
        )
        moved, value, step = map(float, quotient) if quotient is not None else (0.0, 0.0, 0.0)
        return Context(
            {str(name): str(word) for name, word in data["modes"].items()}, tuple(triggers),
            None if quotient is None else (moved, value, step), bool(data["still"]),
            gradient if isinstance(gradient, str) else nested(gradient), {str(a): str(b) for a, b in data["names"].items()},
        )  # fmt: skip


def nested(numbers: Any) -> str:
    """Numbers in lists, without digits that are rounding."""
    if isinstance(numbers, list):
        return f"[{', '.join(map(nested, numbers))}]"
    return repr(float(f"{float(numbers):.6g}"))


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
    argument: str = ""  # with respect to what, as the API calls it
    example: str = ""  # the same as people write it in a report: nothing but what is computed and printed
    printed: str = ""  # what that printed
    context: Context = field(default_factory=Context)
    spots: tuple[Any, ...] = ()  # the entry's place as numbers, as a proof has it

    @property
    def lines(self) -> int:
        return len(self.script.splitlines())

    @property
    def told(self) -> str:
        """One line for people; of an error, the script says it."""
        if self.source == "an error":
            return f"{self.scenario} mode raises where the direct run works"
        return f"{self.what} is {self.right!r} ({self.source}); {self.scenario} gives {self.actual!r}"

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "context": self.context.to_json()}

    @staticmethod
    def from_json(data: Any) -> Short | None:
        """Read what `to_json` wrote; a store may be anybody's."""
        if data is None:
            return None
        try:
            words = {key: data[key] for key in ("script", "output", "what", "scenario", "source")}
            if not all(isinstance(word, str) for word in words.values()):
                raise TypeError
            later = {key: str(data[key]) for key in ("argument", "example", "printed") if key in data}
            context = Context.from_json(data["context"]) if "context" in data else Context()
            spots = tuple(map(spots_of, data.get("spots") or ()))
            return Short(**words, actual=float(data["actual"]), right=float(data["right"]), **later, context=context, spots=spots)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            raise StoreError("a short script that is none") from None
