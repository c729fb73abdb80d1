"""Which of TensorFlow's registered gradients campaigns reached, out of those that exist, and why the others are not.

gradfuzz run tensorflow --time 30m --store tensorflow.db
python benchmarks/tensorflow_rules.py tensorflow.db [MORE.db ...]
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path

from gradfuzz.targets.registry import load_target

WANTED = 80.0
# Gradients that a Program on one CPU cannot reach. Names are globs over operators.
OUT_OF_REACH = {
    "it belongs to other devices or to several of them": (
        "Nccl*", "Cudnn*", "*TPU*", "AllToAll", "CollectivePermute", "CrossReplicaSum", "*Mesh*", "Relayout*", "Xla*",
    ),
    "it writes files, prints or calls back into Python": ("DebugIdentityV2", "EagerPyFunc", "PyFunc", "PyFuncStateless", "Print"),
    "it works on references to variables, which TensorFlow 2 does not have": ("Ref*", "DebugGradientRefIdentity"),
    "it is part of the control flow of TensorFlow 1": ("Enter", "Exit", "Merge", "NextIteration", "Switch", "LoopCond"),
    "it is a handle to an array of TensorFlow 1": ("TensorArray*",),
    "it needs functions as arguments, which Programs do not have": ("Case", "StatelessCase", "If", "StatelessIf", "While"),
    "it has no kernel on a CPU, or was removed": (
        "AccumulateNV2", "CTCLossV2", "SparseMatrixAdd", "SparseMatrixMul", "SparseMatrixSoftmax", "BatchNormWithGlobalNormalization",
        "QuantizeAndDequantize", "TopK", "BatchMatMulV3", "_EagerConst",
    ),
    "it draws random numbers that no seed fixes": ("RandomGamma",),
    "it raises by declaration": ("PreventGradient",),
}  # fmt: skip


def main(stores: list[Path]) -> None:
    from gradfuzz.targets.tensorflow.rules import existing_rules

    load_target("tensorflow")
    reached = {rule.replace("nested:", "") for store in stores for rule in stored(store)}
    existing = existing_rules()
    missing: dict[str, list[str]] = defaultdict(list)
    for rule in sorted(existing - reached):
        missing[why(rule)].append(rule)
    hit = existing & reached
    share = 100 * len(hit) / max(1, len(hit) + len(missing.get("not reached", [])))
    print(f"{len(hit)} registered gradients reached of {len(existing)} that exist; of those in reach {share:.1f} % (wanted: {WANTED:.0f})")
    for reason, names in missing.items():
        print(f"{len(names):4d} {reason}: {', '.join(names)}")


def stored(store: Path) -> set[str]:
    with sqlite3.connect(store) as connection:
        mutants = [json.loads(row[0]) for row in connection.execute("select counts from batches")]
        total = sum(sum(counts.values()) for counts in mutants)
        invalid = sum(counts.get("invalid", 0) for counts in mutants)
        print(f"{store}: {len(mutants)} batches, {total} mutants, {100 * (1 - invalid / max(1, total)):.1f} % valid")
        return {row[0] for row in connection.execute("select distinct rule from rules")}


def why(operator: str) -> str:
    for reason, patterns in OUT_OF_REACH.items():
        if any(fnmatchcase(operator, pattern) for pattern in patterns):
            return reason
    return "not reached"


if __name__ == "__main__":
    main([Path(a) for a in sys.argv[1:]])
