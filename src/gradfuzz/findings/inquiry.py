"""Asking the reference: what AD gives comes from a worker, moves are asked of a worker as well, and the proof is another process's.

Nobody waits: answers are handed on when they come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gradfuzz.findings.curiosity import Turns
from gradfuzz.pool.executor import Event, Executor
from gradfuzz.program import Program, to_json
from gradfuzz.reference.desk import Desk
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.homes import home_of

Answer = dict[str, Any]
MEASURE_LIMIT = 30.0
# A Program of more moves than this is asked about no further.
MOST_ROUNDS = 12
# Entries of one question: the derivatives of a small Program in full, those of a large one in part.
MOST_ENTRIES = 48
# Where nothing is suspected, so many: what a worker looks at there by itself.
MOST_WONDERED = 4
# Of the time that workers spend on mutants, curiosity may take this part beside it; all it wants once they have nothing to do.
SHARE = 0.05
# Questions of curiosity on their way at a time: enough to keep the desk busy, and no more jobs for workers than it can follow.
AT_ONCE = 4
# What the library has said about moves is kept for the questions to come, as long as it is not too much.
MOST_MOVES = 4096


@dataclass
class Inquiry:
    """One question on its way."""

    program: dict[str, Any]
    scenarios: tuple[str, ...]
    then: Callable[[Answer], None]
    measured: dict[str, Any] | None = None
    moves: dict[str, Any] | None = None
    rounds: int = 0
    asked: tuple[str, ...] = ()
    urgent: bool = True
    api: str = ""  # what it is about, for people


class Inquiries:
    """Every question to the reference passes through here."""

    def __init__(self, target: str, pool: Executor, desk: Desk) -> None:
        self.target, self.pool, self.desk = target, pool, desk
        self._jobs: dict[int, Inquiry] = {}
        self._at_desk: dict[int, Inquiry] = {}
        self._curious: Turns[Inquiry] = Turns()  # where nothing is suspected: they wait for their turn
        self._wondering = 0  # of these, on their way
        self._purse = 0.0  # seconds that curiosity may still take
        self._moves: dict[str, Any] = {}
        self.spent: dict[str, float] = {}  # seconds of the processor: workers' measuring and moves, and proofs
        self._next = 0

    @property
    def waiting(self) -> int:
        return len(self._jobs) + len(self._at_desk) + len(self._curious)

    @property
    def at_desk(self) -> list[str]:
        """The APIs that the reference is asked about at this moment, the first one first."""
        return [inquiry.api for inquiry in self._at_desk.values()]

    def about(self, job: int) -> str | None:
        """What a worker does for the reference; None where a job is not for it."""
        inquiry = self._jobs.get(job)
        return None if inquiry is None else f"measuring {inquiry.api} for the reference"

    def ask(
        self, program: Program, scenarios: Sequence[str], then: Callable[[Answer], None], element: str | None = None,
        most: int = MOST_ENTRIES, fresh: bool = True, measured: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """`then` is told what the reference says about the derivatives of a Program in these scenarios, all of one order. `measured`: what
        AD gives, where a worker has said so already."""
        inquiry = Inquiry(to_json(program), tuple(scenarios), then, measured, {}, api=program.api)
        if measured is None:
            self._measure(inquiry, element, most, fresh)
        else:
            self._to_desk(inquiry)

    def wonder(
        self, program: Program, scenarios: Sequence[Scenario], measured: dict[str, Any] | None, then: Callable[[Answer], None],
        own: bool = False, tail: bool = False,
    ) -> None:  # fmt: skip
        """The same where nothing is suspected, when there is time. `measured`: what AD gives, where a worker has said so already;
        `own`: the Program is a seed as it is; `tail`: it has numbers where functions level off."""
        names = tuple(s.name for s in scenarios)
        inquiry = Inquiry(to_json(program), names, then, measured, {}, urgent=False, api=program.api)
        self._curious.put(inquiry, home_of(self.target).function(program.api), max((s.order for s in scenarios), default=0), own, tail)
        self._wonder_on()

    def earn(self, seconds: float) -> None:
        """Workers have spent so many seconds on mutants."""
        self._purse += SHARE * seconds

    def _spend(self, inquiry: Inquiry, what: str, seconds: float) -> None:
        self.spent[what] = self.spent.get(what, 0.0) + seconds
        if not inquiry.urgent:
            self._purse -= seconds

    def _wonder_on(self) -> None:
        while self._curious and self._wondering < AT_ONCE and (self._purse > 0.0 or self.pool.idle):
            self._wondering += 1
            inquiry = self._curious.take()
            if inquiry.measured is None:
                self._measure(inquiry, None, MOST_WONDERED, fresh=False)
            else:
                self._to_desk(inquiry)

    def _measure(self, inquiry: Inquiry, element: str | None, most: int, fresh: bool) -> None:
        job = self.pool.submit(
            "measure", urgent=inquiry.urgent, ahead=inquiry.urgent, fresh=fresh, limit=MEASURE_LIMIT, program=inquiry.program,
            scenarios=list(inquiry.scenarios), element=element, most=most,
        )  # fmt: skip
        self._jobs[job] = inquiry

    def _end(self, inquiry: Inquiry, answer: Answer) -> None:
        if not inquiry.urgent:
            self._wondering -= 1
            self._wonder_on()
        inquiry.then(answer)

    def handle(self, event: Event) -> bool:
        """Whether an event was an answer to one of our jobs."""
        inquiry = self._jobs.pop(event.job["id"], None)
        if inquiry is None:
            return False
        self._spend(inquiry, "measuring" if inquiry.measured is None else "moves", event.data.get("seconds", 0.0))
        failed = event.data.get("failed") or event.data.get("cause") if event.kind == "died" or "failed" in event.data else None
        if inquiry.measured is None:
            if failed:
                self._end(inquiry, {"silent": f"what AD gives could not be had: {failed}"})
            else:
                inquiry.measured = {k: v for k, v in event.data.items() if k not in ("done", "seconds")}
                self._to_desk(inquiry)
            return True
        for key, told in zip(inquiry.asked, [[failed]] if failed else [event.data["outputs"]]):
            self._remember(key, told)
            assert inquiry.moves is not None
            inquiry.moves[key] = told
        self._to_desk(inquiry)
        return True

    def _remember(self, key: str, told: Any) -> None:
        if len(self._moves) >= MOST_MOVES:
            self._moves.clear()
        self._moves[key] = told

    def _to_desk(self, inquiry: Inquiry) -> None:
        self._next += 1
        self._at_desk[self._next] = inquiry
        question = {"target": self.target, "program": inquiry.program, "measured": inquiry.measured, "moves": inquiry.moves}
        self.desk.ask(self._next, question, inquiry.urgent)

    def collect(self) -> None:
        """Take what the desk has finished: answers are handed on, and what it needs to know is asked of a worker."""
        self._wonder_on()
        while not self.desk.finished.empty():
            number, answer = self.desk.finished.get()
            inquiry = self._at_desk.pop(number, None)
            if inquiry is None:
                continue
            self._spend(inquiry, "proofs", answer.pop("seconds", 0.0))
            if "needs" not in answer:
                self._end(inquiry, answer)
            elif inquiry.rounds >= MOST_ROUNDS:
                self._end(inquiry, {"silent": "too many moves"})
            else:
                self._need(inquiry, answer["needs"])

    def _need(self, inquiry: Inquiry, needs: dict[str, Any]) -> None:
        inquiry.rounds += 1
        ((key, programs),) = needs.items()
        assert inquiry.moves is not None
        if key in self._moves:
            inquiry.moves[key] = self._moves[key]
            self._to_desk(inquiry)
            return
        inquiry.asked = (key,)
        job = self.pool.submit("forwards", urgent=inquiry.urgent, ahead=inquiry.urgent, fresh=False, limit=MEASURE_LIMIT, programs=programs)
        self._jobs[job] = inquiry

    def close(self) -> None:
        self.desk.close()
