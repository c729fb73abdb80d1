"""Seeds from signatures: each public API without samples is called with tensors of several kinds until it works.

What is tried is data (probes.json): by the name of a parameter, else by its kind.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

from gradfuzz.targets.base.probing import choices, filled
from gradfuzz.targets.base.protocol import Overload, Parameter

_DATA = json.loads(Path(__file__).with_name("probes.json").read_text())

COMBINATIONS = 24  # per profile and overload
MOST_OVERLOADS = 4
NUMBERS = ("number", "float", "int", "bool")  # kinds that no tensor fits, whatever the parameter is called


def attempts(path: str, form: str, ways: list[Overload]) -> Iterator[list[str]]:
    """Program texts to try, in groups by the kind of tensor: one text of each group is enough."""
    for overload, profile in itertools.product(ways[:MOST_OVERLOADS] or [()], _DATA["profiles"]):
        yield list(_texts(path, form, overload, profile))


def _texts(path: str, form: str, overload: Overload, profile: str) -> Iterator[str]:
    required = [p for p in overload if p.required]
    if form in ("function", "method") and not any(p.kind in ("tensor", "tensors", "starred") for p in required):
        first = next((p for p in overload if p.kind in ("tensor", "other") and p not in required), None)
        required += [first] if first is not None and form == "function" else []
    options = [_options(p) for p in required]
    for choice in choices(options, COMBINATIONS):
        yield from _calls(path, form, list(zip(required, choice)), profile)


def _options(parameter: Parameter) -> list[str]:
    named = list(_DATA["parameters"].get(parameter.name, ()))
    if parameter.kind in NUMBERS:
        named = [text for text in named if "$" not in text]
    if named:
        return named
    if parameter.words:
        return [json.dumps(word) for word in parameter.words[:3]]
    return list(_DATA["kinds"].get(parameter.kind, _DATA["kinds"]["other"]))


def _calls(path: str, form: str, arguments: list[tuple[Parameter, str]], profile: str) -> Iterator[str]:
    texts = [f"{p.name}={text}" if p.keyword else text for p, text in arguments]
    name = path.rsplit(".", 1)[-1]
    if form == "function":
        yield _filled([f"y = {path}({', '.join(texts)})"], profile)
    elif form == "method":
        rest = texts if not arguments or arguments[0][0].name != "self" else texts[1:]
        yield _filled([f"y = $tensor.{name}({', '.join(rest)})"], profile)
    else:
        made = f"m = {path}({', '.join(texts)})"
        forwards = ["$tensor", "$tensor, $tensor"] if form == "object" else _DATA["forwards"]
        for forward in forwards if form == "module" else forwards[:1]:
            yield _filled([made, f"y = m({forward})"], profile)


def _filled(lines: list[str], profile: str) -> str:
    return filled(lines, "$tensor", profile, _DATA["tensors"])
