"""Seeds from signatures for libraries of functions, methods and modules: what is tried, by the kinds and names of parameters.

What is tried is data (probes.json beside this file, and a target's own, which adds to it): `calls` that are written down for an API, else
texts by the name of a parameter, else by its kind. `$tensor` stands for the profile's tensor, other names for those under `tensors`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gradfuzz.targets.base.probing import choices, filled
from gradfuzz.targets.base.protocol import Overload, Parameter

COMBINATIONS = 24  # per profile and overload
MOST_OVERLOADS = 4
MOST_WORDS = 3
NUMBERS = ("number", "float", "int", "bool")  # kinds that no tensor fits, whatever the parameter is called
OWN = "$tensor"
COMMON = json.loads(Path(__file__).with_name("probes.json").read_text(encoding="utf-8"))

FUNCTION, METHOD, MODULE, OBJECT = "function", "method", "module", "object"  # forms: an object is called and has no parameters


class Attempts:
    """Program texts to try on an API; `own` is what the target's probes.json says."""

    def __init__(self, own: Mapping[str, Any]) -> None:
        self.data = {**COMMON, **own}
        for name, table in COMMON.items():
            if isinstance(table, dict):
                self.data[name] = {**table, **own.get(name, {})}

    def groups(self, path: str, form: str, ways: list[Overload]) -> Iterator[list[str]]:
        """Texts in groups by the kind of tensor: one text of each group is enough."""
        known = self.data.get("calls", {}).get(path, ())
        profiles = self.data["profiles"]
        if known:
            varied = profiles if any(OWN in text for text in known) else profiles[:1]
            yield from ([self._filled(text.split("\n"), profile) for text in known] for profile in varied)
            return
        for overload, profile in itertools.product(ways[:MOST_OVERLOADS] or [()], profiles):
            yield list(self._texts(path, form, overload, profile))

    def _texts(self, path: str, form: str, overload: Overload, profile: str) -> Iterator[str]:
        required = [p for p in overload if p.required]
        if form in (FUNCTION, METHOD) and not any(p.kind in ("tensor", "tensors", "starred") for p in required):
            first = next((p for p in overload if p.kind in ("tensor", "other") and p not in required), None)
            required += [first] if first is not None and form == FUNCTION else []
        options = [self._options(p) for p in required]
        for choice in choices(options, COMBINATIONS):
            yield from self._calls(path, form, list(zip(required, choice)), profile)

    def _options(self, parameter: Parameter) -> list[str]:
        named = list(self.data["parameters"].get(parameter.name, ()))
        if parameter.kind in NUMBERS:
            named = [text for text in named if "$" not in text]
        if named:
            return named
        if parameter.words:
            return [json.dumps(word) for word in parameter.words[:MOST_WORDS]]
        return list(self.data["kinds"].get(parameter.kind, self.data["kinds"]["other"]))

    def _calls(self, path: str, form: str, arguments: list[tuple[Parameter, str]], profile: str) -> Iterator[str]:
        texts = [f"{p.name}={text}" if p.keyword else text for p, text in arguments]
        name = path.rsplit(".", 1)[-1]
        if form == FUNCTION:
            yield self._filled([f"y = {path}({', '.join(texts)})"], profile)
        elif form == METHOD:
            rest = texts if not arguments or arguments[0][0].name not in self.data.get("receivers", ("self",)) else texts[1:]
            yield self._filled([f"y = {OWN}.{name}({', '.join(rest)})"], profile)
        else:
            made = f"m = {path}({', '.join(texts)})"
            for forward in self.data["forwards"] if form == MODULE else [OWN]:
                yield self._filled([made, f"y = m({forward})"], profile)

    def _filled(self, lines: list[str], profile: str) -> str:
        return filled(lines, OWN, profile, self.data["tensors"])
