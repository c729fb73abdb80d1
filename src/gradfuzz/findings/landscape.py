"""What there is to see around the point of a finding, as a worker measured it (`worker/landscape.py`), and why there may be nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradfuzz.errors import StoreError
from gradfuzz.findings.proof import derivative
from gradfuzz.oracles import verdict as kinds
from gradfuzz.program import to_json

if TYPE_CHECKING:
    from gradfuzz.findings.finding import Finding

# Kinds that are about the size of a derivative: it can be drawn.
DRAWN = (kinds.GRADIENT, kinds.ACCURACY, kinds.TAIL, kinds.NONFINITE, kinds.KINK, kinds.PRECISION, kinds.WAY)
# Why nothing is drawn of the others.
WHY = {
    kinds.STATUS: "there is no derivative to draw: it raises",
    kinds.INTERNAL: "there is no derivative to draw: an assertion fails",
    kinds.MEMORY: "there is no derivative to draw: memory runs out",
    kinds.MALFORMED: "what is wrong is the shape or the type of the derivative, which no curve shows",
    kinds.VALUE: "what is wrong is the output under differentiation, not a derivative",
    kinds.CRASH: "the process dies: nothing near it is run again",
    kinds.TIMEOUT: "it does not come back: nothing near it is run again",
}
Curve = tuple[float | None, ...]
MOST_POINTS, MOST_NAMES = 1024, 64  # far more than workers send: a stranger's store may have any number


@dataclass(frozen=True)
class Landscape:
    """One line through the point. Curves have evenly spaced points from at - width to at + width; none of them where nothing is drawn."""

    numbers: Mapping[str, float]  # what each scenario gives at the point
    bars: Mapping[str, float]  # how far rounding may move it
    refused: Mapping[str, str] = field(default_factory=dict)  # scenarios that give no number, and what they say
    by: str = ""  # what they are held against: a difference quotient, double precision
    numeric: tuple[float, float] | None = None  # what that is at the point, and its error bar
    output: str = ""
    along: tuple[str, ...] = ()  # by differentiation; none where it is the direction along which the finding was seen
    axis: str = ""
    at: float = 0.0
    width: float = 1.0
    function: Curve = ()
    below: tuple[str, Curve] | None = None  # the derivative that was differenced, and its scenario
    derivatives: Mapping[str, Curve] = field(default_factory=dict)  # by scenario
    truth: Curve = ()  # what they are held against

    @property
    def what(self) -> str:
        """The derivative in words."""
        return derivative(self.output, self.along)

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if value or key in ("numbers", "bars")}

    @staticmethod
    def from_json(data: Any) -> Landscape | None:
        """Read what `to_json` or a worker wrote; a store may be anybody's."""
        if data is None:
            return None
        try:
            numeric, below = data.get("numeric"), data.get("below")
            value, error = map(float, numeric) if numeric else (0.0, 0.0)
            name, curve = below or ("", ())
            lines, along = _named(data.get("derivatives", {}), _curve), tuple(map(str, data.get("along", ())))[:MOST_NAMES]
            return Landscape(
                _named(data["numbers"], float), _named(data["bars"], float), _named(data.get("refused", {}), str),
                str(data.get("by", "")), (value, error) if numeric else None, str(data.get("output", "")), along,
                str(data.get("axis", "")), float(data.get("at", 0.0)), float(data.get("width", 1.0)), _curve(data.get("function", ())),
                (str(name), _curve(curve)) if below else None, lines, _curve(data.get("truth", ())),
            )  # fmt: skip
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            raise StoreError("a landscape that is none") from None


def _named(data: Any, read: Any) -> dict[str, Any]:
    return {str(name): read(value) for name, value in list(data.items())[:MOST_NAMES]}


def _curve(data: Sequence[Any]) -> Curve:
    return tuple(None if y is None else float(y) for y in data[:MOST_POINTS])


def question(finding: Finding) -> dict[str, Any] | None:
    """What a worker is asked for a finding's landscape; None where nothing can be measured."""
    verdict, short, proof = finding.verdict, finding.short, finding.proof
    if not verdict.order or finding.kind in (kinds.CRASH, kinds.TIMEOUT, kinds.MEMORY, kinds.VALUE):
        return None
    if finding.kind in (kinds.STATUS, kinds.INTERNAL) and any(s.way for s in verdict.scenarios):
        return None  # what is said is that all works without the way
    spots = proof.spots if proof is not None and finding.proven else short.spots if short is not None else ()
    whole = len(spots) == 2 and len(spots[1]) == verdict.order
    return {
        "program": to_json(finding.program), "scenarios": verdict.names, "salt": finding.salt, "draw": finding.kind in DRAWN,
        "spots": spots if whole else None, "along": verdict.detail.get("along"), "base": verdict.detail.get("base"),
        "double": verdict.oracle == kinds.PRECISION,
        "result": next((s.names[0] for s in reversed(finding.program.statements) if s.names), "y"),
    }  # fmt: skip


def told(answer: Mapping[str, Any]) -> Landscape | None:
    """What a worker answered; nothing where it died over it, the library would not have it, or it makes no sense."""
    try:
        return Landscape.from_json(answer.get("landscape"))
    except StoreError:
        return None


def why_nothing(finding: Finding) -> str:
    """Why there is no picture of a finding, in a few words."""
    if finding.kind in WHY:
        return WHY[finding.kind]
    return "nothing was measured around the point" if finding.landscape is None else "running the function around the point takes too long"
