"""Whether two findings that share a cause's name can be of one formula, by their modes, orders and labels."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.bugs.blame import calls, one_function
from gradfuzz.bugs.keys import COARSER, own_cause, run_together, subject
from gradfuzz.bugs.likeness import is_complex, one_symptom
from gradfuzz.bugs.names import names_of
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.labels import BY_DESIGN
from gradfuzz.oracles.verdict import ACCURACY, GRADIENT, Verdict
from gradfuzz.targets.base.scenario import Modes

# A function's name of so many letters does not stand in a complaint by chance.
TELLING = 8


def one_formula(a: Finding, b: Finding) -> bool:
    """Whether two findings that share a cause's name can be of one formula: reverse and forward mode have one each, unless the library
    transposes the one to get the other. Two labels are two.

    Of one order they share a scenario, or the mode that comes first, whose formula the other modes differentiate. Of two orders the
    lower explains the higher if every scenario at fault there contains one that is at fault below.
    """
    if a.label is not None and b.label is not None:
        return a.label == b.label  # somebody has told them apart, or has not
    if ("says", "") in (own_cause(a)[:2], own_cause(b)[:2]) and not _one_operator(a, b):
        return False  # words that many formulas may say
    if a.label is not None or b.label is not None:
        # A label says what it is about: what it was not given to has another cause, or follows from it, as what calls it does.
        labelled, other = (a, b) if a.label is not None else (b, a)
        return _explained(a, b) or follows(labelled, other)
    if "wrong" not in (own_cause(a)[0], own_cause(b)[0]):
        return True
    first, second = sorted((a, b), key=lambda f: f.verdict.order)
    low, high = first.verdict, second.verdict
    ours, theirs = ([s.modes for s in v.scenarios] for v in (low, high))
    if names_of(a.target).transposes and low.order == high.order and run_together(subject(a)) == run_together(subject(b)):
        return True
    if low.order < high.order:
        if first.ordinary is False and second.ordinary and not first.kind == second.kind == ACCURACY:
            return False  # what is wrong at special numbers alone explains nothing at ordinary ones
        return explains_modes(low, high) or _first(ours) == _first(theirs)
    return bool(set(ours) & set(theirs)) or _first(ours) == _first(theirs)


def _one_operator(a: Finding, b: Finding) -> bool:
    """Whether two are of one function, or one calls the other's operator, or what both say names the function of one.

    Of two of which no operator is known nothing tells them apart but what they say.
    """
    if not any((a.rule, a.rules, b.rule, b.rules)) or one_function(a, b) or calls(a, b) or calls(b, a):
        return True
    names = names_of(a.target)
    words = run_together(f"{a.verdict.symptom} {b.verdict.symptom}".lower())
    ours, theirs = (run_together(subject(f)) for f in (a, b))
    within = ({run_together(names.of_rule(rule)) for rule in f.rules if not f.rule} for f in (b, a))
    calling = any(name in inside for name, inside in zip((ours, theirs), within))
    return ours == theirs or calling or any(len(name) >= TELLING and name in words for name in (ours, theirs))


def _explained(a: Finding, b: Finding) -> bool:
    """Whether the unlabelled one of two follows from the other: an error with its very message, or a derivative of what is wrong below."""
    if "wrong" not in (own_cause(a)[0], own_cause(b)[0]):
        return True
    low, high = sorted((a, b), key=lambda f: f.verdict.order)
    return low.label is not None and low.verdict.order < high.verdict.order and explains_modes(low.verdict, high.verdict)


def follows(known: Finding, other: Finding) -> bool:
    """Whether what one shows is what a label says of the other: it calls it, is its internal name, or is that function elsewhere.

    What is by design of a function is not of those that call it.
    """
    if known.label_name == BY_DESIGN:
        return False
    same = known.verdict.order == other.verdict.order and one_symptom(other, known)
    return (same and (calls(other, known) or _behind(known, other))) or _wrong_anyway(known, other)


def _behind(known: Finding, other: Finding) -> bool:
    """Whether one is the internal name of the other's function, which labels do not know, and shows it in the same modes."""
    modes = [{s.name for s in f.verdict.scenarios} for f in (known, other)]
    return (
        names_of(other.target).is_internal(other.api)
        and run_together(subject(known)) == run_together(subject(other))
        and modes[0] == modes[1]
    )


def _wrong_anyway(known: Finding, other: Finding) -> bool:
    """Whether a number of a function is off at special inputs, where one is at ordinary ones, in the same modes: it is so anywhere."""
    numbers = all(COARSER.get(f.kind, f.kind) == GRADIENT and own_cause(f)[0] == "wrong" for f in (known, other))
    alike = numbers and one_function(known, other) and is_complex(known) == is_complex(other)
    same = {s.modes for s in known.verdict.scenarios} == {s.modes for s in other.verdict.scenarios}
    return alike and same and known.ordinary is True and other.ordinary is False


def explains_modes(low: Verdict, high: Verdict) -> bool:
    """Whether every scenario at fault contains one that is at fault at the lower order."""
    ours, theirs = ([s.modes for s in v.scenarios] for v in (low, high))
    return all(any(_within(few, many) for few in ours) for many in theirs)


def _within(few: Modes, many: Modes) -> bool:
    """Whether the modes come in this order among the others."""
    rest = iter(many)
    return all(mode in rest for mode in few)


def _first(scenarios: Sequence[Modes]) -> set[str]:
    return {modes[0] for modes in scenarios if modes}
