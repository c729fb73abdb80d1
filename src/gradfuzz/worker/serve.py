"""The worker: receives jobs, answers them, one at a time, until its stream ends."""

from __future__ import annotations

import contextlib
import gc
import io
import linecache
import os
import resource
import sys
import time
import traceback
from types import ModuleType
from typing import Any, Callable

from gradfuzz.errors import Poisoned, ProgramError
from gradfuzz.findings.inside.calls import calls
from gradfuzz.findings.inside.confirm import confirm
from gradfuzz.findings.inside.documented import documented, undocumented
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.trial import Trial, run_alone
from gradfuzz.oracles.verdict import RANK
from gradfuzz.program import gate
from gradfuzz.program.codec import from_json, to_json
from gradfuzz.program.parse import parse
from gradfuzz.targets.base.errors import without_paths
from gradfuzz.targets.base.protocol import Outcome, Parameter, Target
from gradfuzz.targets.base.refusals import OUTSIDE
from gradfuzz.targets.base.scenario import DIRECT, Scenario, nestings
from gradfuzz.targets.base.ways import STRICT, Way
from gradfuzz.worker.batch import run_batch
from gradfuzz.worker.chains import list_ops, run_chains
from gradfuzz.worker.describe import describe, formula
from gradfuzz.worker.direct import direct
from gradfuzz.worker.drawing import Drawing
from gradfuzz.worker.environment import environment
from gradfuzz.worker.graphs import list_words, run_graphs
from gradfuzz.worker.landscape import landscape
from gradfuzz.worker.measure import forwards, measure, of_confirmed
from gradfuzz.worker.pinpoint import pinpoint
from gradfuzz.worker.progress import Progress
from gradfuzz.worker.reading import read_shard
from gradfuzz.worker.tabulate import tabulate
from gradfuzz.worker.wire import receive, send

Job = dict[str, Any]
COLLECT_EVERY = 16  # jobs
OUT_OF_MEMORY = 87  # the exit status of a worker that has none left for what it keeps itself


