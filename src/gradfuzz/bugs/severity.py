"""How grave a finding is: grades in their order, each with its reason, and why a finding has its grade."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from gradfuzz.bugs.circumstances import Circumstances, circumstances
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.labels import BY_DESIGN, REGRESSION
from gradfuzz.oracles.verdict import (
    ACCURACY,
    CRASH,
    GRADIENT,
    INTERNAL,
    KINK,
    MALFORMED,
    MEMORY,
    NONFINITE,
    PRECISION,
    STATUS,
    TAIL,
    TIMEOUT,
    VALUE,
)


@dataclass(frozen=True)
class Grade:
    """`title` is what a list says above its bugs, `reason` why they stand where they stand. Folded: counted in one line, not listed."""

    name: str
    title: str
    reason: str
    folded: bool = False


BACK = Grade("regression", "said to be mended, and here", "Somebody has closed its report: it came back, or never went.")
FIRST = Grade(
    "silent", "silently wrong first derivatives, or other outputs, at ordinary numbers",
    "Nothing warns whoever trains with it, and everything that is built on gradients is wrong.",
)  # fmt: skip
HIGHER = Grade(
    "silent-higher", "silently wrong higher derivatives at ordinary numbers",
    "As silent, met by those who differentiate twice: Hessians, meta-learning, physics.",
)  # fmt: skip
LOUD = Grade(
    "loud", "NaN, errors and deaths at ordinary numbers",
    "It stops the work, and whoever meets it knows.",
)  # fmt: skip
REGION = Grade(
    "region", "wrong in a region: tails, lower precision, huge or tiny numbers",
    "Right for most inputs, and wrong over a range that some reach.",
)  # fmt: skip
POINT = Grade(
    "point", "wrong or not finite at single points",
    "Zeros, ties and infinities: met where data have them on purpose, as after a relu or in a mask.",
)  # fmt: skip
FORM = Grade("form", "tangents of the wrong type or shape", "The numbers are right, and the next operation refuses them or rounds them.")
DOCUMENTED = Grade("documented", "by design", "The library's documentation says it, or those who maintain it do.", folded=True)
EDGE = Grade("edge", "edge cases", "True, and hardly anybody computes with such inputs.", folded=True)

# The gravest first.
GRADES = (BACK, FIRST, HIGHER, LOUD, REGION, POINT, FORM, DOCUMENTED, EDGE)

_ERRORS = (STATUS, INTERNAL, MEMORY, CRASH, TIMEOUT)
_REGIONAL = {ACCURACY: "digits are lost", TAIL: "it is lost beside larger numbers", PRECISION: "in a lower precision alone"}
# Derivatives below this at ordinary numbers are what roundings leave.
NOTHING = 1e-12
UNVALIDATED = "unvalidated argument"
# What is said of outputs that do not look alike: their types and shapes.
_SHAPES = re.compile(r"\w+\[([\d, ]*)\]")
# How documentation says that an argument is taken as it comes.
_UNCHECKED = re.compile(r"\bundefined\b|\bunchecked\b|\bnot (be )?(checked|validated)\b|\bbounds.check", re.IGNORECASE)


@dataclass(frozen=True)
class Severity:
    """A grade, and what of the finding gave it."""

    grade: Grade
    because: str = ""


def severity(finding: Finding) -> Severity:
    """The grade of one finding, by what is stored of it.

    What shows at its neighbours, too (`findings/inside/neighbours.py`), is ordinary whatever its smallest example looks like; what does
    not is a matter of a region or of a point. Where nobody has looked, zero is held against NaN alone: examples are shrunk towards it.
    """
    if finding.label_name == REGRESSION:
        return Severity(BACK)
    if finding.label_name == BY_DESIGN:
        return Severity(DOCUMENTED, "labelled so")
    seen = circumstances(finding)
    shown = as_shown(finding, seen)
    because = _odd_api(finding, seen) if shown.grade is not EDGE else ""
    return Severity(EDGE, because) if because else shown


def as_shown(finding: Finding, seen: Circumstances | None = None) -> Severity:
    """The grade by what it shows at which inputs, whatever it is called and labelled."""
    seen = seen or circumstances(finding)
    because = _odd_arguments(finding, seen)
    if because:
        return Severity(EDGE, because)
    kind = finding.kind
    if kind == MALFORMED or (kind == VALUE and _reshaped(finding)):
        return Severity(FORM)
    if kind in _REGIONAL:
        return Severity(REGION, _REGIONAL[kind])
    # Loops that end when a number is small enough take their time where it is not: that is a matter of the inputs.
    if kind == CRASH or (kind == TIMEOUT and not (seen.infinite or seen.endless or seen.extreme)):
        return Severity(LOUD, "whatever the inputs, a library must not take its process down")
    if kind == KINK:
        return Severity(POINT, "at a kink")
    if kind == NONFINITE and (seen.special or seen.infinite):
        return Severity(POINT, "where all that is differentiated is zero or infinite")
    if kind == NONFINITE and seen.nothing:
        return Severity(POINT, "where an argument is zero")
    if seen.infinite or seen.endless:
        return Severity(POINT, "beside an infinity")
    if seen.extreme:
        return Severity(REGION, "huge or tiny numbers")
    if seen.guard and kind not in _ERRORS:
        return Severity(REGION, f"within the reach of {seen.guard}")
    if seen.low:
        return Severity(REGION, f"seen in {seen.low}")
    if seen.mixed:
        return Severity(REGION, f"where {' meets '.join(seen.mixed)}")
    if seen.view:
        return Severity(REGION, f"for {'an' if seen.view == 'expanded' else 'a'} {seen.view} view")
    if finding.proven and next_to_nothing(finding):
        return Severity(REGION, "next to nothing, and lost beside larger numbers")
    if finding.ordinary is False:
        return Severity(POINT if seen.zeros else REGION, "it does not show at other ordinary numbers")
    if kind == NONFINITE or kind in _ERRORS:
        return Severity(LOUD)
    return Severity(FIRST if finding.verdict.order <= 1 else HIGHER)


def _odd_arguments(finding: Finding, seen: Circumstances) -> str:
    """What of its arguments hardly anybody has; nothing where somebody does.

    A death is told whatever they are, unless the documentation says that they are not looked at.
    """
    if finding.random and finding.kind == VALUE:
        return "a random function that draws other numbers"
    if finding.kind == CRASH:
        return f"{UNVALIDATED}: an index out of range" if seen.index and _unchecked(finding) else ""
    if seen.nan:
        return f"{UNVALIDATED}: NaN"
    if seen.empty:
        return "empty tensors"
    if seen.index:
        return f"{UNVALIDATED}: an index out of range"
    if seen.backwards:
        return f"{UNVALIDATED}: {seen.backwards} that go back"
    if seen.narrow and finding.kind in (*_ERRORS, MALFORMED):
        return f"mixed types: {', '.join(seen.mixed)}"
    if seen.whole:
        return "truth values or integers in the place of numbers"
    if seen.discards:
        return "complex numbers asked for as real ones"
    if seen.endless and not seen.norm:
        return "an infinite argument"  # an ordinary one was tried in its place
    if seen.tolerance:
        return "a tolerance is differentiated"
    if seen.twice and finding.kind == NONFINITE and finding.verdict.order > 1:
        return "one tensor passed twice"
    return f"an option of {seen.option}" if seen.option else ""


def _odd_api(finding: Finding, seen: Circumstances) -> str:
    """Why hardly anybody calls it so. A public name that is silently wrong at ordinary numbers counts, whether or not it was described.

    So does a death of whatever people can name, and an operator that a way of running gets wrong there: it does so for
    every public function that stands on it.
    """
    if finding.kind == CRASH:
        return "not a public API" if seen.operator else ""
    hidden = [name for name in finding.hidden if not (finding.ordinary and silent(finding) and _is_name_of(name, finding.api))]
    if hidden:
        return f"undocumented: {', '.join(hidden)}"
    if seen.internal and not (seen.operator and finding.ordinary and silent(finding) and _in_a_way(finding)):
        return "not a public API"
    return "a deprecated API" if seen.deprecated else ""


def _reshaped(finding: Finding) -> bool:
    """Whether outputs have another shape or type, and as many numbers: which these are, nobody has said to differ."""
    told = [_SHAPES.findall(str(side)) for side in (finding.verdict.expected, finding.verdict.actual)]
    counts = [[math.prod(int(n) for n in shape.split(",") if n.strip()) for shape in shapes] for shapes in told]
    return bool(counts[0]) and counts[0] == counts[1]


def _in_a_way(finding: Finding) -> bool:
    return any(s.way for s in finding.verdict.scenarios)


def _is_name_of(name: str, api: str) -> bool:
    return name == api.rsplit(".", 1)[-1]


def _unchecked(finding: Finding) -> bool:
    """Whether the documentation says that arguments are not looked at."""
    return any(_UNCHECKED.search(sentence) for sentence in finding.documented or ())


def next_to_nothing(finding: Finding) -> bool:
    """Whether the derivative, right or wrong, is a rounding of what people compute with; a number that is not known tells nothing."""
    known = [n for n in (finding.verdict.expected, finding.verdict.actual) if n is not None]
    return any(known) and all(isinstance(n, (int, float)) and abs(n) < NOTHING for n in known)


def silent(finding: Finding) -> bool:
    """Whether nothing warns: a number, finite and wrong."""
    return finding.kind not in (*_ERRORS, NONFINITE, MALFORMED)


def reverse(finding: Finding) -> bool:
    """Whether reverse mode is affected, which most people use."""
    return any("r" in s.modes for s in finding.verdict.scenarios)


def modes_disagree(finding: Finding) -> bool:
    """Whether the library contradicts itself: another mode of the same order is right."""
    verdict = finding.verdict
    return finding.kind in (GRADIENT, NONFINITE) and 0 < len(verdict.scenarios) < 2**verdict.order
