"""A campaign keeps to its time: the last part of it belongs to what is suspected, and what has not begun by then is left."""

from collections import Counter, deque
from types import SimpleNamespace

import pytest

from gradfuzz.engine import engine
from gradfuzz.engine.engine import CLOSING, LAST_BATCH, LEFT, MOMENT, Engine, Session
from gradfuzz.engine.survey import State, Task
from gradfuzz.pool.executor import Event
from gradfuzz.pool.jobs import Jobs

BATCH = 3.0  # seconds that one takes, on one worker


class Clock:
    """Time that passes where the pool waits."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


class Pool:
    """One worker; `stuck`: it never ends what it has begun."""

    restarts, size = 0, 1

    def __init__(self, clock, stuck=False):
        self.clock, self.stuck = clock, stuck
        self.jobs, self.cpu, self.number = Jobs(1), {}, 0
        self.refill = lambda: None
        self.at = None

    @property
    def hungry(self):
        return len(self.jobs.waiting) < 1

    def submit(self, do, **fields):
        self.number += 1
        self.jobs.add({"id": self.number, "do": do, "urgent": False})
        return self.number

    def poll(self, wait=BATCH):
        if self.hungry:
            self.refill()
        self.at = self.at or self.jobs.next(0)
        self.clock.now += min(wait, BATCH)
        if self.stuck or self.at is None:
            return []
        done, self.at = self.at, None
        return [Event("done", done)]


class Tasks:
    """A survey without an end, or of so many tasks."""

    def __init__(self, clock, count=10**6):
        self.clock, self.count, self.handed_out, self.answers = clock, count, deque(), 0

    def tasks(self):
        for number in range(self.count):
            self.handed_out.append(self.clock.now)
            yield Task("batch", {}, 1, number=number)

    def answered(self, task, answer):
        self.answers += 1


class Suspecting:
    """A triage in which so many suspicions wait until the clock says so."""

    put_off, asked, wondered, inquiries = 0, Counter(), Counter(), SimpleNamespace(spent={}, waiting=0)
    desk = SimpleNamespace(cpu=0.0, allow=lambda spent: None)
    unpolished = 0

    def __init__(self, clock, until):
        self.clock, self.until, self.finished = clock, until, None

    @property
    def waiting(self):
        return int(self.clock.now < self.until)

    unfinished = waiting

    def finish(self):
        self.finished = self.clock.now

    def owed(self, spent):
        return 0.0

    def handle(self, event): ...
    def collect(self): ...
    def close(self): ...


def campaign(monkeypatch, seconds, suspected_until=None, stuck=False, count=10**6):
    """(seconds it took, the survey, the triage)"""
    clock = Clock()
    monkeypatch.setattr(engine, "time", clock)
    began = clock.now
    state = State("mutants", began, began + seconds)
    watcher = SimpleNamespace(tick=lambda state: None)
    opened = SimpleNamespace(
        pool=Pool(clock, stuck), config=SimpleNamespace(), watcher=watcher, store=None, number=1, board=None, began=began, run=""
    )
    run, survey = Engine(opened, state), Tasks(clock, count)
    run.triage = None if suspected_until is None else Suspecting(clock, began + suspected_until)
    run.run(survey)
    return clock.now - began, survey, run.triage


def test_the_last_part_of_the_time_belongs_to_what_is_suspected(monkeypatch):
    took, survey, _ = campaign(monkeypatch, 100.0, suspected_until=95.0)
    assert max(survey.handed_out) - 1000 < 100 * (1 - CLOSING)
    assert 95 <= took <= 95 + BATCH  # it ends when nothing waits any longer


def test_what_waits_when_the_time_is_up_is_left(monkeypatch):
    took, _, triage = campaign(monkeypatch, 100.0, suspected_until=1000.0)
    assert triage.waiting and 100 <= took <= 100 + BATCH


def test_where_nothing_is_suspected_the_search_goes_on_for_longer(monkeypatch):
    took, survey, _ = campaign(monkeypatch, 100.0, suspected_until=0.0)
    assert 100 * (1 - CLOSING) < max(survey.handed_out) - 1000 < 100 - LAST_BATCH + BATCH
    assert took <= 100


def test_a_batch_that_does_not_come_back_is_not_waited_for(monkeypatch):
    took, survey, _ = campaign(monkeypatch, 100.0, stuck=True)
    assert survey.answers == 0 and took <= 100 + BATCH


def test_what_is_under_way_gets_a_moment_however_short_the_campaign_is(monkeypatch):
    took, survey, _ = campaign(monkeypatch, 1.0)
    assert survey.answers >= 1 and took <= 1 + MOMENT + BATCH


def test_tasks_that_have_an_end_are_all_run_if_there_is_time(monkeypatch):
    took, survey, _ = campaign(monkeypatch, 100.0, count=5)
    assert survey.answers == 5 and took < 100 * (1 - CLOSING)


@pytest.mark.parametrize(("start", "left"), [(10.0, 90.0), (300.0, 100 * LEFT)])
def test_starting_the_library_counts_up_to_half_of_the_time(start, left, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(engine, "time", clock)
    opened = Session(SimpleNamespace(seconds=100.0), None, None, None, None, asked=clock.now)
    clock.now += start
    assert opened.deadline - clock.now == left


@pytest.mark.parametrize("undone, hurried", [(5, False), (50, True)])
def test_suspicions_get_more_of_the_workers_where_the_last_part_is_too_short_for_them(undone, hurried):
    pool = Pool(Clock())
    pool.jobs.took({"urgent": True}, 40.0)
    opened = SimpleNamespace(pool=pool, config=None, watcher=None, store=None, number=1)
    triage = SimpleNamespace(owed=lambda spent: undone * spent / 20)
    assert Engine(opened, State("mutants", 0.0, 200.0))._behind(triage) is hurried  # two seconds each, and forty at the end
    assert not Engine(opened, State("mutants", 0.0, None))._behind(triage)


@pytest.mark.parametrize("undone, minutes", [(5, 0.75), (100, 5), (5000, 6)])  # two seconds each, and half as much again
def test_the_search_ends_earlier_where_more_is_suspected_than_usual(undone, minutes, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(engine, "time", clock)
    pool = Pool(clock)
    pool.jobs.took({"urgent": True}, 40.0)
    opened = SimpleNamespace(pool=pool, config=None, watcher=None, store=None, number=1)
    searching = Engine(opened, State("mutants", clock.now, clock.now + 1800.0))
    searching.triage = SimpleNamespace(owed=lambda spent: undone * spent / 20, unfinished=True)
    end = clock.now + 1800.0 - 60 * minutes
    clock.now = end - 1.0
    assert not searching._searched()
    clock.now = end + 1.0
    assert searching._searched()
