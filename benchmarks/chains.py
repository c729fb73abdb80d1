"""How long the sweep over all pairs of single-argument ops takes, and what graphs reach.

python benchmarks/chains.py pairs torch [WORKERS]       all ordered pairs and their gradients x 20 points
python benchmarks/chains.py document tensorflow         the 36 ops that the first gradient fuzzer swept, their pairs and gradients
python benchmarks/chains.py points torch                each point that it reported, judged today
python benchmarks/chains.py graphs torch [COUNT]        graphs of ten calls: valid, conclusive, how many per second of one core
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.program import to_json
from gradfuzz.reference.digits import UNITS, losses
from gradfuzz.surveys.accuracy import forms, program_for

DOCUMENT = [
    "tf.abs", "tf.acos", "tf.asin", "tf.atan", "tf.math.ceil", "tf.math.conj", "tf.cos", "tf.math.digamma", "tf.math.erf",
    "tf.math.erfc", "tf.exp", "tf.floor", "tf.math.is_finite", "tf.math.is_inf", "tf.math.is_nan", "tf.math.lgamma",
    "tf.math.log", "tf.math.log1p", "tf.negative", "tf.compat.v1.negative", "tf.math.reciprocal", "tf.math.rint", "tf.round",
    "tf.math.rsqrt", "tf.sigmoid", "tf.sign", "tf.sin", "tf.sqrt", "tf.square", "tf.tan", "tf.tanh", "tf.compat.v1.to_bfloat16",
    "tf.compat.v1.to_double", "tf.compat.v1.to_float", "tf.compat.v1.to_int32", "tf.compat.v1.to_int64",
]  # fmt: skip
# The first gradient fuzzer's reports: gradients of these gradients, at these points.
REPORTED = [
    ("digamma", 2.154e33), ("lgamma", 1e100), ("reciprocal", 1.668e-78), ("reciprocal", 4.642e-34), ("rsqrt", 2.783e-56),
    ("rsqrt", 2.154e33),
]  # fmt: skip


def command(*arguments: object) -> str:
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "gradfuzz", *map(str, arguments), "--store", str(Path(folder) / "bench.db")],
            capture_output=True, text=True,
        )  # fmt: skip
        took = time.monotonic() - began
    if done.returncode == 2:
        raise SystemExit(done.stderr)
    return done.stdout + f"{took / 60:.1f} minutes in all"


def pairs(target: str, workers: int, ops: list[str]) -> None:
    chosen = [part for op in ops for part in ("--op", op)]
    print(command("chain", target, "--depth", 2, "--gradients", "--points", 20, "--workers", workers, *chosen))


def points(target: str) -> None:
    """Judged by the reference: does the type hold the true second derivative, and did the library give it?"""
    spelled = forms(target)
    with Pool(Launch(target), 1) as pool:
        print(f"{target} {pool.version}: the gradient of the gradient at each reported point")
        for name, x in REPORTED:
            for dtype in UNITS:
                program = program_for(target, spelled[name], dtype)
                answer = pool.run("tabulate", program=to_json(program), points=[x], start=0, count=1)
                for _, got in answer.data["rows"]:
                    for loss in losses(target, program, x, got, dtype):
                        if loss.kind == "second derivative" and loss.way == "reverse":
                            verdict = loss.note or (f"{loss.lost:.1f} digits lost" if loss.lost else "right")
                            print(f"  {name:11} {x:9.3e} {dtype}: true {loss.expected:.6e}, got {loss.got:.6e}: {verdict}")


def graphs(target: str, count: int) -> None:
    for order in (1, 2):
        text = command("graphs", target, "--count", count, "--size", 10, "--order", order, "--workers", 1)
        print(f"order {order}:", next(line for line in text.splitlines() if "% valid" in line))


def main(what: str, target: str, number: str = "") -> None:
    if what == "pairs":
        pairs(target, int(number or 2), [])
    elif what == "document":
        pairs(target, int(number or 2), DOCUMENT)
    elif what == "points":
        points(target)
    else:
        graphs(target, int(number or 1000))


if __name__ == "__main__":
    main(*sys.argv[1:])
