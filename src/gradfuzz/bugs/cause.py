"""Which findings have one cause, as far as that can be told from what is stored of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, permutations

from gradfuzz.bugs.blame import OF_ALL, by_function, called, calls, given, helpers, one_function
from gradfuzz.bugs.circumstances import circumstances, mixed_types
from gradfuzz.bugs.names import names_of, without_dimensions
from gradfuzz.bugs.severity import EDGE, GRADES, POINT, REGION, Severity, as_shown
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.labels import BY_DESIGN
from gradfuzz.oracles.verdict import ACCURACY, CRASH, GRADIENT, INTERNAL, MALFORMED, NONFINITE, STATUS, TAIL, TIMEOUT, VALUE, WAY, Verdict
from gradfuzz.program.model import Ref, walk
from gradfuzz.targets.base.scenario import Modes

# So much of a complaint tells it apart from others; what comes later are the names and numbers of the call that met it.
TELLING_WORDS = 12
# A function's name of so many letters does not stand in a complaint by chance.
TELLING = 8
# Kinds that are one to who compares: a number that is off.
COARSER = {ACCURACY: GRADIENT, TAIL: GRADIENT}
# A word of so many letters that two names share makes them a family: what is wrong in both by one factor was written twice.
FAMILY = 5
# Two factors are one if they agree in so many digits: they are quotients of numbers that were measured.
FACTOR_DIGITS = 6
# A complaint's subject where whoever calls is not to blame; it may say at which order.
ANYBODY = "any"


def gathered(findings: Sequence[Finding]) -> list[list[Finding]]:
    """The findings by cause, each group and its members in the order in which they were met."""
    group = list(range(len(findings)))

    def root(i: int) -> int:
        while group[i] != i:
            i = group[i]
        return i

    def join(i: int, j: int) -> None:
        group[max(root(i), root(j))] = min(root(i), root(j))

    @cache
    def shown(i: int) -> Severity:
        return as_shown(findings[i])

    def together(i: int, j: int) -> bool:
        """Of one formula; and what is odd about the arguments of one is so about the other's: that is a cause of its own."""
        one, other = findings[i], findings[j]
        if not one_formula(one, other):
            return False
        if any(f.label is not None or _cause(f)[0] != "wrong" for f in (one, other)):
            return True
        places = shown(i), shown(j)
        if _complex_alone(one, other, *places) or _at_a_point(one, other, *places) or _overflows(one, other, *places):
            return False
        return _oddity(places[0]) == _oddity(places[1])

    keys = [causes(finding) for finding in findings]
    alike: dict[tuple[str, ...], list[int]] = {}
    for i, shared in enumerate(keys):
        for key in (*shared, *ties(findings[i]), *_at_the_same_numbers(findings[i], shown(i))):
            alike.setdefault(key, []).append(i)
    for key, members in alike.items():
        for i, j in combinations(members, 2):
            if key[1] == "plain" and _cause(findings[i])[0] == _cause(findings[j])[0]:
                continue  # two ways that differ from what is right
            if root(i) != root(j) and (_of_both(key) or key == keys[i][0] == keys[j][0]) and together(i, j):
                join(i, j)
    for i, j in _pairs(by_function(findings)):
        if root(i) != root(j) and _one_symptom(findings[i], findings[j]) and together(i, j):
            join(i, j)  # one function by two names
    callees = [(key, list(permutations(members, 2))) for key, members in alike.items() if not _of_both(key)]

    def explains(i: int, j: int) -> bool:
        """Whether one may be wrong because the other is: what shows in a region or at a point explains nothing that shows elsewhere."""
        ours, theirs = shown(i).grade, shown(j).grade
        fits = GRADES.index(ours) >= GRADES.index(theirs) and (theirs is ours or theirs not in (REGION, POINT))
        return fits and root(i) != root(j) and _one_symptom(findings[i], findings[j]) and together(i, j)

    def raises_too(i: int, j: int) -> bool:
        """Whether both raise, in words of their own: what a function meets inside of another is told by the first that minds."""
        one, other = findings[i], findings[j]
        alike = one.verdict.kind == other.verdict.kind == STATUS and one.label == other.label
        return alike and shown(i) == shown(j) and not any(s.way for s in one.verdict.scenarios) and root(i) != root(j)

    def at_work(key: tuple[str, ...], j: int) -> bool:
        """Whether what is wrong with an operator shows in what is made of it: in a good part of the functions that were found to call it.

        An operator that is wrong when it is called in one way, which hardly anybody does, is right in those that are called otherwise.
        """
        users = [i for i in alike[key] if key[1] == "wrong" and i != j]
        showing = {findings[i].api for i in users if _one_symptom(findings[i], findings[j]) and not _right_there(findings[i], findings[j])}
        return len(showing) >= OF_ALL * len({findings[i].api for i in users})

    operates = cache(at_work)
    explained: set[int] = set()
    while True:
        parts: dict[int, set[int]] = {}  # of groups, those whose operator, or function, they may be wrong because of
        for key, pairs in callees:
            for i, j in pairs:
                if key != keys[j][0] or key == keys[i][0] or _of_many(findings[j]) or _right_there(findings[i], findings[j]):
                    continue
                if explains(i, j) and operates(key, j):
                    parts.setdefault(root(i), set()).add(root(j))
        for i, j in called(findings):
            if (explains(i, j) or raises_too(i, j)) and _explains(findings[j].verdict, findings[i].verdict):
                parts.setdefault(root(i), set()).add(root(j))
        explained |= {i for i in range(len(findings)) if root(i) in parts}
        # Of two operators that are wrong nobody knows which it is: and they are two bugs, whoever calls both.
        known = {i: next(iter(operators)) for i, operators in parts.items() if len(operators) == 1}
        for i, j in known.items():
            if root(i) != root(j):
                join(i, j)
        if not known:
            break
    symptoms = {i: _symptom(f, shown(i)) for i, f in enumerate(findings)}
    for members in helpers(findings, symptoms):
        rest = [i for i in members if i not in explained]
        for i, j in zip(rest, rest[1:]):
            if root(i) != root(j) and (symptoms[i][0] == "says" or together(i, j)):
                join(i, j)
    for i, j in _kin_elsewhere(findings, symptoms, [root(i) for i in range(len(findings))], explained):
        if shown(i).because == shown(j).because and root(i) != root(j):
            join(i, j)
    found: dict[int, list[Finding]] = {}
    for i, finding in enumerate(findings):
        found.setdefault(root(i), []).append(finding)
    return list(found.values())


