"""The worker: receives jobs, answers them, one at a time, until its stream ends."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import sys
import time
import traceback
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.trial import Trial
from gradfuzz.program.codec import from_json, to_json
from gradfuzz.targets.protocol import Outcome, Parameter, Target, nestings, scenario_name
from gradfuzz.worker.batch import mutant, run_batch
from gradfuzz.worker.chains import list_ops, run_chains
from gradfuzz.worker.finish import finish
from gradfuzz.worker.graphs import list_words, run_graphs
from gradfuzz.worker.progress import Progress
from gradfuzz.worker.tabulate import tabulate
from gradfuzz.worker.wire import receive, send

Job = dict[str, Any]
COLLECT_EVERY = 16  # jobs


class Worker:
    """Jobs by name. Each method answers one kind."""

    def __init__(self, target: Target, stream: Any, progress: Progress) -> None:
        self.target, self.stream, self.progress = target, stream, progress

    def serve(self) -> None:
        gc.disable()  # collected between jobs instead, where it does not interrupt a measurement
        handled = 0
        while True:
            job = receive(self.stream)
            if job is None:
                return
            began = time.monotonic()
            try:
                answer = getattr(self, "do_" + job["do"])(job)
            except Exception as error:
                answer = {"failed": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()[-2000:]}
            send(self.stream, {"done": job["id"], "seconds": time.monotonic() - began, **answer})
            handled += 1
            if handled % COLLECT_EVERY == 0:
                gc.collect()

    def do_about(self, job: Job) -> dict[str, Any]:
        works = [scenario_name(m) for order in (1, 2) for m in nestings(order) if self._works(m)]
        return {
            "version": self.target.version,
            "python": ".".join(map(str, sys.version_info[:3])),
            "scenarios": ["direct", "numeric", *works],
        }

    def _works(self, modes: tuple[str, ...]) -> bool:
        from gradfuzz.program.parse import parse

        text = self.target.smoke_test()
        trial = Trial(self.target, parse(text, self.target.language))
        return isinstance(trial.outcome(modes), Outcome)

    def do_batch(self, job: Job) -> dict[str, Any]:
        return run_batch(self.target, job, self.progress, lambda finding: send(self.stream, {"finding": finding, "id": job["id"]}))

    def do_ops(self, job: Job) -> dict[str, Any]:
        return list_ops(self.target, job, self.progress)

    def do_chains(self, job: Job) -> dict[str, Any]:
        return run_chains(self.target, job, self.progress, lambda finding: send(self.stream, {"finding": finding, "id": job["id"]}))

    def do_words(self, job: Job) -> dict[str, Any]:
        return list_words(self.target, job, self.progress)

    def do_graphs(self, job: Job) -> dict[str, Any]:
        return run_graphs(self.target, job, self.progress, lambda finding: send(self.stream, {"finding": finding, "id": job["id"]}))

    def do_tabulate(self, job: Job) -> dict[str, Any]:
        return tabulate(self.target, job, self.progress)

    def do_mutant(self, job: Job) -> dict[str, Any]:
        """The mutant's Program, without running it: for the post-mortem of a crash."""
        seed, weights = from_json(job["program"]), job.get("weights") or {}
        edits, program = mutant(seed, job["rng"], job["index"], self.target.family, self.target.parameters, weights)
        return {"edits": [e.to_json() for e in edits], "program": to_json(program)}

    def do_examine(self, job: Job) -> dict[str, Any]:
        """One Program in all detail."""
        options = Options.from_json(job["options"])
        seen = examine(self.target, from_json(job["program"]), options, keep_rules=True, thorough=True)
        return {
            "verdicts": [v.to_json() for v in seen.verdicts],
            "outcome": seen.outcome,
            "rules": seen.rules,
            "rule": seen.rule,
            "numbers": {} if seen.trial is None else _numbers(seen.trial, options),
        }

    def do_finish(self, job: Job) -> dict[str, Any]:
        return finish(self.target, job)

    def do_rules(self, job: Job) -> dict[str, Any]:
        return {"rules": self.target.rules()}

    def do_probe(self, job: Job) -> dict[str, Any]:
        """Seeds for an API from a signature; none where nothing works."""
        overload = tuple(Parameter(**p) for p in job["parameters"])
        try:
            found = [{"api": s.api, "source": s.source, "program": to_json(s.program)} for s in self.target.probe(job["api"], overload)]
        except ProgramError as error:
            return {"seeds": [], "refused": str(error)}
        return {"seeds": found}

    def do_seeds(self, job: Job) -> dict[str, Any]:
        """Write the library's own seeds to a file, one JSON object a line; the file appears whole or not at all."""
        part = job["path"] + ".part"
        count = 0
        deadly = set(job.get("deadly", ()))

        def trying(api: str) -> bool:
            with open(job["path"] + ".trying", "w", encoding="utf-8") as file:
                file.write(api)
            return api not in deadly

        with open(part, "w", encoding="utf-8") as file:
            for seed in self.target.seeds(trying):
                count += 1
                row = {"api": seed.api, "source": seed.source, "program": to_json(seed.program)}
                file.write(json.dumps(row) + "\n")
                self.progress.write(job["id"], count, [0] * 7)
        os.replace(part, job["path"])
        return {"count": count}

    def do_script(self, job: Job) -> dict[str, Any]:
        """Run a reproducer in this fresh process and say how it exits."""
        output = io.StringIO()
        status: Any = 0
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                self.target.restore_defaults()
                exec(compile(job["source"], "reproducer.py", "exec"), {"__name__": "__main__"})
            except SystemExit as stop:
                status = stop.code
        return {"status": status, "output": output.getvalue()[-4000:]}


def _numbers(trial: Trial, options: Options) -> dict[str, Any]:
    """Each scenario's projection, for the table that people read."""
    found: dict[str, Any] = {}
    for order in range(1, options.order + 1):
        for modes in trial.scenarios(order, options.scenarios):
            outcome = trial.outcome(modes)
            found[scenario_name(modes)] = trial.number(outcome) if isinstance(outcome, Outcome) else outcome.message[:200]
    return found
