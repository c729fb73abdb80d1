"""Which names of a list of APIs have seeds on the installed TensorFlow: reached, missing and why.

    python benchmarks/tensorflow_api_coverage.py LIST [SEEDS.jsonl]

LIST has one API name or signature a line. A name counts if it exists here, can be called in a Program, and is differentiable;
what is not is written down below, with the reason. TensorFlow gives most functions several names; one name with seeds covers all of them.
"""

from __future__ import annotations

import collections
import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path

from common import library_seeds

from gradfuzz.program.language import Language
from gradfuzz.targets.registry import load_target

# Why something that exists has no derivative to test: by the kind of thing that it is. Names are globs over the last part.
NOT_ARITHMETIC = {
    "gives whole numbers, truth values, text, shapes or types": (
        "all", "any", "allclose", "arg*", "bincount", "count_nonzero", "digitize", "equal*", "greater*", "less*", "not_equal", "is*", "in_top_k",
        "logical_*", "shape*", "size", "rank", "broadcast_*_shape", "searchsorted", "unique*", "where_v1", "sequence_mask", "confusion_matrix",
        "histogram_fixed_width*", "reduce_all", "reduce_any", "*bucket*", "as_dtype", "result_type", "promote_types", "ndim", "nonzero",
        "signbit", "tri*_indices*", "diag_indices*", "finfo", "iinfo", "Assert*", "assert_*", "required_space_to_batch_paddings",
        "one_hot", "edit_distance", "sets", "approximate_equal", "ctc_*decoder", "non_max_suppression*", "fingerprint", "hash*", "as_string",
        "decode_*", "encode_*", "matrix_rank", "zero_fraction", "to_categorical", "dimension_*", "get_static_value", "type_spec*", "*Spec",
        "invert_permutation", "setdiff1d", "listdiff", "ListDiff", "Bucketize", "*Accuracy*", "*accuracy*", "crelu_v1", "Shape*", "Rank", "Size",
        "Is*", "Any", "All", "Arg*", "Equal", "Greater*", "Less*", "NotEqual", "Logical*", "InTopK*", "OneHot", "HistogramFixedWidth", "LowerBound",
        "UpperBound", "Unique*", "Where", "where", "Unravel*", "unravel_index", "Encode*", "NonMax*", "*Indices", "ApproximateEqual", "collapse_repeated",
    ),
    "takes whole numbers or text alone": (
        "bitwise_*", "Bitwise*", "invert", "Invert", "left_shift", "right_shift", "*Shift", "population_count", "PopulationCount", "gcd", "lcm", "ragged_*",
        "string_*", "strings", "regex_*", "String*", "substr", "Substr", "unicode_*", "*_to_segment_ids", "segment_ids_to_*", "reduce_join", "cross*",
        "RaggedRange", "ReduceJoin", "Static*", "Regex*", "Hashing", "CategoryEncoding", "Discretization", "HashedCrossing", "Embedding_lookup",
        "compute_accidental_hits", "*candidate_sampler",
    ),
    "is piecewise constant": (
        "ceil", "Ceil", "fix", "floor", "Floor", "rint", "Rint", "sign", "trunc", "round", "Round", "ones_like", "zeros_like", "floor_div*", "floordiv",
        "FloorDiv", "truncatediv", "TruncateDiv", "heaviside", "full_like", "to_int*", "*Like", "around", "truncate_div", "floor_divide",
    ),
    "takes no floating input to differentiate, or draws its output": (
        "arange", "empty*", "eye", "identity_n", "indices", "ones", "zeros", "tri", "range", "Range", "fill_v1", "vander_v1", "random_*", "Random*", "*_initializer",
        "*_window", "window*", "linear_to_mel_weight_matrix", "sobol_sample", "create_*", "placeholder*", "Placeholder*", "*multinomial*", "Multinomial",
        "categorical", "shuffle", "normal", "uniform", "truncated_normal", "gamma", "poisson*", "stateless_*", "Stateless*", "split_v1", "Generator*", "TruncatedNormal",
        "rand*", "constant", "convert_to_tensor", "*Dropout", "dropout*", "Dropout", "GaussianNoise", "ActivityRegularization", "timestamp", "Const*",
        "Zeros", "Ones", "Constant", "Identity_initializer", "Orthogonal", "VarianceScaling", "Glorot*", "He*", "Lecun*", "TruncatedNormal", "*candidate*",
        "full", "vocabulary*", "experimental_*", "get_*", "*Generator", "from_key_data", "rng_*",
    ),
    "holds state or settings": (
        "variable*", "Variable*", "assign*", "scatter_*_v1", "add_*", "*_scope", "*Scope", "*collection*", "global_*", "local_*", "*_initialized*", "*_initializer",
        "is_variable_*", "report_*", "no_op", "NoOp", "group", "tuple_v1", "make_*", "get_*", "set_*", "clear_*", "reset_*", "enable_*", "disable_*", "executing_*",
        "control_*", "count_up_to", "scatter_add", "scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub", "scatter_update", "scatter_nd_*",
        "no_regularizer", "*Checkpoint*", "fixed_size_partitioner", "*_partitioner", "initialize_*", "model_variables", "moving_average_variables",
        "trainable_variables", "op_scope", "convert_*", "container", "wrap_function", "py_func", "load_*", "floatx", "epsilon", "image_data_format",
    ),
}  # fmt: skip
SPACES = {
    "counts, means and other running values": ("*.metrics.*",),
    "start values of weights": ("*.initializers.*",),
    "whole models, data sets, schedules and tools": (
        "*.applications.*", "*.data.*", "*.utils.*", "*.preprocessing.*", "*.optimizers.*", "*.train.*", "*.config.*", "*.test.*", "*.mixed_precision.*",
        "*.debugging.*", "*.feature_column.*", "*.lite.*", "*.distribute.*", "*.autograph.*", "*.io.*", "*.strings.*", "*.nest.*", "*.experimental.*_v1",
        "*.datasets.*", "*.saved_model.*", "*.estimator.*", "*.wrappers.*", "*.profiler.*", "*.summary.*", "*.logging.*", "*.app.*", "*.gfile.*", "*.resource_loader.*",
        "*.sysconfig.*", "*.python_io.*", "*.graph_util.*", "*.tpu.*", "*.user_ops.*", "*.xla.*", "*.sets.*", "*.lookup.*", "*.queue.*", "*.flags.*", "*.version.*",
        "*.errors.*", "*.types.*", "*.callbacks.*", "*.models.*", "*.tools.*", "*.layers.experimental.preprocessing.*",
    ),
}  # fmt: skip


def main(path: Path, seeds_path: Path | None) -> None:
    target = load_target("tensorflow")
    seeds = library_seeds(target) if seeds_path is None else [json.loads(line)["api"] for line in seeds_path.read_text().splitlines()]
    covered = set(seeds)
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
    print(f"operators with a registered gradient and floating inputs: {len(names)}; with seeds: {len(names) - len(missing)}")
    print(f"{len(missing):5d}  without: {', '.join(missing)}")


def why_not(name: str, found: object, language: Language) -> str:
    if found is None:
        return "does not exist in this version"
    for reason, patterns in SPACES.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return reason
    refusal = language.refusal(name)
    if refusal:
        return "outside the language (" + ("another namespace" if "outside the API" in refusal else refusal.split(": ")[-1]) + ")"
    for reason, patterns in NOT_ARITHMETIC.items():
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
