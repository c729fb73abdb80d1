"""Which of JAX's derivative and batching rules campaigns reached, out of those that exist, and why the others are not.

gradfuzz run jax --time 30m --store jax.db
python benchmarks/jax_rules.py jax.db [MORE.db ...]
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import defaultdict
from pathlib import Path

from gradfuzz.targets.jax.rules import existing_rules
from gradfuzz.targets.registry import load_target

WANTED = 90.0
# Rules that a program on one CPU cannot reach, by what their primitives are for. Patterns are parts of primitives' names, or whole names
# behind an equals sign.
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
        "transpose_jaxpr", "random_", "zeros_like", "instantiate", "=eval_jaxpr", "_edtype", "=log_extend", "=log_read", "=new_log",
        "=tie", "=call", "=custom_jvp_call",
    ),
    "it has a rule that says there is no derivative": (
        "rng_", "threefry", "nextafter", "iota", "stop_gradient", "argsort", "=composite",
    ),
}  # fmt: skip
# JAX asks a derivative rule only where a tangent arrives, and whole numbers and truth values have none.
DISCRETE = (
    "and", "or", "not", "xor", "reduce_and", "reduce_or", "reduce_xor", "shift_left", "shift_right_arithmetic", "shift_right_logical",
    "mulhi", "clz", "population_count",
)  # fmt: skip


def main(stores: list[Path]) -> None:
    load_target("jax")  # its namespaces register their rules when they are imported
    reached = {rule for store in stores for rule in stored(store)}
    existing = existing_rules()
    for kind in ("jvp", "transpose", "batch"):
        report(kind, {r for r in existing if r.startswith(kind + ":")}, reached)


def stored(store: Path) -> set[str]:
    with sqlite3.connect(store) as connection:
        mutants = [json.loads(row[0]) for row in connection.execute("select counts from batches")]
        total = sum(sum(counts.values()) for counts in mutants)
        invalid = sum(counts.get("invalid", 0) for counts in mutants)
        print(f"{store}: {len(mutants)} batches, {total} mutants, {100 * (1 - invalid / max(1, total)):.1f} % valid")
        return {row[0] for row in connection.execute("select distinct rule from rules")}


def report(kind: str, existing: set[str], reached: set[str]) -> None:
    missing: dict[str, list[str]] = defaultdict(list)
    for rule in sorted(existing - reached):
        missing[why(*rule.split(":", 1))].append(rule.split(":", 1)[1])
    hit = existing & reached
    open_ = len(missing.get("not reached", []))
    share = 100 * len(hit) / max(1, len(hit) + open_)
    print(f"{kind:10s} {len(hit)} reached of {len(existing)} that exist; of those in reach {share:.1f} % (wanted: {WANTED:.0f})")
    for reason, names in missing.items():
        print(f"           {len(names):3d} {reason}: {', '.join(names)}")


def why(kind: str, primitive: str) -> str:
    if kind != "batch" and primitive in DISCRETE:
        return "it takes whole numbers or truth values alone, to which no tangent comes"
    for reason, parts in OUT_OF_REACH.items():
        if any(part == f"={primitive}" or part in primitive for part in parts):
            return reason
    return "not reached"


if __name__ == "__main__":
    main([Path(a) for a in sys.argv[1:]])
