"""Which names of a list of APIs have seeds on the installed JAX: reached, missing and why.

    python benchmarks/jax_api_coverage.py LIST [SEEDS.jsonl]

LIST has one API name or signature a line. A name counts if it exists here, can be called in a Program, and is differentiable;
what is not is written down below, with the reason.
"""

from __future__ import annotations

import collections
import importlib
import json
import sys
from pathlib import Path

from common import library_seeds

from gradfuzz.program.language import Language
from gradfuzz.targets.homes import load_target

# Why a function that exists has no derivative to test: by the kind of thing that it is.
NOT_ARITHMETIC = {
    "gives whole numbers, truth values, shapes or types": (
        "all", "any", "allclose", "argmax", "argmin", "nanargmax", "nanargmin", "argwhere", "array_equal", "array_equiv", "bincount",
        "count_nonzero", "digitize", "equal", "greater", "greater_equal", "less", "less_equal", "not_equal", "eq", "ge", "gt", "le", "lt",
        "ne", "in1d", "isin", "isclose", "iscomplex", "iscomplexobj", "isfinite", "is_finite", "isinf", "isnan", "isneginf", "isposinf",
        "isreal", "isrealobj", "isscalar", "issubdtype", "lexsort", "matrix_rank", "ndim", "nonzero", "promote_types", "result_type",
        "searchsorted", "shape", "signbit", "size", "logical_and", "logical_not", "logical_or", "logical_xor", "broadcast_shapes",
        "einsum_path", "diag_indices", "diag_indices_from", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from",
        "ravel_multi_index", "conv_dimension_numbers", "packbits", "unpackbits",
    ),
    "takes whole numbers alone": (
        "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "shift_left",
        "shift_right_arithmetic", "shift_right_logical", "population_count", "gcd", "lcm",
    ),
    "is piecewise constant": (
        "ceil", "fix", "floor", "rint", "sign", "trunc", "round", "ones_like", "zeros_like",
    ),
    "takes no floating input": (
        "arange", "empty", "eye", "identity", "indices", "ones", "zeros", "tri", "iota", "broadcasted_iota", "fftfreq", "rfftfreq",
        "fromfunction", "frombuffer", "fromstring", "load", "save", "PRNGKey", "bernoulli", "cauchy", "exponential", "gumbel", "laplace",
        "logistic", "maxwell", "normal", "orthogonal", "rademacher", "randint", "fold_in", "split", "shuffle", "poisson", "categorical",
    ),
}  # fmt: skip


def main(path: Path, seeds_path: Path | None) -> None:
    target = load_target("jax")
    seeds = library_seeds(target) if seeds_path is None else [json.loads(line)["api"] for line in seeds_path.read_text().splitlines()]
    covered = set(seeds)
    names = sorted({line.split("(")[0].strip() for line in path.read_text().splitlines() if line.strip()})
    reasons: dict[str, list[str]] = collections.defaultdict(list)
    for name in names:
        reasons["covered" if name in covered else why_not(name, target.language)].append(name)
    differentiable = len(reasons["covered"]) + len(reasons["MISSING"])
    print(
        f"JAX {target.version}: {len(covered)} APIs with seeds, {len({a for a in covered if public_function(a)})} of them public functions"
    )
    for reason, found in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(found):5d}  {reason}" + (f": {', '.join(found)}" if reason != "covered" else ""))
    share = len(reasons["covered"]) / max(1, differentiable)
    print(f"differentiable names that exist: {differentiable}; with seeds: {len(reasons['covered'])} ({100 * share:.1f} %, wanted: 95)")


def public_function(api: str) -> bool:
    return not api.endswith(".bind") and not api.startswith("Tensor.")


def why_not(name: str, language: Language) -> str:
    if not exists(name):
        return "does not exist in this version"
    refusal = language.refusal(name)
    if refusal:
        return "outside the language (" + ("another namespace" if "outside the API" in refusal else refusal.split(": ")[-1]) + ")"
    for reason, members in NOT_ARITHMETIC.items():
        if name.rsplit(".", 1)[-1] in members:
            return reason
    return "MISSING"


def exists(name: str) -> bool:
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            found = getattr(found, part, None)
        return found is not None
    return False


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
