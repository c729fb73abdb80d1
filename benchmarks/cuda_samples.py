"""All operator samples on the processor against another device: values, first and second derivatives, in float64 and float32.

    PYTHONPATH=src python -m benchmarks.cuda_samples --device cuda --workers 12 --out /tmp/cuda            # PyTorch
    PYTHONPATH=src python -m benchmarks.cuda_samples --target jax --device cuda --workers 12 --out /tmp/cuda

Each sample is one Program; every scenario up to order two is run on both sides along the same directions and held against an error bar,
as campaigns with --device do (oracles/ways.py). Random samples are left out, and so are kinks; kernels that say something else each
time are recognised by running again. Processes are spawned and share nothing; one whose device failed for good is replaced, and its
sample is told as a death. Writes OUT/TARGET-VERSION.json and .md. Exits 2 where there is no such device.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gradfuzz.errors import Poisoned
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import INCONCLUSIVE
from gradfuzz.oracles.ways import check_ways
from gradfuzz.program import from_json, to_json, to_text
from gradfuzz.program.model import Program
from gradfuzz.targets.base.protocol import Outcome, SeedProgram
from gradfuzz.targets.base.scenario import REVERSE, Scenario
from gradfuzz.targets.homes import load_target

NARROW = {"float64": "float32", "complex128": "complex64"}
DTYPES = ("float64", "float32")
NUMBER = 4  # bytes of a check's number on that pipe
# Processes that die at their first sample are not started again for ever.
MOST_DEATHS = 50


def narrowed(program: Program) -> Program:
    """The Program in single precision."""
    return program.with_inputs({n: replace(r, dtype=NARROW.get(r.dtype, r.dtype)) for n, r in program.inputs.items()})


def samples(target: Any) -> Iterator[SeedProgram]:
    """The library's own operator samples; all of a library's seeds where it calls none of them that."""
    if target.name == "torch":
        from benchmarks.common import operator_seeds

        yield from operator_seeds(target)
    else:
        yield from target.seeds()


def compared(target: Any, program: Program, device: str) -> dict[str, Any]:
    """One Program on both sides: {outcome, verdicts}; the outcome says why where nothing was compared."""
    try:
        trial = Trial(target, program)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return {"outcome": f"invalid: {target.classify(error).kind}", "verdicts": []}
    if not trial.outputs or not trial.point.names:
        return {"outcome": "nothing to differentiate", "verdicts": []}
    if trial.point.random:
        return {"outcome": "random", "verdicts": []}
    reverse = trial.outcome(REVERSE)
    if isinstance(reverse, Outcome):
        trial.mute(reverse.live)
    verdicts = check_ways(trial, (), 2, device)
    there = trial.outcome(Scenario(device=device))
    if not isinstance(there, Outcome):
        return {"outcome": f"not on the device: {there.kind}", "verdicts": [v.to_json() for v in verdicts if v.is_finding]}
    found = [v.to_json() for v in verdicts if v.is_finding]
    doubtful = sorted({v.reason.split(":")[0] for v in verdicts if v.outcome == INCONCLUSIVE})
    return {"outcome": "mismatch" if found else f"inconclusive: {', '.join(doubtful)}" if doubtful else "agree", "verdicts": found}


# A share of the work, in a process of its own ----------------------------------------------------------------------------


def waiting() -> Iterator[int]:
    """Numbers of the checks that nobody has begun: all processes read one pipe, so that none is left with more than the others."""
    while number := os.read(sys.stdin.fileno(), NUMBER):
        yield int.from_bytes(number, "big")


def share(options: argparse.Namespace) -> int:
    """Checks as long as some are waiting; a line for each, and one before it that names it."""
    target = load_target(options.target)
    rows = [json.loads(line) for line in options.samples.read_text().splitlines()]
    with options.log.open("a") as log:
        for index in waiting():
            row, dtype = rows[index // len(DTYPES)], DTYPES[index % len(DTYPES)]
            program = from_json(row["program"])
            made = program if dtype == "float64" else narrowed(program)
            print(json.dumps({"index": index}), file=log, flush=True)
            began = time.perf_counter()
            try:
                seen = compared(target, made, options.device)
            except Poisoned:
                return Poisoned.STATUS
            seen |= {"index": index, "api": row["api"], "dtype": dtype, "seconds": time.perf_counter() - began}
            if seen["verdicts"]:
                seen["program"] = to_text(made)
            print(json.dumps(seen), file=log, flush=True)
    return 0


# The whole ------------------------------------------------------------------------------------------------------------------


def whole(options: argparse.Namespace) -> int:
    options.out.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    if options.target == "jax":
        environment.update(JAX_PLATFORMS=f"cpu,{options.device}", XLA_PYTHON_CLIENT_PREALLOCATE="false")
    began = time.monotonic()
    target = load_target(options.target)
    kept = options.out / f"{target.name}-{target.version}.samples"
    if not kept.exists():
        rows = [{"api": s.api, "program": to_json(s.program)} for s in samples(target)]
        kept.write_text("".join(json.dumps(row) + "\n" for row in rows))
    count = len(kept.read_text().splitlines()) * len(DTYPES)
    print(f"{target.name} {target.version}: {count // 2} samples in two precisions, {options.workers} processes", flush=True)
    logs = [options.out / f"share-{n}.log" for n in range(options.workers)]
    running: dict[int, subprocess.Popen[bytes]] = {}
    deaths: list[dict[str, Any]] = []

    queue, filling = os.pipe()
    threading.Thread(target=_fill, args=(filling, count), daemon=True).start()

    def start(number: int) -> None:
        command = [sys.executable, "-m", "benchmarks.cuda_samples", "--target", options.target, "--device", options.device]
        command += ["--samples", str(kept), "--log", str(logs[number])]
        running[number] = subprocess.Popen(command, env=environment, stdin=queue)

    began_checks = time.monotonic()
    for number, log in enumerate(logs):
        log.unlink(missing_ok=True)
        start(number)
    while running:
        time.sleep(0.2)
        late = time.monotonic() - began_checks > options.seconds
        for number, process in list(running.items()):
            if late:
                process.kill()
            status = process.wait() if late else process.poll()
            if status is None:
                continue
            del running[number]
            last = _lines(logs[number])[-1:] or [{"index": None}]
            if status != 0 and not late and len(deaths) < MOST_DEATHS:
                deaths.append({"index": last[0]["index"], "status": "device error" if status == Poisoned.STATUS else status})
                start(number)
    seen = [row for log in logs for row in _lines(log) if "outcome" in row]
    return _written(options, target, seen, deaths, count, began_checks - began, time.monotonic() - began_checks)


def _fill(pipe: int, count: int) -> None:
    for number in range(count):
        os.write(pipe, number.to_bytes(NUMBER, "big"))
    os.close(pipe)


def _lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")] if log.exists() else []


def _written(
    options: argparse.Namespace, target: Any, seen: list[dict[str, Any]], deaths: list[dict[str, Any]], count: int, reading: float,
    taken: float,
) -> int:  # fmt: skip
    outcomes = Counter((row["dtype"], row["outcome"]) for row in seen)
    mismatches = sorted((row for row in seen if row["verdicts"]), key=lambda row: (row["api"], row["dtype"]))
    table = {f"{dtype} {outcome}": n for (dtype, outcome), n in sorted(outcomes.items())}
    name = f"{target.name}-{target.version}"
    about = {"target": name, "device": options.device, "samples": count // 2, "checked": len(seen), "reading": reading, "seconds": taken}
    rest = {"outcomes": table, "deaths": deaths, "mismatches": mismatches}
    (options.out / f"{name}.json").write_text(json.dumps({**about, **rest}, indent=1))
    lines = [f"# {name} on the processor against {options.device}", "", f"{len(seen)} of {count} checks in {taken:.0f} s.", ""]
    lines += [f"- {outcome}: {n}" for outcome, n in table.items()] + [f"- death: {death}" for death in deaths] + [""]
    for row in mismatches:
        lines += [f"## {row['api']} ({row['dtype']})", ""]
        lines += [
            f"- {v['kind']}: {v['reason']}; expected {v['expected']}, got {v['actual']}, bar {v['error_bar']}" for v in row["verdicts"]
        ]
        lines += ["", "```python", row["program"].rstrip(), "```", ""]
    (options.out / f"{name}.md").write_text("\n".join(lines))
    print("\n".join(lines[:2] + [lines[2]] + [line for line in lines if line.startswith("- ")][: len(table) + len(deaths)]))
    print(f"{len(mismatches)} mismatches of {len({row['api'] for row in mismatches})} APIs: {options.out / name}.md")
    return 0 if len(seen) + len(deaths) == count else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="torch")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=570.0, help="leave off after so many, without the reading of the samples")
    parser.add_argument("--out", type=Path, default=Path("cuda-samples"))
    for name, kind in (("--samples", Path), ("--log", Path)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.samples is not None:
        return share(options)
    if not _there(options):
        print(f"there is no device {options.device!r} for {options.target} here; name another --device (cpu compares it with itself)")
        return 2
    return whole(options)


def _there(options: argparse.Namespace) -> bool:
    """Asked in a process of its own: a runtime that was started bears no fork."""
    asked = {
        "torch": f"import torch; torch.zeros(1, device={options.device!r})",
        "jax": f"import jax; jax.devices({options.device!r})",
    }[options.target]
    environment = dict(os.environ, JAX_PLATFORMS=f"cpu,{options.device}")
    return subprocess.run([sys.executable, "-c", asked], env=environment, capture_output=True).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
