"""What everyone in a campaign is at right now, in words."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gradfuzz.engine.survey import Task
from gradfuzz.findings.triage import Triage
from gradfuzz.pool.executor import Busy, Executor
from gradfuzz.store.board import Doing

MOST_NAMED = 3  # of the jobs that a place with several workers has
MOST_ITEMS = 10**6  # a task that says more does not know how many it has


def doing(pool: Executor, running: Mapping[int, Task], triage: Triage | None) -> list[Doing]:
    """Workers, then the desks beside them."""
    places: dict[str, list[Busy]] = {}
    for busy in pool.at_work():
        places.setdefault(busy.who, []).append(busy)
    rows = [_place(who, there, running, triage) for who, there in places.items()]
    if triage is not None and triage.desk.at is not None:
        death, since = triage.desk.at
        rows.append(Doing("post-mortem", f"{death.api}: {death.cause}", time.monotonic() - since))
    asked = triage.inquiries.at_desk if triage is not None else []
    if asked:
        rows.append(Doing("reference", _listed([f"proving {api}" for api in asked])))
    return rows


def _place(who: str, there: list[Busy], running: Mapping[int, Task], triage: Triage | None) -> Doing:
    jobs = [busy for busy in there if busy.job is not None]
    if not jobs:
        return Doing(who, "nothing to do", pid=there[0].pid)
    first = jobs[0]
    return Doing(who, _listed([_job(busy, running, triage) for busy in jobs]), first.seconds if len(jobs) == 1 else None, first.pid)


def _job(busy: Busy, running: Mapping[int, Task], triage: Triage | None) -> str:
    assert busy.job is not None
    task = running.get(busy.job["id"])
    if task is None:
        return (triage.about(busy.job["id"]) if triage is not None else None) or str(busy.job["do"])
    at = f", {busy.item + 1} of {task.count}" if busy.item is not None and task.count < MOST_ITEMS else ""
    return f"{task.told}{at}"


def _listed(words: list[str]) -> str:
    more = len(words) - MOST_NAMED
    return ", ".join(words[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
