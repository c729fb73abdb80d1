"""Which findings have one cause, as far as that can be told from what is stored of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, permutations

from gradfuzz.bugs.blame import OF_ALL, by_function, called, helpers
from gradfuzz.bugs.formula import explains_modes, one_formula
from gradfuzz.bugs.keys import Key, at_the_same_numbers, causes, of_both, own_cause, run_together, subject, ties
from gradfuzz.bugs.likeness import (
    at_a_point,
    complex_alone,
    family_of,
    is_of_numbers,
    oddity,
    of_many,
    one_symptom,
    overflows,
    right_there,
    symptom,
)
from gradfuzz.bugs.severity import GRADES, POINT, REGION, Severity, as_shown
from gradfuzz.findings.finding import Finding
from gradfuzz.oracles.verdict import STATUS


def gathered(findings: Sequence[Finding]) -> list[list[Finding]]:
    """The findings by cause, each group and its members in the order in which they were met."""
    gathering = _Gathering(findings)
    gathering.by_key()
    gathering.by_name()
    explained = gathering.by_callee()
    gathering.by_helper(explained)
    gathering.by_kin(explained)
    return gathering.groups()


class _Gathering:
    """Findings by number, each in a group; a rule joins the groups of two at a time, and the smallest number stands for a group."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = findings
        self._group = list(range(len(findings)))
        self._shown: dict[int, Severity] = {}
        self.keys = [causes(finding) for finding in findings]
        self.alike: dict[Key, list[int]] = {}
        for i, shared in enumerate(self.keys):
            for key in (*shared, *ties(findings[i]), *at_the_same_numbers(findings[i], self.shown(i))):
                self.alike.setdefault(key, []).append(i)

    def groups(self) -> list[list[Finding]]:
        found: dict[int, list[Finding]] = {}
        for i, finding in enumerate(self.findings):
            found.setdefault(self.root(i), []).append(finding)
        return list(found.values())

    def root(self, i: int) -> int:
        while self._group[i] != i:
            i = self._group[i]
        return i

    def apart(self, i: int, j: int) -> bool:
        return self.root(i) != self.root(j)

    def join(self, i: int, j: int) -> None:
        self._group[max(self.root(i), self.root(j))] = min(self.root(i), self.root(j))

    def shown(self, i: int) -> Severity:
        if i not in self._shown:
            self._shown[i] = as_shown(self.findings[i])
        return self._shown[i]

    @cached_property
    def symptoms(self) -> dict[int, Key]:
        return {i: symptom(finding, self.shown(i)) for i, finding in enumerate(self.findings)}

    # The rules, each on top of those before it ---------------------------------------------------------------------------

    def by_key(self) -> None:
        """Findings that share a key, unless it is the key of an operator that both merely call."""
        for key, members in self.alike.items():
            for i, j in combinations(members, 2):
                if key[1] == "plain" and own_cause(self.findings[i])[0] == own_cause(self.findings[j])[0]:
                    continue  # two ways that differ from what is right
                if self.apart(i, j) and (of_both(key) or key == self.keys[i][0] == self.keys[j][0]) and self.together(i, j):
                    self.join(i, j)

    def by_name(self) -> None:
        """One function by two names."""
        for i, j in _pairs(by_function(self.findings)):
            if self.apart(i, j) and one_symptom(self.findings[i], self.findings[j]) and self.together(i, j):
                self.join(i, j)

    def by_callee(self) -> set[int]:
        """What is wrong because of an operator that it calls, or of a function, joins that one; returns the findings that may be so."""
        callees = [(key, list(permutations(members, 2))) for key, members in self.alike.items() if not of_both(key)]
        operates: dict[tuple[Key, int], bool] = {}
        explained: set[int] = set()
        while True:
            parts: dict[int, set[int]] = {}  # of groups, those whose operator, or function, they may be wrong because of
            for key, pairs in callees:
                for i, j in pairs:
                    one, other = self.findings[i], self.findings[j]
                    if key != self.keys[j][0] or key == self.keys[i][0] or of_many(other) or right_there(one, other):
                        continue
                    if self.explains(i, j):
                        if (key, j) not in operates:
                            operates[key, j] = self.at_work(key, j)
                        if operates[key, j]:
                            parts.setdefault(self.root(i), set()).add(self.root(j))
            for i, j in called(self.findings):
                because = self.explains(i, j) or self.raises_too(i, j)
                if because and explains_modes(self.findings[j].verdict, self.findings[i].verdict):
                    parts.setdefault(self.root(i), set()).add(self.root(j))
            explained |= {i for i in range(len(self.findings)) if self.root(i) in parts}
            # Of two operators that are wrong nobody knows which it is: and they are two bugs, whoever calls both.
            known = {i: next(iter(operators)) for i, operators in parts.items() if len(operators) == 1}
            for i, j in known.items():
                if self.apart(i, j):
                    self.join(i, j)
            if not known:
                return explained

    def by_helper(self, explained: set[int]) -> None:
        """Findings that show the same and share a helper which tells them from others, unless what they call explains them."""
        for members in helpers(self.findings, self.symptoms):
            rest = [i for i in members if i not in explained]
            for i, j in zip(rest, rest[1:]):
                if self.apart(i, j) and (self.symptoms[i][0] == "says" or self.together(i, j)):
                    self.join(i, j)

    def by_kin(self, explained: set[int]) -> None:
        """Functions that one bug gathers, and that show one thing more alike."""
        for i, j in self._kin_elsewhere([self.root(i) for i in range(len(self.findings))], explained):
            if self.shown(i).because == self.shown(j).because and self.apart(i, j):
                self.join(i, j)

    # What two findings are to each other -----------------------------------------------------------------------------------

    def together(self, i: int, j: int) -> bool:
        """Of one formula; and what is odd about the arguments of one is so about the other's: that is a cause of its own."""
        one, other = self.findings[i], self.findings[j]
        if not one_formula(one, other):
            return False
        if any(f.label is not None or own_cause(f)[0] != "wrong" for f in (one, other)):
            return True
        places = self.shown(i), self.shown(j)
        if complex_alone(one, other, *places) or at_a_point(one, other, *places) or overflows(one, other, *places):
            return False
        return oddity(places[0]) == oddity(places[1])

    def explains(self, i: int, j: int) -> bool:
        """Whether one may be wrong because the other is: what shows in a region or at a point explains nothing that shows elsewhere."""
        ours, theirs = self.shown(i).grade, self.shown(j).grade
        fits = GRADES.index(ours) >= GRADES.index(theirs) and (theirs is ours or theirs not in (REGION, POINT))
        return fits and self.apart(i, j) and one_symptom(self.findings[i], self.findings[j]) and self.together(i, j)

    def raises_too(self, i: int, j: int) -> bool:
        """Whether both raise, in words of their own: what a function meets inside of another is told by the first that minds."""
        one, other = self.findings[i], self.findings[j]
        alike = one.verdict.kind == other.verdict.kind == STATUS and one.label == other.label
        return alike and self.shown(i) == self.shown(j) and not any(s.way for s in one.verdict.scenarios) and self.apart(i, j)

    def at_work(self, key: Key, j: int) -> bool:
        """Whether what is wrong with an operator shows in what is made of it: in a good part of the functions that were found to call it.

        An operator that is wrong when it is called in one way, which hardly anybody does, is right in those that are called otherwise.
        """
        operator = self.findings[j]
        users = [self.findings[i] for i in self.alike[key] if key[1] == "wrong" and i != j]
        showing = {user.api for user in users if one_symptom(user, operator) and not right_there(user, operator)}
        return len(showing) >= OF_ALL * len({user.api for user in users})

    def _kin_elsewhere(self, groups: Sequence[int], explained: set[int]) -> Iterator[tuple[int, int]]:
        """Two functions that one bug gathers by their rules or by a label, and that show one thing more alike: in one further way, or
        at numbers of one sort, the same modes are wrong in both. Nobody has told that apart, as a label would. So do two of one
        distribution at ordinary numbers, unless what one of them calls explains it: their formulas are made alike, and at others each
        has its own ends.
        """
        findings = self.findings
        bugs: dict[str, set[int]] = {}  # by function
        for finding, group in zip(findings, groups):
            if is_of_numbers(finding) and not any(s.way for s in finding.verdict.scenarios):
                bugs.setdefault(run_together(subject(finding)), set()).add(group)
        alike: dict[Key, list[int]] = {}
        for i, finding in enumerate(findings):
            if finding.label is None and is_of_numbers(finding):
                alike.setdefault(self.symptoms[i], []).append(i)
        for i, j in _pairs(alike.values()):
            ours, theirs = (bugs.get(run_together(subject(findings[n])), set()) for n in (i, j))
            twins = family_of(findings[i]) == family_of(findings[j]) != "" and i not in explained and j not in explained
            twins = twins and findings[i].ordinary is findings[j].ordinary is True
            if twins or (ours & theirs) - {groups[i], groups[j]}:
                yield i, j


def _pairs(groups: Iterable[Sequence[int]]) -> Iterator[tuple[int, int]]:
    return (pair for members in groups for pair in combinations(members, 2))
