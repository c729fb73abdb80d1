"""Which of JAX's derivative and batching rules a campaign reaches, out of those that exist, and why the others are not.

    python benchmarks/jax_rules.py [SECONDS] [SEEDS.jsonl] [STORE]

Runs batches of the schedule in this process for so long, one core (or reads a finished campaign's store with SECONDS = 0).
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections import defaultdict
from pathlib import Path

from gradfuzz.campaign.schedule import Schedule
from gradfuzz.program import to_json
from gradfuzz.targets.jax.rules import existing_rules
from gradfuzz.targets.registry import load_target
from gradfuzz.worker.batch import run_batch

WANTED = 90.0
# Rules that a program on one CPU cannot reach, by what their primitives are for. Patterns are parts of primitives' names.
OUT_OF_REACH = {
    "it means something only inside a mapped or sharded axis": (
        "all_gather", "all_to_all", "psum", "pmin", "pmax", "ppermute", "pbroadcast", "pvary", "pcast", "axis_index", "reduce_scatter",
        "sharding", "shard_map", "xla_pmap", "mesh", "reshard", "psend", "precv", "unreduced", "vary", "core_axis", "partition",
        "reduced", "invariant", "auto_axes",
    ),
    "it calls back into Python or prints": (
        "callback", "debug", "outside_call", "io_", "dce_sink", "print", "tapped",
    ),
    "it belongs to another device or to kernels": (
        "tpu", "gpu", "cuda", "cudnn", "mosaic", "pallas", "triton", "custom_call", "ffi", "device_put", "copy_to", "infeed", "outfeed",
    ),
    "it is internal to a transform of functions that a Program cannot name": (
        "custom_transpose", "custom_lin", "run_state", "ref", "get", "swap", "addupdate", "freeze", "scatter_apply", "linear_call",
        "core_call", "core_closed_call", "closed_call", "custom_vmap", "custom_partitioning", "remat_opt", "for", "call_exported",
        "call_tf", "hijax", "consume", "broadcast_in_dim_dyn", "with_layout", "layout_constraint", "box", "call_hi", "xla_call",
        "transpose_jaxpr", "random_", "zeros_like", "instantiate",
    ),
    "it has a rule that says there is no derivative": (
        "rng_", "threefry", "nextafter", "iota", "stop_gradient", "argsort",
    ),
}  # fmt: skip


def main(seconds: float, seeds_path: Path | None, store: Path | None) -> None:
    target = load_target("jax")
    if seeds_path is not None:
        rows = [json.loads(line) for line in seeds_path.read_text().splitlines()]
    else:
        rows = [{"program": to_json(seed.program), "api": seed.api} for seed in target.seeds()]
    reached = stored(store) if store is not None else set()
    reached |= fuzzed(target, rows, seconds)
    existing = existing_rules()
    for kind in ("jvp", "transpose", "batch"):
        report(kind, {r for r in existing if r.startswith(kind + ":")}, reached)


class Nothing:
    def write(self, *_: object) -> None:
        pass


def fuzzed(target, rows, seconds: float) -> set[str]:
    schedule = Schedule(len(rows), 0, target.value_edits_cheap)
    reached: set[str] = set()
    began, number = time.monotonic(), 0
    counts = [0] * 7
    while time.monotonic() - began < seconds:
        batch = schedule.batch(number)
        options = {"order": 2, "scenarios": None, "salt": 0}
        job = {"id": number, "program": rows[batch.seed_index]["program"], "rng": batch.rng, "start": batch.start, "count": batch.count}
        answer = run_batch(target, {**job, "options": options}, Nothing(), lambda finding: None)
        reached.update(answer["rules"])
        counts = [a + b for a, b in zip(counts, answer["counts"])]
        number += 1
    if number:
        total = sum(counts)
        print(f"{number} batches, {total} mutants in {seconds:.0f} s on one core, {100 * (1 - counts[0] / total):.1f} % valid")
    return reached


def stored(store: Path) -> set[str]:
    with sqlite3.connect(store) as connection:
        return {row[0] for row in connection.execute("select distinct rule from rules")}


def report(kind: str, existing: set[str], reached: set[str]) -> None:
    missing: dict[str, list[str]] = defaultdict(list)
    for rule in sorted(existing - reached):
        missing[why(rule.split(":", 1)[1])].append(rule.split(":", 1)[1])
    hit = existing & reached
    open_ = len(missing.get("not reached", []))
    share = 100 * len(hit) / max(1, len(hit) + open_)
    print(f"{kind:10s} {len(hit)} reached of {len(existing)} that exist; of those in reach {share:.1f} % (wanted: {WANTED:.0f})")
    for reason, names in missing.items():
        print(f"           {len(names):3d} {reason}: {', '.join(names)}")


def why(primitive: str) -> str:
    for reason, parts in OUT_OF_REACH.items():
        if any(part in primitive for part in parts):
            return reason
    return "not reached"


if __name__ == "__main__":
    paths = [Path(a) if a != "-" else None for a in sys.argv[2:4]] + [None, None]
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 300.0, paths[0], paths[1])
