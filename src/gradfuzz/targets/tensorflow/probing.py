"""Seeds from signatures and operator definitions: each callable is tried with tensors of several kinds until it works.

What is tried comes from probes.json, by the names of parameters.
"""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from gradfuzz.targets.base.probing import choices, filled, takes

_DATA = json.loads(Path(__file__).with_name("probes.json").read_text())

SEEDS_PER_WAY = 2  # of different shapes, mostly
SEEDS_PER_CALLABLE = 3
COMBINATIONS = 24  # per profile
RAW = "tf.raw_ops."
UNKNOWN = (("x",), ("x", "y"))
STARRED = ["$array, $array", "$array"]
# Optional parameters that may be tensors: giving them reaches code that their defaults leave out.
OPTIONAL = {
    "weights": "$array", "bias": "$row3", "axis": "0", "scale": "$scalar", "mask": "$mask", "sample_weight": "$positive",
    "dtype": "tf.float64",
}  # fmt: skip
# A way to call something, and texts to try of which one is enough.
Attempt = tuple[str, list[str]]


def attempts(path: str, value: Any) -> Iterator[Attempt]:
    """Program texts to try. A few seeds of each way to call are enough."""
    if path.startswith(RAW):
        yield from _raw_attempts(path, value)
    elif isinstance(value, type):
        yield from _class_attempts(path, value)
    else:
        yield from _function_attempts(path, value)


def _function_attempts(path: str, function: Any) -> Iterator[Attempt]:
    ways, optional = _parameters(function)
    profiles = _DATA["profiles"]
    extras: list[dict[str, str]] = [{}, *({name: OPTIONAL[name]} for name in optional if name in OPTIONAL)]
    for extra, names in itertools.product(extras, ways):
        for profile in profiles if not extra else profiles[:4]:
            yield f"{names} {extra}", list(_texts(path, profile, names, extra))


def _parameters(function: Any) -> tuple[list[list[str]], list[str]]:
    """(lists of parameters that make a call, those that may be added)."""
    taken = takes(function)
    if taken is None:
        return [list(names) for names in UNKNOWN], []
    required, named = taken.required, taken.named
    starred = ["*"] * len(taken.starred)
    optional = [name for name in taken.optional if not _by_name_only(function, name)]
    ways = [required + named, required + starred + named] if starred else [required + named]
    if not required and not starred:
        ways = [[name] for name in optional[:1]]
    if len(required) == 1 and optional and optional[0] not in ("name", "axis", "dtype"):
        ways.append([*required, optional[0]])  # old signatures give everything a default
    return [way for way in ways if way], optional


def _class_attempts(path: str, value: Any) -> Iterator[Attempt]:
    """Objects that are made first and called afterwards."""
    kind = _kind_of(path, value)
    if kind is None:
        return
    ways, _ = _parameters(value)
    made = [way if not _all_optional(value) else [] for way in ways] or [[]]
    profiles = _DATA["layer_profiles"] if kind == "layer" else _DATA["profiles"]
    for profile in profiles:
        for call in _DATA["calls"][kind]:
            yield call, list(_texts(path, profile, made[0], {}, call))


def _all_optional(value: Any) -> bool:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def _kind_of(path: str, value: Any) -> str | None:
    if issubclass(value, tf.keras.layers.Layer):
        return "layer"
    if issubclass(value, tf.keras.losses.Loss):
        return "loss"
    if issubclass(value, (tf.keras.regularizers.Regularizer, tf.keras.constraints.Constraint)):
        return "function"
    if issubclass(value, tf.linalg.LinearOperator):
        return "operator"
    return "distribution" if ".distributions." in path else None


