"""Which job is next: urgent ones first, within their share of the workers and of the workers' time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container
from typing import Any

Job = dict[str, Any]
# Of the workers' time, what urgent jobs may take while there are others to run, and what part of the workers they may have at a time.
URGENT_SHARE = 0.15
# The same where more waits than could be done in time: what else would be suspected then, nobody would look into.
HURRIED_SHARE = 0.5
URGENT_WORKERS = 0.5
# Of so many urgent jobs one is of those that were put off: where much is found there is always something more urgent.
PUT_OFF_EVERY = 4


class Jobs:
    """Jobs that have not begun."""

    def __init__(self, workers: int) -> None:
        self.staff(workers)
        self.waiting: deque[Job] = deque()
        self.begun: deque[Job] = deque()  # urgent ones about what others before them have begun: first come, first served
        self.urgent: deque[Job] = deque()
        self.put_off: deque[Job] = deque()  # urgent ones that have time: after the others, within the same share
        self._spent = {True: 0.0, False: 0.0}  # seconds of the processor, by whether the job was urgent
        self.hurried = False
        self._handed_out = 0  # urgent ones

    def staff(self, workers: int) -> None:
        """So many workers there are now."""
        self._most_urgent = max(1, int(URGENT_WORKERS * workers))

    def __bool__(self) -> bool:
        return bool(self.waiting or self.begun or self.urgent or self.put_off)

    def add(self, job: Job, ahead: bool = False, put_off: bool = False) -> None:
        """`ahead`: before those of its kind; `put_off`: when no other urgent one waits, or when such ones have their turn."""
        if job["urgent"] and not put_off:
            (self.begun if ahead else self.urgent).append(job)
        elif ahead:
            (self.put_off if put_off else self.waiting).appendleft(job)
        elif put_off:
            self.put_off.append(job)
        else:
            self.waiting.append(job)

    def withdraw(self, number: int) -> bool:
        """Take back a job that was put off; whether it was still there."""
        found = [job for job in self.put_off if job["id"] == number]
        for job in found:
            self.put_off.remove(job)
        return bool(found)

    def call_off(self, numbers: Container[int]) -> list[int]:
        """Take back those of these jobs that are not urgent and have not begun; returns which they were."""
        found = [job for job in self.waiting if job["id"] in numbers]
        for job in found:
            self.waiting.remove(job)
        return [job["id"] for job in found]

    def next(self, urgent_ones: int, fits: Callable[[Job], bool] | None = None) -> Job | None:
        """What another worker is to do, while so many are at urgent jobs; of those that `fit`, where it cannot do all."""
        may = not self.waiting or self._room(urgent_ones)
        urgent = (self.put_off, self.begun, self.urgent) if self._is_turn_of_put_off() else (self.begun, self.urgent, self.put_off)
        queues = (*urgent, self.waiting) if may else (self.waiting,)
        job = next(filter(None, (_pop(queue, fits) for queue in queues)), None)
        self._handed_out += job is not None and job["urgent"]
        return job

    def _is_turn_of_put_off(self) -> bool:
        return self._handed_out % PUT_OFF_EVERY == PUT_OFF_EVERY - 1

    def _room(self, urgent_ones: int) -> bool:
        share = HURRIED_SHARE if self.hurried else URGENT_SHARE
        return urgent_ones < self._most_urgent and self._spent[True] <= share * sum(self._spent.values())

    @property
    def spent_urgently(self) -> float:
        """Seconds of the processor that urgent jobs have taken."""
        return self._spent[True]

    def took(self, job: Job, seconds: float) -> None:
        """A job has taken so many seconds of the processor."""
        self._spent[job["urgent"]] += seconds

    def forget(self) -> None:
        """What was done so far is no share of anything."""
        self._spent = dict.fromkeys(self._spent, 0.0)


def _pop(queue: deque[Job], fits: Callable[[Job], bool] | None) -> Job | None:
    """The first that fits."""
    if fits is None:
        return queue.popleft() if queue else None
    found = next((job for job in queue if fits(job)), None)
    if found is not None:
        queue.remove(found)
    return found
