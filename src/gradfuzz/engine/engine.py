"""The one event loop: feeds the pool with a survey's tasks, hands it the answers, and sees every suspicion through."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import datetime, timezone
from pathlib import Path

from gradfuzz.bugs.bug import in_turn
from gradfuzz.cluster.ray_executor import RayExecutor
from gradfuzz.engine.config import Config
from gradfuzz.engine.doing import doing
from gradfuzz.engine.survey import State, Survey, Task, Watcher
from gradfuzz.errors import StoreError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.triage import Triage
from gradfuzz.pool.executor import Event, Executor
from gradfuzz.pool.pool import Pool
from gradfuzz.store import Claim, Store
from gradfuzz.store.board import Writing
from gradfuzz.store.folding import predecessor, take_over
from gradfuzz.store.opening import refuse_foreign

# The last part of a campaign's time belongs to what is suspected by then: it is seen again, made small and proven. So many seconds of it
# are enough as a rule, and where more waits, as many as that has cost so far with a margin, up to all of it. What still waits when the time
# is up is kept for --resume.
CLOSING, USUAL_CLOSING, MARGIN = 0.2, 45.0, 1.5
# Where nothing is suspected the search goes on for longer, but what is handed out at the very end would not come back in time.
LAST_BATCH = 10.0
# However short a campaign is, what is under way at the end of the search gets this long: no finding is confirmed in less.
MOMENT = 20.0
# Starting the library counts, but this part of the time is left for the campaign, however long that took.
LEFT = 0.5
# Seconds between two times that what was spent is written down: whoever kills the campaign loses as much of the account.
KEEP_EVERY = 2.0
# While workers have mutants their answers wake us. At the end, where the reference's answers are what is waited for, nobody does.
SOON = 0.02


class Session:
    """A pool, and the campaign that its findings are kept under. Nothing is written before `begin`."""

    def __init__(
        self, config: Config, pool: Executor, store_path: Path | None, resumed: int | None, watcher: Watcher, asked: float
    ) -> None:  # fmt: skip
        self.config, self.pool, self.watcher = config, pool, watcher
        self._asked = asked  # when it was asked for
        self.began = time.monotonic()
        # A resumed campaign spends in several runs, and those of one moment on two machines are two.
        self.run = f"{datetime.now(timezone.utc).isoformat(timespec='seconds')} {secrets.token_hex(4)}"
        self.board: Writing | None = None
        self._path, self._resumed = store_path, resumed
        self.store: Store | None = None
        self.number = 0

    @property
    def deadline(self) -> float | None:
        """When all is to be over for a survey that begins now; None where no clock ends it."""
        if not self.config.seconds:
            return None
        return max(self._asked + self.config.seconds, time.monotonic() + LEFT * self.config.seconds)

    def begin(self) -> Store:
        """Open the store for a new campaign, or for the one that goes on."""
        assert self._path is not None
        self.store = Store(self._path, create=self._resumed is None)
        if self._resumed is not None:
            last = self.store.campaign()
            if last is None or last["id"] != self._resumed:
                raise StoreError(f"another campaign was begun in {self._path} meanwhile; look at it with `gradfuzz report`")
            if last["version"] != self.pool.version:
                raise StoreError(f"the campaign ran on {last['target']} {last['version']}, here is {self.pool.version}; start a new one")
            self.number = self._resumed
        else:
            rules = self.pool.run("rules").data.get("rules", {})
            target, version, config = self.config.launch.target, self.pool.version, self.config.to_json()
            with self.store.transaction():
                before = predecessor(self.store, target, version, config) if self.config.follows else None
                self.number = self.store.begin(target, version, config)
                self.store.set_existing_rules(self.number, rules)
                if before is not None:
                    take_over(self.store, before, self.number)
        self.store.set_status(self.number, "running")
        self.board = Writing(self._path, self.number)
        return self.store

    def close(self) -> None:
        if self.board is not None:
            self.board.close()
        if self.store is not None:
            self.store.close()


@contextmanager
def session(config: Config, store_path: Path | None, watcher: Watcher, resumed: int | None = None) -> Iterator[Session]:
    """The one way to a pool and a store, which nobody else may write to meanwhile. A foreign file is refused before anything is started."""
    asked = time.monotonic()
    with ExitStack() as stack:
        if store_path is not None:
            if store_path.exists():
                refuse_foreign(store_path)
            stack.enter_context(Claim(store_path))
        watcher.say(f"starting {config.launch.target}")
        pool = stack.enter_context(_executor(config, watcher))
        pool.say = watcher.say
        opened = Session(config, pool, store_path, resumed, watcher, asked)
        try:
            yield opened
        finally:
            opened.close()


def _executor(config: Config, watcher: Watcher) -> Executor:
    """Workers here, or on a cluster: the rest of a campaign is the same."""
    if config.cluster is not None:
        return RayExecutor(config.launch, config.cluster, config.workers or None, watcher.say)
    return Pool(config.launch, config.workers)


class Engine:
    """Runs a survey to its end, or until its time is up. Without a store nothing is kept, and nothing may be suspected."""

    def __init__(self, session: Session, state: State) -> None:
        self.pool, self.config, self.watcher = session.pool, session.config, session.watcher
        self.store, self.number, self.state = session.store, session.number, state
        self._session, self._kept = session, time.monotonic()
        config = self.config
        self.triage = None
        if self.store is not None:
            self.triage = Triage(config.launch, config.shrink_seconds, self.store, self.number, self.pool, self._found, in_turn)
            self.triage.take_up(self.store.suspicions(self.number))
            if self.store.unreadable:
                self.watcher.say(f"{self.store.unreadable} rows of the store make no sense or name what Programs may not: left alone")
        self._running: dict[int, Task] = {}
        self._told: dict[int, list[Suspicion]] = {}  # what each job's worker suspects; it counts once the job is done
        self._tasks: Iterator[Task | None] = iter(())
        self._exhausted = False
        # What is under way at the end is left for --resume.
        self._last_part = 0.0 if state.deadline is None else CLOSING * (state.deadline - state.began)
        self._closing = min(self._last_part, USUAL_CLOSING)
        self._end = math.inf if state.deadline is None else max(state.deadline, state.deadline - self._closing + MOMENT)

    def run(self, survey: Survey) -> State:
        """Ctrl-C, and what the command line turns into it, ends it cleanly: what was confirmed is kept, what was not is kept for later."""
        self._survey, self._tasks = survey, survey.tasks()
        self.pool.refill = self._feed
        try:
            while not self._exhausted or (self._running and not self._late()):
                if not self._exhausted and self._searched():
                    self._search_no_more()
                self._handle(self.pool.poll())
            self.state.finishing = True
            if self.triage is not None:
                self.triage.finish()
                # Where no clock ends the campaign it comes to the same end each time: nothing is left over.
                while self._unfinished(self.triage) and not self._late():
                    self._handle(self.pool.poll(SOON))
            self._close("finished")
        except KeyboardInterrupt:
            self.state.stopped = True
            self._close("stopped")
        except OSError:  # nobody takes our output any more
            self._close("stopped")
            raise
        self._tick()
        return self.state

    def _unfinished(self, triage: Triage) -> bool:
        """Suspicions are waited for, and findings that are polished. What the reference is asked out of mere curiosity is, too, where no
        clock ends the campaign."""
        return triage.unfinished or (self.state.deadline is None and triage.inquiries.waiting > 0)

    def _close(self, status: str) -> None:
        if self.triage is not None:
            self.triage.close()
        self._account()
        if self.store is not None:
            with self.store.transaction():
                self._keep(self.store)
                self.store.set_status(self.number, status)

    def _late(self) -> bool:
        """Whether the time is up: what still runs or waits is left for --resume."""
        return time.monotonic() > self._end

    def _searched(self) -> bool:
        """Whether the rest of the time belongs to what is under way and to what is suspected."""
        if self.state.deadline is None:
            return False
        if self.triage is None or not self.triage.unfinished:
            closing = min(self._closing, LAST_BATCH)
        else:
            closing = min(self._last_part, max(self._closing, MARGIN * self._owed(self.triage) / self.pool.size))
        return time.monotonic() >= self.state.deadline - closing

    def _search_no_more(self) -> None:
        """What has begun comes to its end, what has not is left for --resume."""
        self._exhausted = True
        for number in self.pool.jobs.call_off(self._running):
            del self._running[number]

    def _feed(self) -> None:
        """Hand out tasks while workers would otherwise go idle."""
        while not self._exhausted and self.pool.hungry:
            try:
                task = next(self._tasks)
            except StopIteration:
                self._exhausted = True
                return
            if task is None:
                return  # until another answer has come in
            self._submit(task)

    def _submit(self, task: Task) -> None:
        job = self.pool.submit(task.do, **task.fields, start=task.start, count=task.count)
        self._running[job] = task

    def _handle(self, events: list[Event]) -> None:
        ours: list[Event] = []
        others: list[Event] = []
        for event in events:
            (ours if event.job["id"] in self._running else others).append(event)
        # What was answered is written at once: a transaction costs more than what is in it. Nothing of it has been told to anybody yet.
        with self.store.transaction() if ours and self.store is not None else nullcontext():
            for event in ours:
                self._hear(self._running[event.job["id"]], event)
        if self.triage is not None:
            for event in others:
                if event.kind in ("done", "died"):
                    self.triage.handle(event)
            self.triage.collect()
        self._tick()

    def _hear(self, task: Task, event: Event) -> None:
        number = event.job["id"]
        if event.kind == "suspicion":
            self._told.setdefault(number, []).append(Suspicion.from_json(event.data))
        elif event.kind == "again":
            self._told.pop(number, None)
        else:
            del self._running[number]
            for suspicion in self._told.pop(number, ()):
                self._survey.suspected(task, suspicion)
            self._ended(task, event)

    def _ended(self, task: Task, event: Event) -> None:
        if event.kind == "died":
            index = event.data["index"]
            rest = self._survey.died(task.knowing(event.data["fates"], index), index, event.data["cause"], event.data["counts"])
            if rest is not None:
                self._submit(rest)
        elif "failed" in event.data:
            # Our own mistake, not the library's: say so rather than count it.
            raise RuntimeError(f"a worker failed at {task.do} {task.number}: {event.data['trace']}")
        else:
            self._survey.answered(task, event.data)

    def _found(self, finding: Finding) -> None:
        self.state.findings.append(finding)
        self.watcher.found(finding)

    def _tick(self) -> None:
        self.state.waiting = self.triage.waiting if self.triage is not None else 0
        self.state.restarts = self.pool.restarts
        self._account()
        if self.triage is not None:
            self.state.put_off, self.state.unpolished = self.triage.put_off, self.triage.unpolished
            self.state.asked, self.state.wondered = self.triage.asked, self.triage.wondered
            self.state.asking = self.triage.inquiries.spent
        if self.store is not None and time.monotonic() - self._kept > KEEP_EVERY:
            self._keep(self.store)
        if self._session.board is not None:
            self._session.board.write(lambda: doing(self.pool, self._running, self.triage))
        self.watcher.tick(self.state)

    def _account(self) -> None:
        """What was spent so far, and on what."""
        post_mortems = self.triage.desk.cpu if self.triage is not None else 0.0
        proofs = self.triage.inquiries.spent.get("proofs", 0.0) if self.triage is not None else 0.0
        if self.triage is not None:
            self.triage.desk.allow(sum(self.pool.cpu.values()))
            self.pool.jobs.hurried = self._behind(self.triage)
        clock = time.monotonic() - self._session.began
        self.state.spending.see(self.pool.cpu, post_mortems, proofs, self.state.seconds, clock, self.pool.size)

    def _behind(self, triage: Triage) -> bool:
        """Whether more is suspected than could be looked into at the end of the campaign."""
        return self.state.deadline is not None and MARGIN * self._owed(triage) > self._last_part * self.pool.size

    def _owed(self, triage: Triage) -> float:
        """Seconds of the processor that what is suspected and found will take, at what it has cost so far."""
        return triage.owed(self.pool.jobs.spent_urgently)

    def _keep(self, store: Store) -> None:
        self._kept = time.monotonic()
        store.spend(self.number, self._session.run, self.state.spending.to_keep())
