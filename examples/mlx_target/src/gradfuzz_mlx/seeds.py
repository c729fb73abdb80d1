"""Seeds from the installed MLX alone: each function and method is called with arrays of several kinds until it works.

What is tried is data (probes.json): calls written down for an API, else texts by the name of a parameter, else by its kind.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Program
from gradfuzz.targets.base import probing
from gradfuzz.targets.base.callables import callables
from gradfuzz.targets.base.docstrings import examples
from gradfuzz.targets.base.probing import choices, filled, nudged, parsed
from gradfuzz.targets.base.protocol import Overload, Parameter, SeedProgram, Vec
from gradfuzz.targets.base.scenario import FORWARD, REVERSE
from gradfuzz.targets.base.seeds import each_once
from gradfuzz_mlx.parameters import documented_name

_DATA = json.loads(Path(__file__).with_name("probes.json").read_text(encoding="utf-8"))

PER_API = 2
EXAMPLES_PER_API = 1
COMBINATIONS = 24  # per profile and overload
MOST_OVERLOADS = 3
MOST_ATTEMPTS = 200
MOST_ELEMENTS = 2**14
UNKNOWN = [tuple(Parameter(name, "tensor", True) for name in "xyz"[:count]) for count in (1, 2, 3)]


def library_seeds(target: Any, trying: Callable[[str], bool]) -> Iterator[SeedProgram]:
    """Programs that run, depend on their inputs, and have a derivative as far as MLX says. `trying`: see Target.seeds."""
    yield from each_once(_all(target, trying))


def _all(target: Any, trying: Callable[[str], bool]) -> Iterator[SeedProgram]:
    seen: set[str] = set()
    for found, function in callables(target.language):
        path = proper(found, function, target)
        if path in seen or not trying(path):
            continue
        seen.add(path)
        yield from probed(target, path, target.parameters(path) or UNKNOWN)
        yield from _documented(target, path, function)


def proper(path: str, function: Any, target: Any) -> str:
    """The name that a function's docstring gives it, where there is one: `acos` is `arccos` once more."""
    space, name = path.rpartition(".")[0], documented_name(function)
    if not space or not name:
        return path
    documented = f"{space}.{name}"
    try:
        target.compiler.resolve(documented)
    except ProgramError:
        return path
    return documented


def probed(target: Any, path: str, ways: list[Overload]) -> Iterator[SeedProgram]:
    """Calls made up from the signature, at most one per kind of array."""
    found = tried = 0
    for texts in attempts(path, ways):
        for text in texts:
            tried += 1
            program = parsed(text, target)
            if program is not None and differentiates(target, program):
                yield SeedProgram(program, f"signature:{path}", program.api if path[0] == "." else path)
                found += 1
                break
            if tried >= MOST_ATTEMPTS:
                return
        if found >= PER_API:
            return


def attempts(path: str, ways: list[Overload]) -> Iterator[list[str]]:
    """Program texts to try, in groups by the kind of array: one text of each group is enough."""
    known = _DATA["calls"].get(path, [])
    profiles = _DATA["profiles"]
    if known:
        varied = profiles if any("$array" in text for text in known) else profiles[:1]
        yield from ([_filled(text, profile) for text in known] for profile in varied)
        return
    for profile in profiles:
        yield [text for overload in ways[:MOST_OVERLOADS] for text in _texts(path, overload, profile)]


def _texts(path: str, overload: Overload, profile: str) -> Iterator[str]:
    needed = [p for p in overload if p.required or p.kind == "starred"]
    if not any(p.kind in ("tensor", "tensors", "starred") for p in needed):
        needed += [p for p in overload if p.kind == "tensor" and p not in needed][:1]
    for chosen in choices([_options(p) for p in needed], COMBINATIONS):
        texts = [f"{p.name}={text}" if p.keyword else text for p, text in zip(needed, chosen)]
        call = f"$array{path}({', '.join(texts[1:])})" if path[0] == "." else f"{path}({', '.join(texts)})"
        yield _filled(f"y = {call}", profile)


def _options(parameter: Parameter) -> list[str]:
    named = list(_DATA["parameters"].get(parameter.name, ()))
    if named and parameter.kind != "starred":
        return named
    if parameter.words:
        return [json.dumps(word) for word in parameter.words]
    return list(_DATA["kinds"].get(parameter.kind, _DATA["kinds"]["other"]))


def _filled(text: str, profile: str) -> str:
    return filled(text.split("\n"), "$array", profile, _DATA["arrays"])


def _documented(target: Any, path: str, function: Any) -> Iterator[SeedProgram]:
    """Examples in a docstring that call what it documents."""
    found = 0
    for program in examples(inspect.getdoc(function) or "", target.compiler):
        if found < EXAMPLES_PER_API and any(call.func == path for call in program.calls()) and differentiates(target, program):
            yield SeedProgram(program, f"docstring:{path}", path)
            found += 1


def differentiates(target: Any, program: Program) -> bool:
    """Whether the Program gives finite numbers that move with its inputs, and MLX does not say that these have no derivative."""
    try:
        point = target.point(program)
        here = point.first()
        if not point.names or not 0 < sum(o.size for o in here) <= MOST_ELEMENTS:
            return False
        there = target.point(program, [nudged(x) for x in point.inputs]).first()
        return probing.moves(here, there) and any(_has(target, point, scenario, here) for scenario in (REVERSE, FORWARD))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return False


def _has(target: Any, point: Any, scenario: Any, outputs: list[Any]) -> bool:
    try:
        point.run(scenario, [Vec(point.inputs)], Vec(outputs))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return bool(target.classify(error).kind != "unsupported")
    return True


def probe(target: Any, api: str, overload: Overload) -> list[SeedProgram]:
    """Seeds for an API by a signature that somebody wrote down."""
    reason = target.language.refusal(api)
    if reason:
        raise ProgramError(reason)
    return list(probed(target, api, [overload]))
