"""From suspicion to finding: deduplicate, confirm in a fresh process, shrink, prove by script, store."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from gradfuzz.errors import ProgramError
from gradfuzz.findings.alone import REFERENCE, look_again, verdict_of
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inquiry import MOST_ENTRIES, Answer, Inquiries
from gradfuzz.findings.inside.confirm import Confirmed
from gradfuzz.findings.inside.same import finding_key, probable_cause
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.postmortem import Death, DeathDesk
from gradfuzz.findings.proof import Proof, proof_from
from gradfuzz.findings.script import script
from gradfuzz.findings.writing import A_FEW, Order, Writing
from gradfuzz.oracles.verdict import ABOUT_NUMBERS, ACCURACY, PRECISION, WAY
from gradfuzz.oracles.ways import blamed
from gradfuzz.pool.executor import Event, Executor
from gradfuzz.pool.launch import Launch
from gradfuzz.reference.desk import Desk
from gradfuzz.targets.homes import home_of, language_for

CONFIRM_LIMIT = 90.0
# A key that was dismissed this often is not looked into again: elsewhere the same function may still be wrong.
DISMISSED_OFTEN = 3
# What is most likely another sight of what was met before stands behind its example: it need not be the smallest. Seconds of shrinking.
PUT_OFF_SECONDS = 1.0
# What was met under one name and then under a better one is looked into once more: the key's end meanwhile.
BY_ANOTHER_NAME = " by another name"
# How good a name is: one that hardly anybody calls; any other; that of the function whose rule is at fault, under which people look for it.
POOR, FAIR, OWN = range(3)
DEATHS = "process"  # the oracle of what took its process down, which has a post-mortem instead


class Pending(Protocol):
    """What an earlier run did not get round to."""

    @property
    def key(self) -> str: ...

    @property
    def report(self) -> Suspicion | Death: ...


class Keeper(Protocol):
    """Where suspicions and findings are kept: nothing is lost if the campaign dies at any moment."""

    def known_keys(self, campaign: int) -> dict[str, bool]: ...

    def aliases(self, campaign: int) -> dict[str, str]: ...

    def suspect(self, campaign: int, key: str, report: Suspicion | Death) -> None: ...

    def met_again(self, campaign: int, key: str, times: int = 1) -> None: ...

    def settle(self, campaign: int, key: str, final: str, finding: Finding | None = None) -> int: ...

    def refine(self, campaign: int, finding: Finding) -> None: ...

    def findings(self, campaign: int) -> Sequence[Finding]: ...

    def wonder(self, campaign: int, question: Suspicion) -> int: ...

    def answered(self, number: int) -> None: ...

    def questions(self, campaign: int) -> dict[int, Suspicion]: ...


@dataclass
class Case:
    """A suspicion on its way. Once there is a finding it only waits for its turn."""

    key: str
    report: Suspicion | Death
    put_off: bool = False  # its probable cause was met before
    finding: Finding | None = None
    job: int = 0  # that confirms it


class Triage:
    """Every suspicion passes through here once.

    Which findings there are must not depend on which confirmation was faster. So cases are settled in the order in which they were
    suspected, and what a case turns out to be takes in whatever was suspected under that key and still waits. A suspicion whose probable
    cause was met before, at this order or below, is put off: it is looked into when nothing else waits to be, and settled when the search
    is over, after all others. So is what was met first under one name (of an operator, an alias, a module) when somebody meets it under
    a better one: if it is the same there, that finding takes the other's place. Findings are polished in their `order`: those that people
    open first.
    """

    def __init__(
        self, launch: Launch, shrink_seconds: float, store: Keeper, campaign: int, pool: Executor, found: Callable[[Finding], None],
        order: Order = list,
    ) -> None:  # fmt: skip
        self.launch, self.shrink_seconds, self.store, self.campaign, self.pool, self.found = (
            launch, shrink_seconds, store, campaign, pool, found,
        )  # fmt: skip
        self.known = store.known_keys(campaign)  # whether each was confirmed
        self.aliases = store.aliases(campaign)  # a key whose finding turned out to be another's
        self.pending: dict[str, Case] = {}  # in the order in which they were suspected
        self._causes: dict[str, int] = {}  # the lowest order at which each was met
        self._stands: dict[str, int] = {}  # how good the name is under which each key stands, or is looked into
        self._names: dict[str, str] = {}  # the API of each finding, by its id
        for key in (*self.known, *self.aliases):
            self._met_before(key)
        self._finishing = False
        self.desk = DeathDesk(pool, shrink_seconds, self._finding)
        self.inquiries = Inquiries(launch.target, pool, Desk())
        self.asked: Counter[str] = Counter()  # what the reference said to suspicions: proven, refuted, silent
        self.wondered: Counter[str] = Counter()  # what it said where nothing was suspected
        self.done = self._found = 0  # cases of which all is known, and those of them that are findings
        self._dismissed: Counter[str] = Counter()  # by key
        self._confirming: dict[int, Case] = {}  # by job
        self.writing = Writing(pool, order)

    @property
    def waiting(self) -> int:
        return len(self.pending)

    @property
    def undone(self) -> int:
        """How many are still to be looked into, or are at this moment, by workers."""
        return sum(case.finding is None and not isinstance(case.report, Death) for case in self.pending.values())

    @property
    def unpolished(self) -> int:
        """How many findings are being polished, or wait to be."""
        return self.writing.unpolished

    @property
    def unfinished(self) -> bool:
        """Whether anything waits to be looked into, to be polished, or for its picture."""
        return bool(self.waiting or self.unpolished or self.writing.unpictured)

    def owed(self, spent: float) -> float:
        """Seconds of the processor that what is suspected and found will still take, at what it has cost so far: `spent`, all of it.

        A finding that waits for its turn to be settled will be polished as those that are, and so will what suspicions turn out to be.
        """
        if self.done < A_FEW:
            return 0.0
        each = max(0.0, spent - self.writing.spent) / self.done
        ready = sum(self._will_be_found(case) for case in self.pending.values())
        return self.undone * each + self.writing.owed(ready + self.undone * self._found / self.done, each)

    def _will_be_found(self, case: Case) -> bool:
        """Whether a case has a finding that nobody has had, and waits for its turn."""
        finding = case.finding
        return finding is not None and finding.confirmed and not self.known.get(self._final(case, finding))

    @property
    def put_off(self) -> int:
        """How many of those that wait are most likely another sight of what was met before."""
        return sum(case.put_off for case in self.pending.values())

    def about(self, job: int) -> str | None:
        """What one of our jobs is, for people; None where it is not ours."""
        if job in self._confirming:
            return f"confirming {self._confirming[job].report.api}"
        return self.writing.about(job) or self.inquiries.about(job)

    def finish(self) -> None:
        """The search is over: nothing more is put off."""
        self._finishing = True
        self.desk.allow(math.inf)
        self._settle_in_turn()

    def take_up(self, cases: Sequence[Pending]) -> None:
        """What an earlier run suspected and did not get round to. What does not pass the gate stays where it lies."""
        language = language_for(self.launch.target, self.launch.modules)
        for case in cases:
            with contextlib.suppress(ProgramError):
                self._begin(case.key, case.report.check(language))
        for finding in self.store.findings(self.campaign):
            self._named(self.aliases.get(finding.key, finding.key), finding)
            if finding.confirmed and finding.landscape is None and finding.verdict.oracle != DEATHS:
                (self.writing.polish if finding.short is None else self.writing.picture)(finding, self._refined)
        for number, question in self.store.questions(self.campaign).items():
            with contextlib.suppress(ProgramError):
                self._wonder(number, question.check(language))

    def suspect(self, suspicion: Suspicion) -> str:
        """A worker's suspicion; returns its key."""
        self._meet(suspicion.key, suspicion)
        return suspicion.key

    def wonder(self, question: Suspicion, measured: dict[str, Any]) -> None:
        """Nothing is suspected; the reference is asked all the same, when there is time. What it proves wrong is suspected then."""
        self._wonder(self.store.wonder(self.campaign, question), question, measured)

    def _wonder(self, number: int, question: Suspicion, measured: dict[str, Any] | None = None) -> None:
        self.inquiries.wonder(
            question.mutant, question.verdict.scenarios, measured, lambda answer: self._wondered(number, question, answer),
            own=not question.edits, tail=question.verdict.detail.get("far") == "tail",
        )  # fmt: skip

    def _wondered(self, number: int, question: Suspicion, answer: Answer) -> None:
        proof = proof_from(answer)
        self.wondered[proof.verdict] += 1
        if proof.matters:
            verdict = verdict_of(proof)
            self._meet(finding_key(question.api, question.rule, verdict), replace(question, verdict=verdict))
        self.store.answered(number)

    def bury(self, death: Death) -> str:
        """A worker died on a mutant. Each (API, cause) is looked into once, on the side. Returns the cause."""
        self._meet(death.key, death)
        return death.cause

    def _meet(self, key: str, report: Suspicion | Death) -> None:
        key = self.aliases.get(key, key)
        if key in self.known or key in self.pending:
            better = f"{key}{BY_ANOTHER_NAME}"
            if self._is_better_named(key, report) and not (better in self.pending or better in self.aliases):
                self.store.suspect(self.campaign, better, report)
                self._begin(better, report)
                return
            self.store.met_again(self.campaign, key)
        else:
            self.store.suspect(self.campaign, key, report)
            self._begin(key, report)

    def _is_better_named(self, key: str, report: Suspicion | Death) -> bool:
        """Whether a suspicion has a better name than what stands, or is looked into, under its key."""
        if not isinstance(report, Suspicion) or report.verdict.oracle == REFERENCE:
            return False
        return self._good(report.api, report.rule) > self._stands.get(key, OWN)

    def _good(self, api: str, rule: str) -> int:
        """How good a name is for what is wrong in a rule."""
        home = home_of(self.launch.target)
        return POOR if home.hardly_called(api) else OWN if rule and home.names_rule(api, rule) else FAIR

    def _stays(self, api: str, rule: str) -> int:
        """How good a name has to be beaten: one that is no form of the function at fault is another function, which has a name of its
        own to be known by."""
        good = self._good(api, rule)
        return OWN if good == FAIR and not (rule and home_of(self.launch.target).is_form_of(api, rule)) else good

    def _is_hidden(self, finding: Finding) -> bool:
        return finding.api.rsplit(".", 1)[-1] in finding.hidden

    def _named(self, key: str, finding: Finding) -> None:
        """A finding stands under a name from now on."""
        self._names[finding.id] = finding.api
        self._stands[key] = POOR if self._is_hidden(finding) else self._stays(finding.api, finding.rule)

    def _replaces(self, final: str, finding: Finding) -> bool:
        """Whether a finding is what is known under another name, and its own is the better one."""
        good = POOR if self._is_hidden(finding) else self._good(finding.api, finding.rule)
        return finding.confirmed and bool(self.known.get(final)) and good > self._stands.get(final, OWN)

    def _met_before(self, key: str) -> bool:
        """Whether the probable cause of a key was met before, at its order or below; from now on it was."""
        cause = probable_cause(key, home_of(self.launch.target).function)
        if cause is None:
            return False
        name, order = cause
        known = self._causes.get(name, order + 1)
        self._causes[name] = min(known, order)
        return known <= order

    def _begin(self, key: str, report: Suspicion | Death) -> None:
        again = key.endswith(BY_ANOTHER_NAME)
        case = self.pending[key] = Case(key, report, again or self._met_before(key))
        self._stands.setdefault(key, self._stays(report.api, report.rule if isinstance(report, Suspicion) else ""))
        if isinstance(report, Death):
            self.desk.take(report)
            return
        if report.verdict.oracle == REFERENCE:
            self._again(case, report)
            return
        self._confirm(case, report, min(self.shrink_seconds, PUT_OFF_SECONDS) if case.put_off and not again else self.shrink_seconds)

    def _confirm(self, case: Case, suspicion: Suspicion, seconds: float) -> None:
        case.job = self.pool.submit(
            "confirm", urgent=True, put_off=case.put_off, fresh=True, limit=CONFIRM_LIMIT, seconds=seconds, suspicion=suspicion.to_json(),
            entries=MOST_ENTRIES,
        )  # fmt: skip
        self._confirming[case.job] = case

    def _again(self, case: Case, suspicion: Suspicion) -> None:
        """What the reference alone has seen is seen again and made small with its help."""

        def ended(seen: Confirmed | None, proof: Proof) -> None:
            if seen is not None:
                self._prove(case, self._with_proof(self._finding(suspicion.api, seen, confirmed=True), proof))
                return
            unseen = Confirmed(suspicion.mutant, suspicion.edits, suspicion.verdict, suspicion.rule)
            self._ready(case, replace(self._finding(suspicion.api, unseen, confirmed=False), proof=proof))

        look_again(self.inquiries, suspicion, ended)

    def handle(self, event: Event) -> None:
        """An answer to one of our jobs."""
        number = event.job["id"]
        if self.inquiries.handle(event) or self.writing.handle(event):
            return
        if number in self._confirming:
            self._confirmed(self._confirming.pop(number), event)

    def _confirmed(self, case: Case, event: Event) -> None:
        suspicion = case.report
        assert isinstance(suspicion, Suspicion)
        if event.kind == "died" and event.job.get("seconds"):
            self._confirm(case, suspicion, 0.0)  # a smaller Program may be deadly where this one is not: it will do as it is
            return
        answer = event.data.get("confirmed") if event.kind == "done" else None
        if answer is None:
            seen = Confirmed(suspicion.mutant, suspicion.edits, suspicion.verdict)
        else:
            seen = Confirmed.from_json(answer)
        finding = self._finding(seen.api or suspicion.api, seen, confirmed=answer is not None)
        final = self._final(case, finding)
        if not finding.confirmed or (self.known.get(final) and not self._replaces(final, finding)):
            self._ready(case, finding)
        elif finding.kind in ABOUT_NUMBERS and finding.verdict.order:
            self._ask(case, finding, event.data.get("measured"))
        else:
            self._prove(case, finding)

    def _prove(self, case: Case, finding: Finding) -> None:
        self.writing.prove(finding, lambda proven: self._ready(case, proven))

    def _ask(self, case: Case, finding: Finding, measured: dict[str, Any] | None) -> None:
        """What the reference says decides, where it says anything. Of two ways that differ either may be the wrong one. `measured`: what AD
        gives, where whoever confirmed it has said so."""
        verdict = finding.verdict
        element = verdict.detail.get("element")
        plain = [s.plain.name for s in verdict.scenarios] if finding.kind == WAY else []
        names = list(dict.fromkeys([*verdict.names, *plain]))
        self.inquiries.ask(finding.program, names, lambda answer: self._told(case, finding, answer), element, measured=measured)

    def _told(self, case: Case, finding: Finding, answer: Answer) -> None:
        proof = proof_from(answer, fine=finding.kind in (ACCURACY, PRECISION, WAY))
        self.asked[proof.verdict] += 1
        finding = self._with_proof(finding, proof)
        if finding.kind == WAY and finding.proven and not set(proof.wrong) & set(finding.verdict.names):
            # The way is right: what it was held against is suspected in its place.
            assert isinstance(case.report, Suspicion)
            plain = replace(case.report, verdict=verdict_of(proof))
            self._meet(finding_key(plain.api, plain.rule, plain.verdict), plain)
            self._ready(case, replace(finding, confirmed=False))
        elif finding.refuted:
            self._ready(case, replace(finding, confirmed=False))
        else:
            self._prove(case, finding)

    def _with_proof(self, finding: Finding, proof: Proof) -> Finding:
        finding = replace(finding, proof=proof)
        return replace(finding, script=script(finding)) if finding.proven else finding

    def _finding(self, api: str, seen: Confirmed, confirmed: bool) -> Finding:
        launch = self.launch
        finding = Finding(
            launch.target, self.pool.version, api, seen.verdict, seen.program, confirmed, seen.rule, seen.edits, seen.mutates, seen.random,
            launch.modules, launch.timeout, salt=seen.salt, made=seen.made, ordinary=seen.ordinary, empty=seen.empty,
            rules=seen.rules, hidden=seen.hidden, documented=seen.documented, helpers=seen.helpers,
        )  # fmt: skip
        at_fault = blamed(launch.target, seen.verdict)
        if at_fault:  # whatever the Program calls is a bystander
            finding = replace(finding, api=at_fault, rule="", rules=(), hidden=(), helpers=())
        return replace(finding.relabelled(), script=script(finding))

    # Settling ----------------------------------------------------------------------------------------------------------

    def _ready(self, case: Case, finding: Finding) -> None:
        """All is known of a case that will be."""
        case.finding = finding
        self.done += 1
        self._found += finding.confirmed
        self._settle_in_turn()

    def _final(self, case: Case, finding: Finding) -> str:
        """What a case's finding is filed under: once shrunk it may be the same as another. The unconfirmed keep their keys."""
        own = case.key[: -len(BY_ANOTHER_NAME)] if case.key.endswith(BY_ANOTHER_NAME) else case.key
        return self.aliases.get(finding.key, finding.key) if finding.confirmed else self.aliases.get(own, own)

    def _settle_in_turn(self) -> None:
        if self._settled(put_off=False) and self._finishing:
            self._settled(put_off=True)

    def _settled(self, put_off: bool) -> bool:
        """Settle in the order in which they were suspected those that are ready; whether none is left to wait for."""
        for case in list(self.pending.values()):
            if isinstance(case.report, Death) or case.put_off != put_off or self.pending.get(case.key) is not case:
                continue
            if case.finding is None:
                return False
            self._settle(case, case.finding)
        return True

    def _settle(self, case: Case, finding: Finding) -> None:
        final = self._final(case, finding)
        filed, replaced = None, self._replaces(final, finding)
        if replaced or final not in self.known or (finding.confirmed and not self.known[final]):
            filed = replace(finding.filed(final), campaign=self.campaign)
        times = self.store.settle(self.campaign, case.key, final, filed)
        for key in (case.key, final):
            gone = self.pending.pop(key, None)
            if gone is not None and gone is not case and self.pool.jobs.withdraw(gone.job):
                del self._confirming[gone.job]
        if case.key != final:
            self.aliases[case.key] = final
        if filed is not None:
            self._named(final, filed)
            self._dismissed[final] += filed.dismissed
            if not filed.dismissed or self._dismissed[final] >= DISMISSED_OFTEN:
                self.known[final] = filed.confirmed
            if filed.confirmed:
                if not replaced:
                    self.found(replace(filed, times=times))
                if not isinstance(case.report, Death):
                    self.writing.polish(filed, self._refined)

    def _refined(self, finding: Finding) -> None:
        if self._names.get(finding.id) == finding.api:  # else another one has taken its place
            self.store.refine(self.campaign, finding)

    def collect(self) -> None:
        """Take in what was found out on the side: proofs, and post-mortems, of which there is one desk, so that they come in turn."""
        self.inquiries.collect()
        while not self.desk.finished.empty():
            death, finding = self.desk.finished.get()
            case = self.pending.get(death.key)
            if case is not None:
                self._settle(case, finding)
        if self.desk.closed:  # they stay in the store, for --resume
            for key in [key for key, case in self.pending.items() if isinstance(case.report, Death)]:
                del self.pending[key]

    def close(self) -> None:
        """The end: what is ready does not wait for its turn any longer."""
        self.desk.close()
        self.inquiries.close()
        for case in list(self.pending.values()):
            finding = case.finding
            if finding is None or self.pending.get(case.key) is not case:
                continue
            if finding.confirmed or self._final(case, finding) in (case.key, *self.known):  # else what it is another name for still waits
                self._settle(case, finding)