def processor_time() -> float:
    """Seconds of the processor that this process has taken, and those of its children that have ended: some read seeds in forks."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Worker:
    """Jobs by name. Each method answers one kind."""

    def __init__(self, target: Target, stream: Any, progress: Progress, missing: list[str]) -> None:
        """`missing`: walls that this system cannot raise."""
        self.target, self.stream, self.progress, self.missing = target, stream, progress, missing
        self._pid = os.getpid()

    def serve(self) -> None:
        gc.disable()  # collected between jobs instead, where it does not interrupt a measurement
        handled, accounted = 0, 0.0
        while True:
            job = receive(self.stream)
            if job is None:
                return
            began = time.monotonic()
            try:
                answer = getattr(self, "do_" + job["do"])(job)
            except MemoryError:
                os._exit(OUT_OF_MEMORY)  # what we keep ourselves has met the wall: that costs the mutant, not the campaign
            except Exception as error:
                answer = {"failed": without_paths(f"{type(error).__name__}: {error}"), "trace": traceback.format_exc()[-2000:]}
            # All that this process and its children have done since its last answer, its own start included, is on this job's account.
            spent = processor_time() - accounted
            accounted += spent
            self._send({"done": job["id"], "seconds": time.monotonic() - began, "spent": spent, **answer})
            handled += 1
            if handled % COLLECT_EVERY == 0:
                gc.collect()

    def do_about(self, job: Job) -> dict[str, Any]:
        """What is here: the versions, and the scenarios that work on the target's own smoke test."""
        plain = [scenario for order in (1, 2) for scenario in nestings(order)]
        return {
            "version": self.target.version,
            "python": ".".join(map(str, sys.version_info[:3])),
            "scenarios": [scenario.name for scenario in [DIRECT, *plain] if self._works(scenario)],
            "ways": {name: self._cost(way) for name, way in self.target.ways.items()},
            "open": self.missing,
        }

    def _cost(self, way: Way) -> dict[str, Any]:
        """What a way costs on the smoke test, in seconds: the first time, and once more. Nothing where it does not run here."""
        if way.walls != STRICT:
            return {"needs": way.walls}  # it is not for this worker, whose walls are strict
        program = parse(self.target.smoke_test(), self.target.language)
        taken = []
        for _ in range(2):
            trial = Trial(self.target, program)
            began = time.perf_counter()
            ran = [isinstance(trial.outcome(s.in_way(way.name)), Outcome) for s in way.scenarios]
            taken.append(time.perf_counter() - began)
        return {"first": taken[0], "again": taken[1]} if any(ran) else {}

    def _works(self, scenario: Scenario) -> bool:
        trial = Trial(self.target, parse(self.target.smoke_test(), self.target.language))
        return isinstance(trial.outcome(scenario), Outcome)

    def _tell(self, job: Job) -> Callable[[Suspicion], None]:
        """Suspicions are sent at once: nothing is lost if the worker dies at the next mutant."""
        return lambda suspicion: self._send({"suspicion": suspicion.to_json(), "id": job["id"]})

    def _send(self, message: dict[str, Any]) -> None:
        if os.getpid() != self._pid:
            os._exit(0)  # the library forked, and this is the copy: a job has one worker
        send(self.stream, message)

    def do_batch(self, job: Job) -> dict[str, Any]:
        return run_batch(self.target, job, self.progress, self._tell(job))

    def do_ops(self, job: Job) -> dict[str, Any]:
        return list_ops(self.target, job, self.progress)

    def do_chains(self, job: Job) -> dict[str, Any]:
        return run_chains(self.target, job, self.progress, self._tell(job))

    def do_words(self, job: Job) -> dict[str, Any]:
        return list_words(self.target, job, self.progress)

    def do_graphs(self, job: Job) -> dict[str, Any]:
        return run_graphs(self.target, job, self.progress, self._tell(job))

    def do_tabulate(self, job: Job) -> dict[str, Any]:
        return tabulate(self.target, job, self.progress)

    def do_measure(self, job: Job) -> dict[str, Any]:
        return measure(self.target, job)

    def do_pinpoint(self, job: Job) -> dict[str, Any]:
        return pinpoint(self.target, job)

    def do_landscape(self, job: Job) -> dict[str, Any]:
        return {"landscape": landscape(self.target, job)}

    def do_forwards(self, job: Job) -> dict[str, Any]:
        return forwards(self.target, job)

    def do_mutant(self, job: Job) -> dict[str, Any]:
        """The mutant's edits, without running it: for the post-mortem of a death."""
        drawing = Drawing.of(job, from_json(job["program"]), self.target)
        return {"edits": [e.to_json() for e in drawing.edits(job["index"])]}

    def do_examine(self, job: Job) -> dict[str, Any]:
        """One Program in all detail."""
        options = Options.from_json(job["options"])
        refused = self._refused(job["program"])
        if refused:
            return {"refused": refused}
        seen = examine(self.target, from_json(job["program"]), options, keep_rules=True)
        if seen.error is not None and seen.error.kind == OUTSIDE:
            return {"refused": seen.error.message}
        return {
            "verdicts": [v.to_json() for v in seen.verdicts],
            "outcome": seen.outcome,
            "rules": seen.rules,
            "rule": seen.rule,
            "numbers": {} if seen.trial is None else _numbers(seen.trial, options),
        }

    def _refused(self, program: dict[str, Any]) -> str:
        """Why a Program cannot be run here at all, whatever its inputs; nothing where it can."""
        try:
            self.target.point(gate.check(from_json(program), self.target.language))
        except ProgramError as error:
            return str(error)
        except Exception:  # what the library says to these inputs is for the oracles
            return ""
        return ""

    def do_vet(self, job: Job) -> dict[str, Any]:
        """Which Programs cannot be run here at all, and why: {position: reason}."""
        found = {}
        for index in range(job["start"], len(job["programs"])):
            self.progress.write(job["id"], index, [0] * len(RANK))
            refused = self._refused(job["programs"][index])
            if refused:
                found[index] = refused
        return {"refused": found}

    def do_scenario(self, job: Job) -> dict[str, Any]:
        """One scenario by itself: for the post-mortem of a death. What it raises is nothing to die of."""
        try:
            run_alone(self.target, from_json(job["program"]), Scenario.named(job["scenario"]))
        except Exception as error:
            if self.target.classify(error).kind == "poisoned":
                raise Poisoned from error
        return {}

    def do_confirm(self, job: Job) -> dict[str, Any]:
        """A suspicion seen again and made small."""
        suspicion = Suspicion.from_json(job["suspicion"]).check(self.target.language)
        if hasattr(self.target, "optimise"):  # see Optimising
            self.target.optimise()
        confirmed = confirm(self.target, suspicion, job["seconds"])
        if confirmed is None:
            return {"confirmed": None}
        answer = {"confirmed": confirmed.to_json(), "of_that": {"shrink": confirmed.shrinking}}
        numbers = of_confirmed(self.target, confirmed, job["entries"]) if "entries" in job else None
        return answer if numbers is None else {**answer, "measured": numbers}

    def do_direct(self, job: Job) -> dict[str, Any]:
        return direct(self.target, job)

    def do_calls(self, job: Job) -> dict[str, Any]:
        """What an API passes through, in this fresh process: what was traced before is not run again."""
        return {"calls": calls(self.target, job["api"], gate.check(from_json(job["program"]), self.target.language))}

    def do_rules(self, job: Job) -> dict[str, Any]:
        return {"rules": self.target.rules()}

    def do_describe(self, job: Job) -> dict[str, Any]:
        return {"described": describe(self.target, job["apis"])}

    def do_documented(self, job: Job) -> dict[str, Any]:
        """What docstrings say and do not say about an API and how it is called. Nothing is called."""
        api, program = job["api"], gate.check(from_json(job["program"]), self.target.language)
        return {"hidden": undocumented(self.target, api, program), "documented": documented(self.target, api)}

    def do_formula(self, job: Job) -> dict[str, Any]:
        return {"formula": formula(self.target, job["rule"])}

    def do_probe(self, job: Job) -> dict[str, Any]:
        """Seeds for an API from a signature; none where nothing works."""
        overload = tuple(Parameter(**p) for p in job["parameters"])
        try:
            found = [{"api": s.api, "source": s.source, "program": to_json(s.program)} for s in self.target.probe(job["api"], overload)]
        except ProgramError as error:
            return {"seeds": [], "refused": str(error)}
        return {"seeds": found}

    def do_seeds(self, job: Job) -> dict[str, Any]:
        return read_shard(self.target, job, self.progress)

    def do_script(self, job: Job) -> dict[str, Any]:
        """Run a reproducer in this fresh process and say how it exits. `then`: what follows it where it exits with 1, as every reproducer
        does that shows something; what it has compiled is not compiled again."""
        status, output = self._run_script(job["source"])
        answer = {"status": status, "output": output, "environment": environment()}
        if job.get("then") and status == 1:
            with contextlib.suppress(Exception):  # what raises is no example
                status, output = self._run_script(job["then"])
                answer["then"] = {"status": status, "output": output}
        return answer

    def _run_script(self, source: str) -> tuple[Any, str]:
        """How a script exits, and what it prints."""
        output = io.StringIO()
        status: Any = 0
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                self.target.restore_defaults()
                # As a script's own module: a compiler looks up there what the functions that it follows are made of.
                module = sys.modules["__main__"] = ModuleType("__main__")
                name = "reproducer.py"
                linecache.cache[name] = (len(source), None, source.splitlines(True), name)  # or reads their text
                exec(compile(source, name, "exec"), vars(module))
            except SystemExit as stop:
                status = stop.code
        return status, without_paths(output.getvalue())[-4000:]


def _numbers(trial: Trial, options: Options) -> dict[str, Any]:
    """Each scenario's projection, for the table that people read."""
    found: dict[str, Any] = {}
    for order in range(1, options.order + 1):
        for scenario in trial.scenarios(order, options.scenarios):
            outcome = trial.outcome(scenario)
            found[scenario.name] = trial.number(outcome) if isinstance(outcome, Outcome) else outcome.message[:200]
    return found
