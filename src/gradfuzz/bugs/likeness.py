"""What two findings show, held against each other: the same kind of wrong number, at numbers of one sort."""

from __future__ import annotations

from itertools import permutations

from gradfuzz.bugs.circumstances import circumstances
from gradfuzz.bugs.keys import COARSER, Key, own_cause, subject
from gradfuzz.bugs.names import names_of
from gradfuzz.bugs.severity import EDGE, GRADES, POINT, REGION, Severity
from gradfuzz.findings.finding import Finding
from gradfuzz.oracles.verdict import GRADIENT, INTERNAL, MALFORMED, NONFINITE, STATUS, VALUE


def symptom(finding: Finding, shown: Severity) -> Key:
    """What shows of a finding, whoever shows it: an error's words, or how a number is wrong, in which modes, at what inputs."""
    cause, label = own_cause(finding), finding.label.reason if finding.label else ""
    if cause[0] == "says":
        return (*cause, label)
    where = next((f"{s.way} {s.device}" for s in finding.verdict.scenarios), "")
    modes = " ".join(sorted("".join(s.modes) for s in finding.verdict.scenarios))
    kind = COARSER.get(finding.kind, finding.kind)
    return (cause[0], kind, where, modes, str(is_complex(finding)), shown.grade.name, oddity(shown), label)


def one_symptom(composite: Finding, operator: Finding) -> bool:
    """Whether a composite shows what an operator does: the same kind of wrong number, from numbers of one kind.

    A label for a composite says nothing of its parts.
    """
    kinds = [COARSER.get(f.kind, f.kind) for f in (composite, operator)]
    if "says" in (own_cause(composite)[0], own_cause(operator)[0]) and own_cause(composite) != own_cause(operator):
        return False
    return kinds[0] == kinds[1] and is_complex(composite) == is_complex(operator) and composite.label in (None, operator.label)


def right_there(composite: Finding, operator: Finding) -> bool:
    """Whether a composite is right where the operator is wrong, at ordinary numbers: then it is wrong for another reason elsewhere."""
    wrong = own_cause(composite)[0] == own_cause(operator)[0] == "wrong"
    return wrong and operator.ordinary is True and composite.ordinary is False


def of_many(finding: Finding) -> bool:
    """Whether it is a function made of several operators, which may have the name of one: that one is not wrong because it is.

    An API of which it is known that an operator is all there is to it (`aliases` in names.json) is that operator.
    """
    return not finding.rule and len(finding.rules) > 1 and finding.api not in (names_of(finding.target).aliases or {})


def is_of_numbers(finding: Finding) -> bool:
    """Whether a derivative is off: what raises says why."""
    return own_cause(finding)[0] in ("wrong", "way") and finding.kind not in (VALUE, STATUS, INTERNAL, MALFORMED)


def family_of(finding: Finding) -> str:
    """What several functions belong to by their names, a distribution; nothing where a function stands by itself."""
    family, apart, _ = subject(finding).partition(".")
    return family if apart and not finding.rule else ""


def is_complex(finding: Finding) -> bool:
    return any(tensor.dtype.startswith("complex") for tensor in finding.program.inputs.values())


def complex_alone(a: Finding, b: Finding, one: Severity, other: Severity) -> bool:
    """Whether it shows at ordinary complex numbers, and at real ones less gravely: what reals suffer from is another formula."""
    if is_complex(a) == is_complex(b):
        return False
    of_complex, of_reals = (one, other) if is_complex(a) else (other, one)
    return of_complex.grade not in (REGION, POINT, EDGE) and GRADES.index(of_reals.grade) > GRADES.index(of_complex.grade)


def at_a_point(a: Finding, b: Finding, one: Severity, other: Severity) -> bool:
    """Whether a higher derivative is not finite at a point alone, and the lower one is finite and wrong elsewhere.

    That makes no NaN there: a branch or a quotient does, which has nothing wrong with it below.
    """
    if a.verdict.order == b.verdict.order:
        return False
    low, high = ((a, one), (b, other)) if a.verdict.order < b.verdict.order else ((b, other), (a, one))
    finite = COARSER.get(low[0].kind, low[0].kind) == GRADIENT and high[0].kind == NONFINITE
    return finite and low[1].grade is not POINT and high[1].grade is POINT


def overflows(a: Finding, b: Finding, one: Severity, other: Severity) -> bool:
    """Whether one is not finite at huge numbers, and the other is finite and wrong at a point: what overflows is right there."""
    for (far, place), (near, point) in permutations(((a, one), (b, other))):
        finite = COARSER.get(near.kind, near.kind) == GRADIENT and point.grade is POINT
        if finite and far.kind == NONFINITE and place.grade is REGION and circumstances(far).huge:
            return True
    return False


def oddity(shown: Severity) -> str:
    """What is odd about the arguments, whichever number it is: an infinite option, an empty tensor."""
    return shown.because.partition(" of ")[0] if shown.grade is EDGE else ""
