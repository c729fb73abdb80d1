"""Where a campaign's time went: what it shows at its end, and what is kept of it for reports."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

SEARCH, CONFIRMING, SHRINKING, SCRIPTS, POST_MORTEMS = "batches", "confirming", "shrinking", "scripts", "post-mortems"
SEEDS, REFERENCE = "seeds", "reference"
# Beside the workers: the reference's own processes, the campaign's process.
PROOFS, STEERING = "proofs", "steering"
# Of the clock: how long it ran, and how long its workers together were without work or without a processor to do it on.
CLOCK, WAITING = "clock", "waiting"
# What jobs are called in that account; whatever looks at the library rather than at mutants goes under seeds.
_WORDS = {
    "batch": SEARCH, "chains": SEARCH, "graphs": SEARCH, "tabulate": SEARCH, "confirm": CONFIRMING, "shrink": SHRINKING,
    "direct": SCRIPTS, "calls": SCRIPTS, "script": SCRIPTS, "pinpoint": SCRIPTS, "landscape": SCRIPTS,
    "measure": REFERENCE, "forwards": REFERENCE,
}  # fmt: skip
_WORKERS = (SEARCH, CONFIRMING, SHRINKING, SCRIPTS, POST_MORTEMS, SEEDS, REFERENCE)
# The first suspicions come all at once: how much is spent searching is judged from here on.
FIRST_MINUTE = 60.0


@dataclass
class Spending:
    """Seconds of the processor by what they were spent on, and what is left of the workers' time."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_WORKERS, 0.0))
    beside: dict[str, float] = field(default_factory=lambda: {PROOFS: 0.0, STEERING: 0.0})
    clock: float = 0.0
    room: float = 0.0  # seconds that workers were there, all of them together
    first_minute: dict[str, float] | None = None  # what workers spent in the first minute; None: it is not over
    _began: float = field(default_factory=time.process_time)

    def see(self, by_job: Mapping[str, float], post_mortems: float, proofs: float, passed: float, clock: float, workers: int) -> None:
        """Take in what the pool's workers, post-mortems and proofs have taken so far, so many seconds after the search began.

        `clock`: seconds that the campaign has run in all, since the last time with so many workers.
        """
        if passed >= FIRST_MINUTE and self.first_minute is None:
            self.first_minute = dict(self.seconds)
        self.seconds = {**dict.fromkeys(_WORKERS, 0.0), POST_MORTEMS: post_mortems}
        for job, seconds in by_job.items():
            self.seconds[_WORDS.get(job, SEEDS)] += seconds
        self.room += workers * max(0.0, clock - self.clock)
        self.clock = clock
        self.beside = {PROOFS: proofs, STEERING: time.process_time() - self._began}

    @property
    def searching(self) -> float | None:
        """The share of batches after the first minute; None where nothing was spent since."""
        if self.first_minute is None:
            return None
        since = {name: seconds - self.first_minute[name] for name, seconds in self.seconds.items()}
        total = sum(since.values())
        return since[SEARCH] / total if total > 0 else None

    @property
    def waiting(self) -> float:
        """What workers did not spend of the time that they were there. Post-mortems have a worker of their own."""
        return max(0.0, self.room - sum(self.seconds.values()) + self.seconds[POST_MORTEMS])

    def to_keep(self) -> dict[str, float]:
        """All of it by name, as a store keeps it."""
        everything = {**self.seconds, **self.beside, WAITING: self.waiting, CLOCK: self.clock}
        return {name: round(seconds, 3) for name, seconds in everything.items()}

    def __str__(self) -> str:
        total = sum(self.seconds.values())
        parts = ", ".join(f"{name} {100 * seconds / max(total, 1e-9):.0f} %" for name, seconds in self.seconds.items())
        after = "" if self.searching is None else f"; batches after the first minute {100 * self.searching:.0f} %"
        return f"workers' time on the processor: {total:.0f} s: {parts}{after}"