def _kin_elsewhere(
    findings: Sequence[Finding], symptoms: Mapping[int, tuple[str, ...]], groups: Sequence[int], explained: Collection[int]
) -> Iterator[tuple[int, int]]:  # fmt: skip
    """Two functions that one bug gathers by their rules or by a label, and that show one thing more alike: in one further way, or at
    numbers of one sort, the same modes are wrong in both. Nobody has told that apart, as a label would. So do two of one distribution at
    ordinary numbers, unless what one of them calls explains it: their formulas are made alike, and at others each has its own ends.
    """
    bugs: dict[str, set[int]] = {}  # by function
    for finding, group in zip(findings, groups):
        if _is_of_numbers(finding) and not any(s.way for s in finding.verdict.scenarios):
            bugs.setdefault(run_together(subject(finding)), set()).add(group)
    alike: dict[tuple[str, ...], list[int]] = {}
    for i, finding in enumerate(findings):
        if finding.label is None and _is_of_numbers(finding):
            alike.setdefault(symptoms[i], []).append(i)
    for i, j in _pairs(alike.values()):
        ours, theirs = (bugs.get(run_together(subject(findings[n])), set()) for n in (i, j))
        twins = _family(findings[i]) == _family(findings[j]) != "" and i not in explained and j not in explained
        twins = twins and findings[i].ordinary is findings[j].ordinary is True
        if twins or (ours & theirs) - {groups[i], groups[j]}:
            yield i, j


def _family(finding: Finding) -> str:
    """What several functions belong to by their names, a distribution; nothing where a function stands by itself."""
    family, apart, _ = subject(finding).partition(".")
    return family if apart and not finding.rule else ""


def _is_of_numbers(finding: Finding) -> bool:
    """Whether a derivative is off: what raises says why."""
    return _cause(finding)[0] in ("wrong", "way") and finding.kind not in (VALUE, STATUS, INTERNAL, MALFORMED)


