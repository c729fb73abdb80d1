"""Which names of a list of APIs have seeds on the installed TensorFlow: reached, missing and why.

    python benchmarks/tensorflow_api_coverage.py LIST [SEEDS.jsonl]

LIST has one API name or signature a line. A name counts if it exists here, can be called in a Program, and is differentiable;
what is not is in tensorflow_not_arithmetic.json, with the reason. TensorFlow gives most functions several names; one name with
seeds covers all of them.
"""

from __future__ import annotations

import collections
import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path

from common import library_seeds

from gradfuzz.program import from_json
from gradfuzz.program.language import Language
from gradfuzz.targets.homes import load_target

_DATA = json.loads(Path(__file__).with_name("tensorflow_not_arithmetic.json").read_text())


def main(path: Path, seeds_path: Path | None) -> None:
    target = load_target("tensorflow")
    covered = set(library_seeds(target)) if seeds_path is None else called(seeds_path)
    objects = {id(found) for found in map(existing, covered) if found is not None}
    names = sorted({line.split("(")[0].strip() for line in path.read_text().splitlines() if line.strip()})
    reasons: dict[str, list[str]] = collections.defaultdict(list)
    for name in names:
        found = existing(name)
        reasons["covered" if name in covered or id(found) in objects else why_not(name, found, target.language)].append(name)
    print(f"TensorFlow {target.version}: {len(covered)} distinct APIs with seeds")
    for reason, missing in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(missing):5d}  {reason}" + (f": {', '.join(missing)}" if reason != "covered" else ""))
    differentiable = len(reasons["covered"]) + len(reasons["MISSING"])
    share = len(reasons["covered"]) / max(1, differentiable)
    print(f"differentiable names that exist: {differentiable}; with seeds: {len(reasons['covered'])} ({100 * share:.1f} %, wanted: 90)")
    raw_operators(covered)


def called(seeds_path: Path) -> set[str]:
    """Every function that some seed calls."""
    rows = [json.loads(line) for line in seeds_path.read_text().splitlines()]
    inner = {call.func for row in rows for call in from_json(row["program"]).calls() if call.func.startswith("tf.")}
    return {row["api"] for row in rows} | inner


def raw_operators(covered: set[str]) -> None:
    """Operators with a registered gradient and a floating input."""
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    from gradfuzz.targets.tensorflow.rules import existing_rules

    def floating(name: str) -> bool:
        definition = op_def_registry.get(name)
        types = {a.name: list(a.allowed_values.list.type) for a in definition.attr}
        for argument in definition.input_arg:
            allowed = [argument.type] if argument.type else types.get(argument.type_attr, [])
            if not allowed or any(tf.as_dtype(t).is_floating or tf.as_dtype(t).is_complex for t in allowed):
                return True
        return False

    names = [name for name in sorted(existing_rules()) if hasattr(tf.raw_ops, name) and floating(name)]
    missing = [name for name in names if f"tf.raw_ops.{name}" not in covered]
    indirect = {name: reason for reason, those in _DATA["operators"].items() for name in those}
    reasons: dict[str, list[str]] = collections.defaultdict(list)
    for name in missing:
        reasons[existing_rules()[name] or indirect.get(name, "MISSING")].append(name)
    print(f"operators with a registered gradient and floating inputs: {len(names)}; with seeds: {len(names) - len(missing)}")
    for reason, those in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(those):5d}  {reason}: {', '.join(those)}")
    within = len(names) - len(missing) + len(reasons["MISSING"])
    print(f"of those that a Program on a CPU can call: {len(names) - len(missing)} of {within} have seeds (wanted: all)")


def why_not(name: str, found: object, language: Language) -> str:
    if found is None:
        return "does not exist in this version"
    for reason, patterns in _DATA["spaces"].items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return reason
    refusal = language.refusal(name)
    if refusal:
        return "outside the language (" + ("another namespace" if "outside the API" in refusal else refusal.split(": ")[-1]) + ")"
    for reason, patterns in _DATA["names"].items():
        if any(fnmatchcase(name.rsplit(".", 1)[-1], pattern) for pattern in patterns):
            return reason
    return "no gradient is registered" if without_gradient(name) else "MISSING"


def without_gradient(name: str) -> bool:
    """Whether it is an operator that has no registered gradient."""
    from gradfuzz.targets.tensorflow.rules import existing_rules

    return name.startswith("tf.raw_ops.") and name.rsplit(".", 1)[-1] not in existing_rules()


def existing(name: str) -> object:
    import tensorflow as tf

    found: object = tf
    for part in name.split(".")[1:]:
        try:
            found = getattr(found, part, None)
        except Exception:  # some namespaces of Keras refuse to load
            return None
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
