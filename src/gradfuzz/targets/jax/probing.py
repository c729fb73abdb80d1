"""Seeds from signatures: each public function is called with arrays of several kinds until it works.

What is tried comes from probes.json, by the names of parameters. Attempts are traced, not computed, so a failure costs milliseconds.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gradfuzz.targets.base.probing import choices, filled, takes

_DATA = json.loads(Path(__file__).with_name("probes.json").read_text())
_NAMED_FUNCTION = re.compile(r"jax\.[a-z_.0-9]+$")

SEEDS_PER_FUNCTION = 2
COMBINATIONS = 48  # per profile
_FUNCTIONS = ("f", "fun", "func", "pyfunc", "fn", "function", "decomposition")  # parameters that make their function one of functions
SWITCH = ["True", "False"]
UNKNOWN_ARITIES = (("x",), ("x", "y"), ("x", "y", "z"))


def attempts(path: str, function: Any) -> Iterator[list[str]]:
    """Program texts to try, in groups: one text of each group is enough."""
    required, _ = _parameters(function)
    if required and required[0][:1] and required[0][0] in _FUNCTIONS:
        rest = "".join(f", {_DATA['parameters'].get(name, ['0'])[0]}" for name in required[0][1:])
        for inner in _DATA["functions"]:
            yield [f"x0 = {p.replace('$seed', '1')}\nf = {path}({inner}{rest})\ny = f(x0)\n" for p in _DATA["profiles"][:2]]
    for names in required if required is not None else [list(names) for names in UNKNOWN_ARITIES]:
        for profile in _DATA["profiles"]:
            yield list(_texts(path, profile, names, {}))


def optioned(path: str, function: Any, masked: bool = False) -> Iterator[list[str]]:
    """Groups with numbers for options that have a default: all of them together, then each by itself. `masked`: with masks, too."""
    required, optional = _parameters(function)
    switches = _switches(function)
    texts = {name: SWITCH if name in switches else _DATA["optional_texts"].get(name, ["$array"]) for name in optional}
    extra = {name: options for name, options in texts.items() if name in _DATA["optional"] and (masked or name not in _DATA["masks"])}
    if masked and not extra.keys() & {*_DATA["masks"]}:
        return
    for kept in [extra, *({name: options} for name, options in extra.items())] if len(extra) > 1 else [extra] if extra else []:
        for names in (required or [])[:1]:
            yield from (list(_texts(path, profile, names, kept)) for profile in _DATA["profiles"][:3])


def alternatives(path: str, function: Any) -> Iterator[list[str]]:
    """Groups of texts, one for each function, and each other set of indices, that may stand for a parameter: no edit changes these."""
    required, optional = _parameters(function)
    beside = {name: texts for name, texts in _DATA["beside_alternatives"].items() if name in optional}
    for names in required or []:
        for name in names:
            options = _DATA["parameters"].get(name.rstrip("="), [])
            functions = [o for o in options if _NAMED_FUNCTION.match(o)] if len(options) > 1 else []
            for chosen in [*functions, *_DATA["alternatives"].get(name.rstrip("="), [])]:
                kept = {} if chosen in functions else beside
                yield [t for profile in _DATA["profiles"][:3] for t in _texts(path, profile, names, kept, {name: [chosen]})]


def primitive_attempts(path: str) -> Iterator[list[str]]:
    """A primitive without parameters, with one to three arrays; one that answers yes or no chooses between numbers that differ at ties."""
    for profile in _DATA["profiles"][1:3]:
        for names in UNKNOWN_ARITIES:
            inputs = "".join(f"x{i} = {profile.replace('$seed', str(i + 1))}\n" for i in range(len(names)))
            arguments = ", ".join(f"x{i}" for i in range(len(names)))
            yield [f"{inputs}y = {path}.bind({arguments})\n"]
            if len(names) == 2:
                yield [f"{inputs}which = {path}.bind({arguments})\ny = jax.lax.select(which, jax.lax.cos(x0), x1)\n"]


def _parameters(function: Any) -> tuple[list[list[str]] | None, list[str]]:
    """(lists of parameters that make a call, those that may be added); None where the function does not say."""
    taken = takes(function)
    if taken is None:
        return None, []
    required, named, starred, optional = taken
    if not required and not starred:
        required = optional[:1]  # einsum and its like take everything by *args; others have one array with a default
    ways = [required + named, required + starred + named] if required and starred else [required + starred + named]
    return ways, [name for name in optional if name not in required]


def _switches(function: Any) -> set[str]:
    """Parameters whose default is a truth value: what names a bound elsewhere (`lower`) names a choice here."""
    try:
        return {p.name for p in inspect.signature(function).parameters.values() if isinstance(p.default, bool)}
    except (TypeError, ValueError):
        return set()


def _texts(
    path: str, profile: str, names: list[str], extra: dict[str, list[str]], fixed: dict[str, list[str]] | None = None
) -> Iterator[str]:
    parameters = {**_DATA["parameters"], **(fixed or {})}
    options = [parameters.get(name.rstrip("="), ["$array"]) for name in names] + list(extra.values())
    labels = [name if name.endswith("=") else "" for name in names] + [f"{name}=" for name in extra]
    for chosen in choices(options, COMBINATIONS):
        arguments = ", ".join(label + text for label, text in zip(labels, chosen))
        yield filled([f"y = {path}({arguments})"], "$array", profile, _DATA["arrays"])


def method_attempts() -> Iterator[tuple[str, list[str]]]:
    """(method, texts) for methods of arrays and for indexed updates."""
    for name in _DATA["methods"]:
        arguments = {
            "dot": "x0",
            "clip": "-0.5, 0.5",
            "repeat": "2",
            "reshape": "-1",
            "take": "1",
            "swapaxes": "0, 1",
            "astype": '"float64"',
        }
        call = f"x0.{name}({arguments.get(name, '')})"
        yield name, [f"x0 = {profile.replace('$seed', '1')}\ny = {call}\n" for profile in _DATA["profiles"][1:5]]
    for name in ("set", "add", "multiply", "divide", "power", "min", "max"):
        inputs = 'x0 = tensor((4, 3), "float64", uniform(0.4, 2.0, seed=1))\nx1 = tensor((3,), "float64", uniform(0.4, 2.0, seed=2))\n'
        yield f"at.{name}", [f"{inputs}y = x0.at[1].{name}(x1)\n"]
