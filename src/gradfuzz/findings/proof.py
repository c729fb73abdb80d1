"""What the reference has proven about a finding: the exact derivative, enclosed, and what AD gives instead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradfuzz.errors import StoreError
from gradfuzz.oracles.verdict import ACCURACY, GRADIENT, NONFINITE, TAIL

PROVEN, REFUTED, SILENT = "proven", "refuted", "silent"
# A derivative with fewer right digits than this is no use to anybody; with more it is a matter of taste.
ENOUGH_DIGITS = 4.0
# With this share of its type's digits right a derivative is what the next lower type would have given.
HALF = 0.5
# What is left of a derivative that was lost: this share of it at most. More is another number, not a lost one.
NOTHING = 1e-3
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?\Z")
_SPOT = 3


@dataclass(frozen=True)
class Proof:
    """One derivative, d output / d along …, to twenty digits. `spots`: the same place as numbers, for a script."""

    verdict: str  # proven: AD is wrong; refuted: AD is right in every entry, and nothing is left of the suspicion; silent
    output: str = ""
    along: tuple[str, ...] = ()
    exact: str = ""
    enclosure: str = ""
    got: Mapping[str, Any] | None = None
    wrong: tuple[str, ...] = ()  # scenarios
    lost: float = 0.0  # digits, beyond what rounding the input by half a unit explains
    correct: float = 0.0  # digits that are right
    normal: bool = True  # a normal number of the type
    explained: bool = False  # no more off than rounding the inputs would make it, which spoils everything here
    spots: tuple[Any, ...] = ()
    entries: int = 0  # derivatives that were looked at
    reason: str = ""  # why it is silent

    @property
    def matters(self) -> bool:
        """Whether a maintainer would care: a normal number of which hardly a digit is right, and rounding does not explain it."""
        return self.verdict == PROVEN and self.normal and not self.explained and self.correct < ENOUGH_DIGITS

    @property
    def what(self) -> str:
        """The derivative in words: d²y[0] / dx[1] dx[1]."""
        return derivative(self.output, self.along)

    @property
    def told(self) -> str:
        """One line for people."""
        if self.verdict == REFUTED:
            return f"refuted: all {self.entries} derivatives are proven right"
        if self.verdict == SILENT:
            return f"the reference is silent: {self.reason}"
        gives = ", ".join(f"{name} gives {value!r}" for name, value in (self.got or {}).items() if name in self.wrong)
        return f"proven: {self.what} is {self.exact}, enclosed in {self.enclosure}; {gives} ({self.lost:.1f} digits lost)"

    @property
    def number(self) -> str:
        """The exact value as code; zero where it is no number."""
        return self.exact if _NUMBER.match(self.exact) else "0.0"

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "got": dict(self.got or {})}

    @staticmethod
    def from_json(data: Any) -> Proof | None:
        """Read what `to_json` wrote; a store may be anybody's."""
        if data is None:
            return None
        try:
            spots = tuple(spots_of(part) for part in data["spots"])
            return Proof(
                _word(data["verdict"]), _word(data["output"]), tuple(map(_word, data["along"])), _word(data["exact"]),
                _word(data["enclosure"]), {_word(k): v for k, v in data["got"].items()}, tuple(map(_word, data["wrong"])),
                float(data["lost"]), float(data["correct"]), bool(data["normal"]), bool(data["explained"]), spots, int(data["entries"]),
                _word(data["reason"]),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise StoreError(f"a proof that is none ({type(error).__name__})") from None


def derivative(output: str, along: Sequence[str]) -> str:
    """A derivative as people write it: d² y[0] / d x[1] d x[1]."""
    power = {1: "", 2: "²", 3: "³"}.get(len(along), f"^{len(along)}")
    return f"d{power} {output} / d " + " d ".join(along)


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def spots_of(part: Any) -> Any:
    """Places as numbers, however deep they are nested."""
    if isinstance(part, (list, tuple)):
        return tuple(spots_of(p) for p in part)
    return int(part)


def proof_from(answer: Mapping[str, Any], fine: bool = False) -> Proof:
    """What an answer of the reference amounts to.

    A derivative with half of its type's digits right is not wrong but inaccurate, which counts if `fine`.
    """
    entries: Sequence[Mapping[str, Any]] = answer.get("entries", ())
    off = [e for e in entries if e["verdict"] == "wrong"]
    wrong = off if fine else [e for e in off if e["correct"] < HALF * e["digits"]]
    if wrong:
        worst = max(wrong, key=lambda e: (e["normal"], e["lost"]))
        spots = tuple(spots_of(part) for part in worst["spots"])
        return Proof(
            PROVEN, worst["output"], tuple(worst["along"]), worst["exact"], worst["enclosure"], worst["got"], tuple(worst["wrong"]),
            worst["lost"], worst["correct"], worst["normal"], worst["explained"], spots, len(entries),
        )  # fmt: skip
    if entries and answer["whole"] and all(e["verdict"] != "unknown" for e in entries):
        return Proof(REFUTED, entries=len(entries))
    unsettled = next((e["reason"] for e in entries if e["verdict"] == "unknown"), "the derivatives looked at are right, and there are more")
    return Proof(SILENT, entries=len(entries), reason=str(answer.get("silent") or (unsettled if entries else "no derivative to look at")))


def kind_of(proof: Proof) -> str:
    """What kind of finding a proof by itself is."""
    numbers = [v for k, v in (proof.got or {}).items() if k in proof.wrong]
    if any(v != v or v in (float("inf"), float("-inf")) for v in numbers):
        return NONFINITE
    if proof.correct >= 1.0:
        return ACCURACY
    return TAIL if all(abs(v) < NOTHING * abs(float(proof.number)) for v in numbers) else GRADIENT
