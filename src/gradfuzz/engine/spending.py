"""Where the workers' time went: what a campaign shows at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SEARCH, POST_MORTEMS = "batches", "post-mortems"
# What jobs are called in that account; whatever looks at the library rather than at mutants goes under seeds.
_WORDS = {
    "batch": SEARCH, "chains": SEARCH, "graphs": SEARCH, "tabulate": SEARCH,
    "confirm": "confirming", "script": "confirming", "shrink": "shrinking", "measure": "reference", "forwards": "reference",
}  # fmt: skip
_ALL = (SEARCH, "confirming", "shrinking", POST_MORTEMS, "seeds", "reference")
# The first suspicions come all at once: how much is spent searching is judged from here on.
FIRST_MINUTE = 60.0


@dataclass
class Spending:
    """Seconds of the processor by what they were spent on."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_ALL, 0.0))
    first_minute: dict[str, float] | None = None  # what of it was spent in the first minute; None: it is not over

    def see(self, by_job: Mapping[str, float], post_mortems: float, passed: float) -> None:
        """Take in what the pool's workers have spent on each kind of job so far, so many seconds after the beginning."""
        if passed >= FIRST_MINUTE and self.first_minute is None:
            self.first_minute = dict(self.seconds)
        self.seconds = {**dict.fromkeys(_ALL, 0.0), POST_MORTEMS: post_mortems}
        for job, seconds in by_job.items():
            self.seconds[_WORDS.get(job, "seeds")] += seconds

    @property
    def searching(self) -> float | None:
        """The share of batches after the first minute; None where nothing was spent since."""
        if self.first_minute is None:
            return None
        since = {name: seconds - self.first_minute[name] for name, seconds in self.seconds.items()}
        total = sum(since.values())
        return since[SEARCH] / total if total > 0 else None

    def __str__(self) -> str:
        total = sum(self.seconds.values())
        parts = ", ".join(f"{name} {100 * seconds / max(total, 1e-9):.0f} %" for name, seconds in self.seconds.items())
        after = "" if self.searching is None else f"; batches after the first minute {100 * self.searching:.0f} %"
        return f"workers' time on the processor: {total:.0f} s: {parts}{after}"
