"""The numbers of a script: the directions, steps, expected values and tolerances of the oracle that saw the bug.

They are a store's data, perhaps a stranger's: what is no number, and no name of an input, does not get into a script.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from gradfuzz.findings.finding import Finding
from gradfuzz.numdiff.ladder import FIRST_STEP

# A script's tolerance is a tenth of what was seen, and this at most: rounding of another release does not matter, the bug does.
MOST_TOLERANCE = 1e-6
# Lower precisions differ by more between releases. What the oracle calls wrong is sixteen of its bars away; this is two of them.
MOST_PRECISION_TOLERANCE = 0.05
OF_A_LOSS = 8
# Outputs of two releases may differ by this much where the oracle compares shapes and types alone.
VALUE_TOLERANCE = 1e-6
# Where the exact value is known, what is further off than this is no rounding of anybody's.
MOST_PROVEN_TOLERANCE = 1e-3

# An input, or a parameter of a module that the Program made; and an index behind it.
_INPUT = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)(\[[0-9, ]*\])\Z")


def element_of(finding: Finding) -> tuple[str, str] | None:
    """("x", "[0, 1]") of the element that a wrong derivative was narrowed down to."""
    element = finding.verdict.detail.get("element")
    match = _ELEMENT.match(element) if isinstance(element, str) else None
    return (match.group(1), match.group(2).replace("[]", "[()]")) if match else None


def along_of(finding: Finding) -> list[tuple[str, int, str]]:
    """(input, element, number) for each entry of the direction along which it was seen; none where that is the next of the stream."""
    entries = finding.verdict.detail.get("along")
    found = []
    for name, index, real, imaginary in entries if isinstance(entries, list) else ():
        number = complex(float(real), float(imaginary))
        if not isinstance(name, str) or not _INPUT.match(name) or not math.isfinite(abs(number)):
            return []
        found.append((name, int(index), repr(number if number.imag else number.real)))
    return found


def base_of(finding: Finding) -> list[str]:
    """The modes of the derivative that is differenced."""
    modes = finding.verdict.detail.get("base")
    below = max(0, finding.verdict.order - 1)
    return list(modes) if isinstance(modes, list) and len(modes) == below and set(modes) <= {"r", "f"} else ["r"] * below


@dataclass(frozen=True)
class Finer:
    """What the oracle has measured, and from where on a script's own ladder is too blurred beside it."""

    value: float
    error: float
    blurred: float


def finer_of(finding: Finding) -> Finer | None:
    """The oracle's own numeric derivative; None where its checks do not agree on one."""
    verdict = finding.verdict
    numbers = (verdict.expected, verdict.actual, verdict.detail.get("numeric_error"))
    if not all(isinstance(n, (int, float)) and math.isfinite(n) for n in numbers):
        return None
    expected, actual, error = (float(n) for n in numbers if n is not None)
    gap = abs(expected - actual)
    return Finer(expected, min(error, gap / 20), gap / 4) if gap else None


def value_tolerance(finding: Finding) -> float:
    """How far outputs may differ: what the oracle has found that rounding of the inputs explains."""
    bar = finding.verdict.error_bar
    usable = finding.verdict.oracle == "value" and isinstance(bar, (int, float)) and 0 <= bar < float("inf")
    return float(bar) if usable and bar is not None else VALUE_TOLERANCE


@dataclass(frozen=True)
class Entry:
    """A proven derivative as a script needs it: places as numbers, the exact value as code."""

    what: str
    exact: str
    enclosure: str
    output: tuple[int, int, str]  # which output, which element, and the unit along it
    along: list[tuple[int, int, str]]


def proven_entry(finding: Finding) -> Entry | None:
    """The proven entry; None where there is none, or where its places are no places."""
    proof = finding.proof
    if proof is None or not finding.proven or len(proof.spots) != 2 or any(s.way for s in finding.verdict.scenarios):
        return None
    output, alongs = proof.spots
    if len(alongs) != finding.verdict.order or any(len(spot) != 3 for spot in (output, *alongs)):
        return None
    unit = ("1.0", "1j")
    places = [(int(k), int(i), unit[bool(part)]) for k, i, part in (output, *alongs)]
    return Entry(proof.what, proof.number, proof.enclosure, places[0], places[1:])


def first_step(finding: Finding) -> float:
    """The longest step of the ladder that saw the bug, in units of the inputs."""
    step = finding.verdict.detail.get("first_step")
    return float(step) if isinstance(step, (int, float)) and 0 < step < float("inf") else FIRST_STEP


def tolerance(finding: Finding) -> float:
    expected, actual = finding.verdict.expected, finding.verdict.actual
    in_a_way = any(s.way for s in finding.verdict.scenarios)  # its script compares whole derivatives, not the proven entry
    if finding.proof is not None and finding.proven and not in_a_way:
        numbers = [v for k, v in (finding.proof.got or {}).items() if k in finding.proof.wrong and isinstance(v, (int, float))]
        exact = float(finding.proof.number)
        gaps = [abs(v - exact) / abs(exact) for v in numbers if math.isfinite(v)] if exact else []
        return min(MOST_PROVEN_TOLERANCE, *(gap / 10 for gap in gaps)) if gaps else MOST_PROVEN_TOLERANCE
    if expected is None:  # the checks do not agree on a number; this one is theirs of the ladder
        expected = finding.verdict.detail.get("numeric")
    most, share = (MOST_PRECISION_TOLERANCE, OF_A_LOSS) if finding.verdict.oracle == "precision" else (MOST_TOLERANCE, 10)
    if not isinstance(expected, (int, float)) or not isinstance(actual, (int, float)) or actual != actual:
        return most
    size = max(abs(expected), abs(actual))
    return min(most, abs(expected - actual) / size / share) if 0 < size < float("inf") else most
