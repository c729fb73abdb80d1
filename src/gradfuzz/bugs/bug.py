"""A bug: findings of one cause under the gravest of them. `bugs_of` makes a list that a maintainer reads of a store's findings."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from gradfuzz.bugs.blame import calls
from gradfuzz.bugs.cause import gathered
from gradfuzz.bugs.circumstances import circumstances
from gradfuzz.bugs.formula import follows
from gradfuzz.bugs.judgements import BY_DESIGN, REAL, Judgement, place
from gradfuzz.bugs.keys import causes, run_together, subject
from gradfuzz.bugs.names import names_of
from gradfuzz.bugs.severity import DOCUMENTED, EDGE, GRADES, Severity, as_shown, modes_disagree, next_to_nothing, reverse, severity, silent
from gradfuzz.errors import StoreError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.labels import NEW, NEWS, REGRESSION

PREFIX = "bug-"


@dataclass(frozen=True)
class Bug:
    """One cause. Its findings come gravest first; the first one stands for it."""

    id: str
    findings: tuple[Finding, ...]
    severity: Severity
    judgements: tuple[Judgement, ...] = ()

    @property
    def leading(self) -> Finding:
        return self.findings[0]

    @property
    def title(self) -> str:
        return f"{self.leading.api}: {self.leading.title}"

    @cached_property
    def apis(self) -> tuple[str, ...]:
        """Everything that shows it, the leading finding's first."""
        return tuple(dict.fromkeys(f.api for f in self.findings))

    @cached_property
    def label_name(self) -> str:
        """New, if any of its findings is and follows from no labelled one: a label must not hide a neighbour. A regression is more."""
        labelled = [f for f in self.findings if f.label is not None]
        labels = Counter(f.label_name for f in self.findings if f.label is not None or not any(follows(known, f) for known in labelled))
        return next((name for name in (REGRESSION, NEW) if labels[name]), labels.most_common(1)[0][0])

    @property
    def times(self) -> int:
        return sum(f.times for f in self.findings)

    @property
    def proven(self) -> bool:
        return any(f.proven for f in self.findings)

    @property
    def judged(self) -> str:
        """What people say of it in one word: real, if any of its findings is."""
        said = [j.judgement for j in self.judgements]
        return REAL if REAL in said else said[0] if said else ""

    @property
    def affects(self) -> str:
        """Modes and orders in which it shows, in words."""
        names = dict.fromkeys(name for f in self.findings for name in f.verdict.names)
        return ", ".join(names)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "title": self.title, "severity": self.severity.grade.name, "because": self.severity.because,
            "reason": self.severity.grade.reason, "label": self.label_name, "judgement": self.judged, "proven": self.proven,
            "apis": list(self.apis), "scenarios": self.affects.split(", "), "times": self.times, "findings": [f.id for f in self.findings],
        }  # fmt: skip


def bugs_of(findings: Sequence[Finding], judgements: Sequence[Judgement] = ()) -> list[Bug]:
    """Findings as bugs, the gravest first, with what people have said of them. What several campaigns have met is one finding."""
    said = {place(j): j for j in judgements}
    found = [_bug(group, said) for group in gathered(_once(findings))]
    names = Counter(bug.id for bug in found)
    return sorted((bug if names[bug.id] == 1 else _told_apart(bug) for bug in found), key=_order)


def _told_apart(bug: Bug) -> Bug:
    """Two bugs may have a cause in common and be two all the same: then one of its findings is a part of each one's id."""
    return replace(bug, id=f"{bug.id}-{min(f.id for f in bug.findings).rsplit('-', 1)[-1]}")


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """The last sight of each finding, met as often as in all campaigns."""
    times: Counter[tuple[str, str, str]] = Counter()
    last: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        which = (finding.target, finding.version, finding.id)
        times[which] += finding.times
        last[which] = finding
    return [replace(f, times=times[which]) for which, f in last.items()]


def in_turn(findings: Sequence[Finding]) -> list[Finding]:
    """Findings in the order in which they are worth finishing: one of each bug, the gravest first, before the second of any."""
    rounds = zip_longest(*(bug.findings for bug in bugs_of(findings)))
    return [finding for turn in rounds for finding in turn if finding is not None]


def find_bug(bugs: Sequence[Bug], prefix: str) -> Bug:
    """The one bug whose id starts so."""
    found = [b for b in bugs if b.id == prefix] or [b for b in bugs if b.id.startswith(prefix)]
    if len(found) != 1:
        what = f"no bug starts with {prefix!r}" if not found else f"{prefix!r} could be any of {', '.join(b.id for b in found)}"
        raise StoreError(f"{what}; `gradfuzz bugs --all` lists them")
    return found[0]


def _bug(group: Sequence[Finding], judged: Mapping[tuple[str, str, str], Judgement]) -> Bug:
    above = {f.id: sum(calls(f, other) for other in group) for f in group}  # what others call is the bug, and they its consequences
    ordered = sorted(group, key=lambda f: (GRADES.index(severity(f).grade), above[f.id], *_weight(f)))
    said = tuple(judged[place(f)] for f in ordered if place(f) in judged)
    dismissed = len(said) == len(ordered) and REAL not in {j.judgement for j in said}  # all of it: a judgement hides no neighbour
    given = Severity(DOCUMENTED if said[0].judgement == BY_DESIGN else EDGE, f"judged {said[0].judgement}") if dismissed else None
    return Bug(_id(ordered), tuple(ordered), given or _told(ordered, judged), said)


def _told(ordered: Sequence[Finding], judged: Mapping[tuple[str, str, str], Judgement]) -> Severity:
    """That of the gravest; and where it would be folded for a name or a label, and a person says real, what such a finding shows."""
    found = severity(ordered[0])
    real = [as_shown(f) for f in ordered if place(f) in judged and judged[place(f)].judgement == REAL] if found.grade.folded else []
    shown = min(real, key=lambda s: GRADES.index(s.grade), default=found)
    return Severity(shown.grade, f"judged {REAL}; {found.because}") if found.grade.folded and not shown.grade.folded else found


def _id(findings: Sequence[Finding]) -> str:
    """Short, readable, and the same as long as the first cause that its findings have by name is among them."""
    key = min(min(causes(f)) for f in findings)
    subjects = [subject(f) for f in findings]
    often = Counter(map(run_together, subjects)).most_common(1)[0][0]
    at_fault = any(calls(f, findings[0]) for f in findings)
    name = subjects[0] if at_fault else next(s for s in subjects if run_together(s) == often)
    name = "_".join(name.split())  # an id is one word, whatever a rule is called
    return f"{PREFIX}{name}-{hashlib.sha256('|'.join(key).encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"


def _weight(finding: Finding) -> tuple[Any, ...]:
    """Which of two findings of one grade is the graver, and the better example of its bug."""
    names = names_of(finding.target)
    return (
        names.is_internal(finding.api) or names.is_deprecated(finding.api), finding.is_complex,
        finding.verdict.order, not silent(finding), any(s.way for s in finding.verdict.scenarios), not reverse(finding),
        not modes_disagree(finding), not finding.proven, finding.label_name not in NEWS, -finding.times,
        len(finding.api), finding.id,
    )  # fmt: skip


def _order(bug: Bug) -> tuple[Any, ...]:
    """Within a grade the new comes first, what shows in numbers that people have, and what real ones show; then as `_weight` has it."""
    far = circumstances(bug.leading).far + next_to_nothing(bug.leading)
    return (GRADES.index(bug.severity.grade), bug.label_name not in NEWS, far, bug.leading.is_complex, *_weight(bug.leading))