def _raw_attempts(path: str, function: Any) -> Iterator[Attempt]:
    """By the operator's definition: its inputs with their types, and those of its attributes that have no default."""
    definition = op_def_registry.get(path[len(RAW) :])
    if definition is None:
        return
    types = {attr.name: list(attr.allowed_values.list.type) for attr in definition.attr}
    inferred = {a.type_attr for a in definition.input_arg} | {a.number_attr for a in definition.input_arg}
    inferred |= {a.type_list_attr for a in definition.input_arg}
    names = renamed(function, [a.name for a in definition.input_arg] + [a.name for a in definition.attr])
    labels, options = [], []
    for argument in definition.input_arg:
        name = names.get(argument.name, argument.name)
        labels.append(f"{name}=")
        options.append(_input_texts(name, argument, types))
    for attr in definition.attr:
        if attr.name in inferred:
            continue
        if not attr.HasField("default_value"):
            labels.append(f"{names.get(attr.name, attr.name)}=")
            options.append(_attribute_texts(attr))
        elif attr.type == "type":
            labels.append(f"{attr.name}=")
            options.append(["", *(f"tf.{t}" for t in ("float64", "complex128") if tf.as_dtype(t).as_datatype_enum in types[attr.name])])
    for profile in _DATA["profiles"]:
        yield "", list(_combined(path, profile, labels, options))


def renamed(function: Any, defined: list[str]) -> dict[str, str]:
    """Python names of arguments that have another name in the operator's definition, by their order."""
    given = [name for name in inspect.signature(function).parameters if name != "name"]
    return dict(zip([name for name in defined if name not in given], [name for name in given if name not in defined]))


def _input_texts(name: str, argument: Any, types: dict[str, list[int]]) -> list[str]:
    allowed = [argument.type] if argument.type else types.get(argument.type_attr, [])
    listed = _DATA["parameters"].get(name, ["$array"])
    if not listed:
        return []  # only a written Program knows what it wants
    if argument.number_attr or argument.type_list_attr:
        return [t if t.startswith("[") else f"[{t}, {t}]" for t in listed]
    wide = not allowed or any(tf.as_dtype(t) in (tf.float64, tf.complex128) for t in allowed)
    if wide:
        return [*listed, *(["$array"] if "$array" not in listed else [])]
    if any(tf.as_dtype(t) == tf.float32 for t in allowed):
        return [f"tf.cast({t}, tf.float32)" if t.startswith("$") else t for t in dict.fromkeys([*listed, "$array"])]
    return [t for t in listed if t != "$array"] or ["$indices", "0", "[1]"]


def _attribute_texts(attr: Any) -> list[str]:
    if attr.name in _DATA["parameters"]:
        return [t for t in _DATA["parameters"][attr.name] if not t.startswith("$")] or ["0"]
    if attr.allowed_values.list.s:
        return [json.dumps(s.decode()) for s in attr.allowed_values.list.s]
    if attr.type == "type":
        return ["tf.float64", "tf.float32", "tf.int32"]
    return {"int": ["1", "2"], "float": ["0.5"], "bool": ["False", "True"], "string": ['"x"'], "shape": ["[4]", "[2, 2]"]}.get(
        attr.type, ["[1, 1]"]
    )


def _texts(path: str, profile: str, names: Sequence[str], extra: dict[str, str], call: str = "") -> Iterator[str]:
    parameters = _DATA["parameters"]
    options = [STARRED if name == "*" else parameters.get(name.rstrip("="), ["$array"]) for name in names]
    options += [[text] for text in extra.values()]
    labels = [name if name.endswith("=") else "" for name in names] + [f"{name}=" for name in extra]
    yield from _combined(path, profile, labels, options, call)


def _combined(path: str, profile: str, labels: Sequence[str], options: Sequence[list[str]], call: str = "") -> Iterator[str]:
    """One text for each choice, those with early choices first."""
    for chosen in choices(options, COMBINATIONS):
        made = f"{path}({', '.join(label + text for label, text in zip(labels, chosen) if text)})"
        lines = [f"m = {made}", f"y = {call}"] if call else [f"y = {made}"]
        yield filled(lines, "$array", profile, _DATA["arrays"])


def _by_name_only(function: Any, name: str) -> bool:
    parameter = inspect.signature(function).parameters[name]
    return parameter.kind == parameter.KEYWORD_ONLY
