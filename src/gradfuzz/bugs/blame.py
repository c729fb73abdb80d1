"""Blame by calls: of findings that show the same, one whose function the others call, or a helper that hardly anybody else calls.

Everything here is read off `Finding.calls`, and off `Finding.helpers` where a rule is at fault. A finding without any (an older store,
a library whose functions are compiled) is blamed by its rules and its name alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.calls import MOST_CALLERS
from gradfuzz.findings.labels import BY_DESIGN
from gradfuzz.program.model import Name, walk

# Of the public functions that lead to a helper, and of those among the findings, at least these parts show what it is blamed for: the
# helper's other callers may be right, untried, or go around the branch at fault.
OF_ALL, OF_THE_FOUND = 1 / 3, 1 / 2


def own(finding: Finding) -> str:
    """The function that the API is, whichever of its names it was called by; nothing where that is not known."""
    return finding.calls[0][0] if finding.calls else ""


def given(finding: Finding) -> tuple[str, ...]:
    """Functions that its calls are given and pass through, by their last names: a loop does with numbers what it was given to do."""
    passed = {name.rpartition(".")[2] for name, _ in finding.calls[1:]}
    named = (node.path.rpartition(".")[2] for call in finding.program.calls() for node in walk(call) if isinstance(node, Name))
    return tuple(name for name in dict.fromkeys(named) if name in passed)


def calls(caller: Finding, callee: Finding) -> bool:
    """Whether the function of one passes through that of the other. One that was given another does something else for everybody."""
    function = own(callee)
    passes = bool(function) and function != own(caller) and any(name == function for name, _ in caller.calls)
    return passes and not given(callee)


def one_function(a: Finding, b: Finding) -> bool:
    """Whether two APIs are one function by several names."""
    return bool(a.calls) and own(a) == own(b) and given(a) == given(b)


def by_function(findings: Sequence[Finding]) -> list[list[int]]:
    """Positions of the findings of each function, and of what it was given."""
    found: dict[tuple[str, ...], list[int]] = {}
    for i, finding in enumerate(findings):
        if finding.calls:
            found.setdefault((own(finding), *given(finding)), []).append(i)
    return list(found.values())


def called(findings: Sequence[Finding]) -> Iterator[tuple[int, int]]:
    """Positions of findings such that the function of the first calls that of the second."""
    at = {own(findings[members[0]]): members for members in by_function(findings) if not given(findings[members[0]])}
    for i, finding in enumerate(findings):
        for name, _ in finding.calls[1:]:
            yield from ((i, j) for j in at.get(name, ()))


def _passed(finding: Finding) -> tuple[tuple[str, int], ...]:
    """What may be blamed in the place of a finding: helpers of its rule, or of its function where no rule is at fault."""
    return finding.helpers if finding.rule else finding.calls[1:]


def helpers(findings: Sequence[Finding], symptoms: Mapping[int, tuple[str, ...]]) -> Iterator[list[int]]:
    """Positions of findings that have a symptom and a helper in common, such that the helper tells them from other findings.

    `symptoms`: what shows of each finding. An error says the same words each time, so that nothing more is asked of whoever uses the
    helper; a wrong number is like any other, and its helper must be one that most of those found to use it are wrong with, and a good
    part of all public functions, or rules, that lead to it.
    """
    using: dict[str, list[int]] = {}
    callers: dict[str, int] = {}
    for i, finding in enumerate(findings):
        for name, count in _passed(finding):
            if count <= MOST_CALLERS:
                using.setdefault(name, []).append(i)
                callers[name] = count
    for name, users in using.items():
        # What is by design of a function says nothing of its helper.
        others = (findings[i] for i in users if findings[i].label_name != BY_DESIGN)
        everybody = {f.rule or own(f) for f in others} | {own(f) for f in findings if own(f) == name}
        for symptom in dict.fromkeys(symptoms[i] for i in users if i in symptoms):
            alike = [i for i in users if symptoms.get(i) == symptom]
            functions = {findings[i].rule or own(findings[i]) for i in alike}
            telling = len(functions) > OF_THE_FOUND * len(everybody) and len(functions) >= OF_ALL * callers[name]
            if len(functions) > 1 and (symptom[0] == "says" or telling):
                yield alike