def _symptom(finding: Finding, shown: Severity) -> tuple[str, ...]:
    """What shows of a finding, whoever shows it: an error's words, or how a number is wrong, in which modes, at what inputs."""
    cause, label = _cause(finding), finding.label.reason if finding.label else ""
    if cause[0] == "says":
        return (*cause, label)
    where = next((f"{s.way} {s.device}" for s in finding.verdict.scenarios), "")
    modes = " ".join(sorted("".join(s.modes) for s in finding.verdict.scenarios))
    kind = COARSER.get(finding.kind, finding.kind)
    return (cause[0], kind, where, modes, str(_complex(finding)), shown.grade.name, _oddity(shown), label)


def _of_both(key: tuple[str, ...]) -> bool:
    """Whether a key is as good as any of a finding's: two composites share no cause because they share a part."""
    return key[1] in ("label", "says", "refused", "factor", "option", "overwritten", "kin", "plain", "far", "gathered")


def _of_many(finding: Finding) -> bool:
    """Whether it is a function made of several operators, which may have the name of one: that one is not wrong because it is.

    An API of which it is known that an operator is all there is to it (`aliases` in names.json) is that operator.
    """
    return not finding.rule and len(finding.rules) > 1 and finding.api not in (names_of(finding.target).aliases or {})


def _one_symptom(composite: Finding, operator: Finding) -> bool:
    """Whether a composite shows what an operator does: the same kind of wrong number, from numbers of one kind.

    A label for a composite says nothing of its parts.
    """
    kinds = [COARSER.get(f.kind, f.kind) for f in (composite, operator)]
    if "says" in (_cause(composite)[0], _cause(operator)[0]) and _cause(composite) != _cause(operator):
        return False
    return kinds[0] == kinds[1] and _complex(composite) == _complex(operator) and composite.label in (None, operator.label)


def _right_there(composite: Finding, operator: Finding) -> bool:
    """Whether a composite is right where the operator is wrong, at ordinary numbers: then it is wrong for another reason elsewhere."""
    wrong = _cause(composite)[0] == _cause(operator)[0] == "wrong"
    return wrong and operator.ordinary is True and composite.ordinary is False


def _complex(finding: Finding) -> bool:
    return any(tensor.dtype.startswith("complex") for tensor in finding.program.inputs.values())


def _complex_alone(a: Finding, b: Finding, one: Severity, other: Severity) -> bool:
    """Whether it shows at ordinary complex numbers, and at real ones less gravely: what reals suffer from is another formula."""
    if _complex(a) == _complex(b):
        return False
    of_complex, of_reals = (one, other) if _complex(a) else (other, one)
    return of_complex.grade not in (REGION, POINT, EDGE) and GRADES.index(of_reals.grade) > GRADES.index(of_complex.grade)


def _at_a_point(a: Finding, b: Finding, one: Severity, other: Severity) -> bool:
    """Whether a higher derivative is not finite at a point alone, and the lower one is finite and wrong elsewhere.

    That makes no NaN there: a branch or a quotient does, which has nothing wrong with it below.
    """
    if a.verdict.order == b.verdict.order:
        return False
    low, high = ((a, one), (b, other)) if a.verdict.order < b.verdict.order else ((b, other), (a, one))
    finite = COARSER.get(low[0].kind, low[0].kind) == GRADIENT and high[0].kind == NONFINITE
    return finite and low[1].grade is not POINT and high[1].grade is POINT


def _overflows(a: Finding, b: Finding, one: Severity, other: Severity) -> bool:
    """Whether one is not finite at huge numbers, and the other is finite and wrong at a point: what overflows is right there."""
    for (far, place), (near, point) in permutations(((a, one), (b, other))):
        finite = COARSER.get(near.kind, near.kind) == GRADIENT and point.grade is POINT
        if finite and far.kind == NONFINITE and place.grade is REGION and circumstances(far).huge:
            return True
    return False


def _pairs(groups: Iterable[Sequence[int]]) -> Iterator[tuple[int, int]]:
    return (pair for members in groups for pair in combinations(members, 2))


def subject(finding: Finding) -> str:
    """The function at fault in one word: that of the derivative rule where one is known, else that of the API."""
    names = names_of(finding.target)
    ruled = finding.rule and finding.kind != VALUE  # where the output itself changes, no rule is to blame
    return names.of_rule(finding.rule) if ruled else names.stem(finding.api)


