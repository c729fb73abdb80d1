"""What the reference alone has seen, where nothing else was suspected: asked again with what a fresh process gives, and made small.

Shrinking goes as for any other finding, but that each candidate is a question to the reference, asked once the one before is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial

from gradfuzz.errors import ProgramError
from gradfuzz.findings.inquiry import Answer, Inquiries
from gradfuzz.findings.inside.confirm import Confirmed
from gradfuzz.findings.inside.same import mark
from gradfuzz.findings.inside.shrink import fewer_edits, simpler
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.proof import Proof, kind_of, proof_from
from gradfuzz.mutate.edits import apply_all
from gradfuzz.oracles.verdict import DISAGREE, Verdict
from gradfuzz.program.model import Program
from gradfuzz.targets.base.scenario import Scenario

# The oracle of such verdicts.
REFERENCE = "reference"
# Twice as many entries as a worker looked at: the one that is wrong should be among them again.
MOST_ENTRIES = 16
# Candidates of one shrinking: each takes a run in a worker and a proof, some fifty milliseconds together.
MOST_TRIES = 64

Ended = Callable[["Confirmed | None", Proof], None]


def verdict_of(proof: Proof) -> Verdict:
    """The verdict that a proof by itself is."""
    scenarios = [Scenario.named(name) for name in proof.wrong]
    got = next(value for name, value in (proof.got or {}).items() if name in proof.wrong)
    return Verdict(
        DISAGREE, REFERENCE, kind_of(proof), len(proof.along), scenarios, "differs from the exact derivative", float(proof.number), got,
        detail={"numbers": dict(proof.got or {})},
    )  # fmt: skip


def look_again(inquiries: Inquiries, suspicion: Suspicion, ended: Ended) -> None:
    """`ended` is told where the suspicion is smallest, and its proof; None where it was not seen again."""
    _Again(inquiries, suspicion, ended).begin()


class _Again:
    """One suspicion on its way: seen in a fresh process, made small in any, and seen in a fresh one where it is smallest."""

    def __init__(self, inquiries: Inquiries, suspicion: Suspicion, ended: Ended) -> None:
        self.inquiries, self.suspicion, self.ended = inquiries, suspicion, ended
        self.wanted = mark(suspicion.verdict)
        self.edits, self.smallest = list(suspicion.edits), suspicion.mutant
        self.tries = 0
        self._search = self._steps()

    def begin(self) -> None:
        self._ask(self.smallest, self._seen, fresh=True)

    def _ask(self, program: Program, then: Callable[[Answer], None], fresh: bool) -> None:
        self.inquiries.ask(program, self.suspicion.verdict.names, then, most=MOST_ENTRIES, fresh=fresh)

    def _shown(self, answer: Answer) -> tuple[bool, Proof]:
        proof = proof_from(answer)
        return proof.matters and mark(verdict_of(proof)) == self.wanted, proof

    def _seen(self, answer: Answer) -> None:
        shown, proof = self._shown(answer)
        if not shown:
            self.ended(None, proof)
            return
        self.first = self._confirmed(answer, proof), proof
        self._next(None)

    def _confirmed(self, answer: Answer, proof: Proof) -> Confirmed:
        rule, mutates = self.suspicion.rule, bool(answer["mutates"])
        rules = () if rule else tuple(map(str, answer.get("rules", ())))
        return Confirmed(self.smallest, tuple(self.edits), verdict_of(proof), rule, mutates, rules=rules)

    def _steps(self) -> Generator[Program, bool, None]:
        self.edits = yield from fewer_edits(self.suspicion.seed, self.edits)
        yield from simpler(apply_all(self.suspicion.seed, self.edits), self.suspicion.api)

    def _next(self, shown: bool | None) -> None:
        """Ask about the next candidate that is a Program at all; at the end, about the smallest."""
        while self.tries < MOST_TRIES:
            try:
                candidate = next(self._search) if shown is None else self._search.send(shown)
            except StopIteration:
                break
            self.tries += 1
            try:
                candidate.check()
            except ProgramError:
                shown = False
                continue
            self._ask(candidate, partial(self._tried, candidate), fresh=False)
            return
        self._ask(self.smallest, self._last, fresh=True)

    def _tried(self, candidate: Program, answer: Answer) -> None:
        shown, _ = self._shown(answer)
        if shown:
            self.smallest = candidate
        self._next(shown)

    def _last(self, answer: Answer) -> None:
        shown, proof = self._shown(answer)
        self.ended(*((self._confirmed(answer, proof), proof) if shown else self.first))
