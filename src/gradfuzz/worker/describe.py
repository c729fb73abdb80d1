"""What the library says about its own functions and rules: signatures, docstrings, formulas. Nothing is called."""

from __future__ import annotations

import inspect
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.mutate.cover import Cover, Design
from gradfuzz.program import gate
from gradfuzz.program.codec import from_json
from gradfuzz.targets.base.evaluate import resolve
from gradfuzz.targets.base.protocol import Overload, Target

MOST_DOC = 6000  # characters
MOST_OVERLOADS = 3
MOST_LEFT = 12  # combinations that nobody has tried


def describe(target: Target, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Signature and docstring of each API, empty where the library does not say; and what is left to try of its covering design.

    `asked`: the name of an API, the Program of its first seed and the Cover of its design, where they are known.
    """
    return [
        {"name": api, "signature": _signature(target, api), "doc": _doc(target, api), "left": _left(target, one)}
        for one in asked
        for api in [one["name"]]
    ]


def formula(target: Target, rule: str) -> str:
    """A derivative rule as the library has it, where the target can tell."""
    tell = getattr(target, "formula", None)
    return str(tell(rule))[:MOST_DOC] if tell is not None and rule else ""


def _left(target: Target, asked: dict[str, Any]) -> list[str]:
    if asked.get("program") is None:
        return []
    program = from_json(asked["program"])
    gate.check(program, target.language)
    known = Cover() if asked.get("cover") is None else Cover.from_json(asked["cover"])
    design = Design(program, target.parameters, known, target.family)
    if known.levels and known.levels != design.size:
        design = Design(program, target.parameters, Cover(), target.family)  # of another seed
    return design.left(MOST_LEFT)


def _signature(target: Target, api: str) -> str:
    try:
        ways = target.parameters("." + api.partition(".")[2] if api.startswith("Tensor.") else api)
    except Exception:  # whatever a library's own signatures make of being asked
        return ""
    return "; or ".join(f"{api}({', '.join(_parameters(way))})" for way in ways[:MOST_OVERLOADS])


def _parameters(way: Overload) -> list[str]:
    found = []
    for p in way:
        text = f"{p.name}: {p.kind}" if p.required else f"{p.name}: {p.kind} = {p.default!r}"
        found.append(text + (f" in {list(p.words)}" if p.words else ""))
    return found


def _doc(target: Target, api: str) -> str:
    spaces = [space for space in target.language.namespaces if space.endswith(".Tensor")] if api.startswith("Tensor.") else []
    for path in [f"{space}.{api.partition('.')[2]}" for space in spaces] or [api]:
        try:
            return (inspect.getdoc(resolve(path, target.language)) or "")[:MOST_DOC]
        except (ProgramError, ImportError):
            continue
    return ""