def causes(finding: Finding) -> list[tuple[str, ...]]:
    """What a finding may share with others that have its cause, as text that a person can read.

    An error is its message, whoever meets it; a wrong number is its rule's, or its function's; a way of running answers for itself; calls
    in place that are not recorded are not recorded for one reason. A label is given to a cause, so what carries the same one has the same.
    An API that calls several operators shares the causes of their rules: `gathered` joins it to one of them, if just one is wrong, and not
    to its like. What two functions may share beside that are `ties`.
    """
    names = names_of(finding.target)
    found = [(finding.target, *_cause(finding))]
    if found[0][1] == "says" and found[0][2] not in ("", ANYBODY):  # in one function, whichever operator is named
        found.append((*found[0][:3], run_together(subject(finding)), " ".join(found[0][3].split()[:TELLING_WORDS])))
    if found[0][1] in ("wrong", "way", CRASH, TIMEOUT):  # a composite is wrong because an operator inside it is: that one's bug
        found += [(finding.target, found[0][1], run_together(names.of_rule(rule)), *found[0][3:]) for rule in finding.rules]
    if finding.label is not None:
        found.append((finding.target, "label", finding.label.label, finding.label.reason, finding.label.link))
    return found


def ties(finding: Finding) -> Iterator[tuple[str, ...]]:
    """What a finding may have in common with another function's, whose cause has another name.

    Where one mode refuses and no rule is on its books, the other mode ought to have refused as well: one check that is missing, whoever
    meets it. Functions of one family that are off by one factor under one option were written after each other, and so were tangents
    that have another type under one option. A formula that writes over what its own derivative needs raises where the library notices it,
    and is wrong where it does not.
    """
    verdict, options, cause = finding.verdict, _options(finding), _cause(finding)[0]
    if verdict.order > 1 and (cause == "wrong" or names_of(finding.target).is_overwritten(verdict.symptom)):
        yield finding.target, "overwritten", run_together(subject(finding))
    if cause == "wrong" and not finding.rule and not finding.rules and finding.landscape is not None:
        refused = [said for name, said in finding.landscape.refused.items() if name not in verdict.names]
        yield from ((finding.target, "refused", _without(said, subject(finding))) for said in refused)
    if cause == "wrong" and options and (factor := _factor(verdict)):
        words = [word for word in subject(finding).split("_") if len(word) >= FAMILY]
        yield from ((finding.target, "factor", factor, options, word) for word in words)
    if verdict.kind == MALFORMED and options and not finding.mutates:
        yield finding.target, "option", options, verdict.symptom
    if cause == "way" or (cause == "says" and verdict.kind in (STATUS, INTERNAL)):
        who, kind = run_together(subject(finding)), finding.kind if cause == "way" else "raises"  # each in other words
        yield from ((finding.target, "kin", who, kind, part) for s in verdict.scenarios[:1] for part in kin(finding.target, s.way))
    if cause == "way":
        gathering = (s.way for s in verdict.scenarios[:1] if names_of(finding.target).way(s.way).gathers)
        yield from ((finding.target, "gathered", way, str(outputs_differ(finding))) for way in gathering)


def outputs_differ(finding: Finding) -> bool:
    """Whether a way gives other outputs, and not another derivative of the same ones alone."""
    return finding.kind == VALUE or bool(finding.verdict.detail.get("outputs"))


def kin(target: str, way: str) -> set[str]:
    """What a way has in common with others that are made alike: its stages, itself among them, and the word that its name begins with.

    A way of a user's own rule has nothing in common with others but that rule.
    """
    about = names_of(target).way(way)
    return set() if not way or about.of_its_own else {way, way.partition("-")[0], *about.stages}


