"""What a finding may share with others of its cause, as text that a person can read: keys by which findings are gathered."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from gradfuzz.bugs.blame import given
from gradfuzz.bugs.circumstances import circumstances, mixed_types
from gradfuzz.bugs.names import names_of, without_dimensions
from gradfuzz.bugs.severity import REGION, Severity
from gradfuzz.findings.finding import Finding
from gradfuzz.oracles.verdict import ACCURACY, CRASH, GRADIENT, INTERNAL, MALFORMED, STATUS, TAIL, TIMEOUT, VALUE, WAY, Verdict
from gradfuzz.program.model import Ref, walk

Key = tuple[str, ...]

# So much of a complaint tells it apart from others; what comes later are the names and numbers of the call that met it.
TELLING_WORDS = 12
# Kinds that are one to who compares: a number that is off.
COARSER = {ACCURACY: GRADIENT, TAIL: GRADIENT}
# A word of so many letters that two names share makes them a family: what is wrong in both by one factor was written twice.
FAMILY = 5
# Two factors are one if they agree in so many digits: they are quotients of numbers that were measured.
FACTOR_DIGITS = 6
# A complaint's subject where whoever calls is not to blame; it may say at which order.
ANYBODY = "any"
# An entry of a matrix, as verdicts name it.
_ENTRY = re.compile(r"(?P<name>\w+)\[(?:\d+, )*(?P<row>\d+), (?P<column>\d+)\]")


def subject(finding: Finding) -> str:
    """The function at fault in one word: that of the derivative rule where one is known, else that of the API."""
    names = names_of(finding.target)
    ruled = finding.rule and finding.kind != VALUE  # where the output itself changes, no rule is to blame
    return names.of_rule(finding.rule) if ruled else names.stem(finding.api)


def run_together(name: str) -> str:
    """Without what stands between words: modules and rules are not always cut into words as functions are (SiLU, silu)."""
    return name.replace("_", "")


def causes(finding: Finding) -> list[Key]:
    """What a finding may share with others that have its cause, as text that a person can read.

    An error is its message, whoever meets it; a wrong number is its rule's, or its function's; a way of running answers for itself; calls
    in place that are not recorded are not recorded for one reason. A label is given to a cause, so what carries the same one has the same.
    An API that calls several operators shares the causes of their rules: `gathered` joins it to one of them, if just one is wrong, and not
    to its like. What two functions may share beside that are `ties`.
    """
    names = names_of(finding.target)
    found = [(finding.target, *own_cause(finding))]
    if found[0][1] == "says" and found[0][2] not in ("", ANYBODY):  # in one function, whichever operator is named
        found.append((*found[0][:3], run_together(subject(finding)), " ".join(found[0][3].split()[:TELLING_WORDS])))
    if found[0][1] in ("wrong", "way", CRASH, TIMEOUT):  # a composite is wrong because an operator inside it is: that one's bug
        found += [(finding.target, found[0][1], run_together(names.of_rule(rule)), *found[0][3:]) for rule in finding.rules]
    if finding.label is not None:
        found.append((finding.target, "label", finding.label.label, finding.label.reason, finding.label.link))
    return found


def own_cause(finding: Finding) -> Key:
    verdict = finding.verdict
    where = next(((s.way, s.device) for s in verdict.scenarios if s.way or s.device), ("", ""))
    if verdict.oracle == "process":
        return (verdict.kind, run_together(subject(finding)))
    if verdict.kind == STATUS and finding.mutates and not finding.rule and 0 < len(finding.rules) <= 1 and not verdict.subject:
        return ("unrecorded",)  # as below; what comes back has the shape of what was written over
    if verdict.kind in (STATUS, INTERNAL) and verdict.symptom:
        blamed = verdict.subject if verdict.subject.startswith(ANYBODY) else ""
        said = names_of(finding.target).anybody_s(verdict.symptom)
        if said:
            # One reason for one sort of call: a mix of types is another than an option, and a way has reasons of its own.
            return ("says", ANYBODY, said, *filter(None, where), *(("mixed types",) if mixed_types(finding.program.inputs) else ()))
        named = blamed not in ("", ANYBODY)  # the message names the operator at fault, behind what all such messages say
        return ("says", blamed, " ".join(verdict.symptom.split()[: None if named else TELLING_WORDS]))
    who = verdict.subject if verdict.subject == ANYBODY else run_together(subject(finding))
    if any(where):
        return ("way", who, *where)
    if verdict.kind == MALFORMED and finding.mutates:
        return (verdict.kind, "in place")  # what is written to keeps its type, and its tangent does not
    if verdict.kind in (STATUS, INTERNAL, MALFORMED, VALUE):
        return (verdict.kind, who)
    if finding.mutates and not finding.rule and verdict.kind == GRADIENT and verdict.expected == 0:
        return ("unrecorded",)  # what was written over keeps its derivative, and no rule was at work: the write is not on the books
    return ("wrong", f"{who} of {' and '.join(given(finding))}" if given(finding) else who)  # two that were given to one loop are two


def ties(finding: Finding) -> Iterator[Key]:
    """What a finding may have in common with another function's, whose cause has another name.

    Where one mode refuses and no rule is on its books, the other mode ought to have refused as well: one check that is missing, whoever
    meets it. Functions of one family that are off by one factor under one option were written after each other, and so were tangents
    that have another type under one option. Functions whose names begin alike and that have a derivative by the triangle of a matrix which
    neither reads forget the same. A formula that writes over what its own derivative needs raises where the library notices it,
    and is wrong where it does not.
    """
    verdict, options, cause = finding.verdict, _options(finding), own_cause(finding)[0]
    if verdict.order > 1 and (cause == "wrong" or names_of(finding.target).is_overwritten(verdict.symptom)):
        yield finding.target, "overwritten", run_together(subject(finding))
    if cause == "wrong" and not finding.rule and not finding.rules and finding.landscape is not None:
        refused = [said for name, said in finding.landscape.refused.items() if name not in verdict.names]
        yield from ((finding.target, "refused", _without(said, subject(finding))) for said in refused)
    if cause == "wrong" and options and (factor := _factor(verdict)):
        words = [word for word in subject(finding).split("_") if len(word) >= FAMILY]
        yield from ((finding.target, "factor", factor, options, word) for word in words)
    if cause == "wrong" and (triangle := _unread(finding)):
        yield finding.target, "unread", triangle, subject(finding).partition("_")[0]
    if verdict.kind == MALFORMED and options and not finding.mutates:
        yield finding.target, "option", options, verdict.symptom
    if cause == "way" or (cause == "says" and verdict.kind in (STATUS, INTERNAL)):
        who, kind = run_together(subject(finding)), finding.kind if cause == "way" else "raises"  # each in other words
        yield from ((finding.target, "kin", who, kind, part) for s in verdict.scenarios[:1] for part in kin(finding.target, s.way))
    if cause == "way":
        gathering = (s.way for s in verdict.scenarios[:1] if names_of(finding.target).way(s.way).gathers)
        yield from ((finding.target, "gathered", way, str(outputs_differ(finding))) for way in gathering)


def _unread(finding: Finding) -> str:
    """The triangle of a matrix on which the output does not hang, where the derivative is said to by an entry of it; nothing elsewhere."""
    verdict = finding.verdict
    entry = _ENTRY.fullmatch(str(verdict.detail.get("element")))
    recipe = finding.program.inputs.get(entry["name"]) if entry else None
    if entry is None or recipe is None or verdict.kind != GRADIENT or verdict.expected != 0 or not verdict.actual:
        return ""
    row, column = int(entry["row"]), int(entry["column"])
    return "" if row == column or recipe.shape[-1] != recipe.shape[-2] else "upper" if column > row else "lower"


def outputs_differ(finding: Finding) -> bool:
    """Whether a way gives other outputs, and not another derivative of the same ones alone."""
    return finding.kind == VALUE or bool(finding.verdict.detail.get("outputs"))


def kin(target: str, way: str) -> set[str]:
    """What a way has in common with others that are made alike: its stages, itself among them, and the word that its name begins with.

    A way of a user's own rule has nothing in common with others but that rule.
    """
    about = names_of(target).way(way)
    return set() if not way or about.of_its_own else {way, way.partition("-")[0], *about.stages}


def at_the_same_numbers(finding: Finding, shown: Severity) -> Iterator[Key]:
    """What a finding may have in common with another that shows at numbers of the same sort.

    A way that differs from the plain derivative where that is wrong may well be right. Functions whose names begin alike and that are all
    wrong at huge numbers, in the same modes, lose there what they all have.
    """
    cause, scenarios = own_cause(finding)[0], finding.verdict.scenarios
    if finding.label is not None or not scenarios:
        return
    modes = " ".join(sorted({"".join(s.modes) for s in scenarios}))
    if cause in ("way", "wrong") and finding.kind in (WAY, GRADIENT):
        yield finding.target, "plain", run_together(subject(finding)), shown.grade.name, shown.because, str(finding.verdict.order), modes
    first = subject(finding).partition("_")[0]
    if cause == "wrong" and finding.rule and len(first) >= FAMILY and shown.grade is REGION and circumstances(finding).huge:
        yield finding.target, "far", first, COARSER.get(finding.kind, finding.kind), modes


def of_both(key: Key) -> bool:
    """Whether a key is as good as any of a finding's: two composites share no cause because they share a part."""
    return key[1] in ("label", "says", "refused", "factor", "option", "overwritten", "kin", "plain", "far", "gathered", "unread")


def _without(said: str, name: str) -> str:
    """The first of what is said, without the function's name; that of an operator is the same in every number of dimensions."""
    words = [without_dimensions(word) for word in said.split()]
    return " ".join([word for word in words if run_together(word.strip(".,:'`\"")).lower() != run_together(name)][:TELLING_WORDS])


def _factor(verdict: Verdict) -> str:
    """How many times too large a derivative is; nothing where there is no saying."""
    numbers = (verdict.actual, verdict.expected)
    if verdict.kind != GRADIENT or not all(isinstance(n, (int, float)) and math.isfinite(n) and n for n in numbers):
        return ""
    return f"{float(numbers[0]) / float(numbers[1]):.{FACTOR_DIGITS}g}"


def _options(finding: Finding) -> str:
    """Options by name of what is called, as text; shrinking has left those that it takes."""
    given = {
        f"{name}={value!r}" for call in finding.program.calls() for name, value in call.kwargs
        if not any(isinstance(node, Ref) for node in walk(value))
    }  # fmt: skip
    return ", ".join(sorted(given))