def _at_the_same_numbers(finding: Finding, shown: Severity) -> Iterator[tuple[str, ...]]:
    """What a finding may have in common with another that shows at numbers of the same sort.

    A way that differs from the plain derivative where that is wrong may well be right. Functions whose names begin alike and that are all
    wrong at huge numbers, in the same modes, lose there what they all have.
    """
    cause, scenarios = _cause(finding)[0], finding.verdict.scenarios
    if finding.label is not None or not scenarios:
        return
    modes = " ".join(sorted({"".join(s.modes) for s in scenarios}))
    if cause in ("way", "wrong") and finding.kind in (WAY, GRADIENT):
        yield finding.target, "plain", run_together(subject(finding)), shown.grade.name, shown.because, str(finding.verdict.order), modes
    first = subject(finding).partition("_")[0]
    if cause == "wrong" and finding.rule and len(first) >= FAMILY and shown.grade is REGION and circumstances(finding).huge:
        yield finding.target, "far", first, COARSER.get(finding.kind, finding.kind), modes


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


def _cause(finding: Finding) -> tuple[str, ...]:
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


def run_together(name: str) -> str:
    """Without what stands between words: modules and rules are not always cut into words as functions are (SiLU, silu)."""
    return name.replace("_", "")


def one_formula(a: Finding, b: Finding) -> bool:
    """Whether two findings that share a cause's name can be of one formula: reverse and forward mode have one each, unless the library
    transposes the one to get the other. Two labels are two.

    Of one order they share a scenario, or the mode that comes first, whose formula the other modes differentiate. Of two orders the
    lower explains the higher if every scenario at fault there contains one that is at fault below.
    """
    if a.label is not None and b.label is not None:
        return a.label == b.label  # somebody has told them apart, or has not
    if ("says", "") in (_cause(a)[:2], _cause(b)[:2]) and not _one_operator(a, b):
        return False  # words that many formulas may say
    if a.label is not None or b.label is not None:
        # A label says what it is about: what it was not given to has another cause, or follows from it, as what calls it does.
        labelled, other = (a, b) if a.label is not None else (b, a)
        return _explained(a, b) or follows(labelled, other)
    if "wrong" not in (_cause(a)[0], _cause(b)[0]):
        return True
    first, second = sorted((a, b), key=lambda f: f.verdict.order)
    low, high = first.verdict, second.verdict
    ours, theirs = ([s.modes for s in v.scenarios] for v in (low, high))
    if names_of(a.target).transposes and low.order == high.order and run_together(subject(a)) == run_together(subject(b)):
        return True
    if low.order < high.order:
        if first.ordinary is False and second.ordinary and not first.kind == second.kind == ACCURACY:
            return False  # what is wrong at special numbers alone explains nothing at ordinary ones
        return _explains(low, high) or _first(ours) == _first(theirs)
    return bool(set(ours) & set(theirs)) or _first(ours) == _first(theirs)


def _oddity(shown: Severity) -> str:
    """What is odd about the arguments, whichever number it is: an infinite option, an empty tensor."""
    return shown.because.partition(" of ")[0] if shown.grade is EDGE else ""


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
    if "wrong" not in (_cause(a)[0], _cause(b)[0]):
        return True
    low, high = sorted((a, b), key=lambda f: f.verdict.order)
    return low.label is not None and low.verdict.order < high.verdict.order and _explains(low.verdict, high.verdict)


def follows(known: Finding, other: Finding) -> bool:
    """Whether what one shows is what a label says of the other: it calls it, is its internal name, or is that function elsewhere.

    What is by design of a function is not of those that call it.
    """
    if known.label_name == BY_DESIGN:
        return False
    same = known.verdict.order == other.verdict.order and _one_symptom(other, known)
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
    numbers = all(COARSER.get(f.kind, f.kind) == GRADIENT and _cause(f)[0] == "wrong" for f in (known, other))
    alike = numbers and one_function(known, other) and _complex(known) == _complex(other)
    same = {s.modes for s in known.verdict.scenarios} == {s.modes for s in other.verdict.scenarios}
    return alike and same and known.ordinary is True and other.ordinary is False


def _explains(low: Verdict, high: Verdict) -> bool:
    """Whether every scenario at fault contains one that is at fault at the lower order."""
    ours, theirs = ([s.modes for s in v.scenarios] for v in (low, high))
    return all(any(_within(few, many) for few in ours) for many in theirs)


def _within(few: Modes, many: Modes) -> bool:
    """Whether the modes come in this order among the others."""
    rest = iter(many)
    return all(mode in rest for mode in few)


def _first(scenarios: Sequence[Modes]) -> set[str]:
    return {modes[0] for modes in scenarios if modes}
