"""Names of a script's own, and how a Program's variables keep out of their way."""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import count
from pathlib import Path

import jinja2

from gradfuzz.findings.finding import Finding
from gradfuzz.program import Program
from gradfuzz.program.model import Expr, Let, Ref, Tensor, rebuild

# What a line of a template binds, and what it includes; where a Program's own lines stand.
_BINDS = re.compile(r" *(?:def (\w+)\(|(?:for )?\(?((?:\*?\w+, )*\*?\w+)\)?,? (?:=|in) |import [\w.]+ as (\w+))")
_AROUND = ("", "def function", "def body")
_INCLUDED = re.compile(r'include "([\w.]+)"')
_WORD = re.compile(r"\w+")
_CALLS = re.compile(r"(?<![\w.])(\w+)\(")


@lru_cache(maxsize=8)
def bound_names(folders: tuple[Path, ...], template: str) -> frozenset[str]:
    """Names that a script binds or uses for its own ends: a Program's variables must not be called so."""
    loader = jinja2.FileSystemLoader(folders)
    found, waiting = {"np", "sys", "globals", "result"}, [template]
    while waiting:
        source = loader.get_source(jinja2.Environment(), waiting.pop())[0]
        waiting += _INCLUDED.findall(source)
        found.update(name for name in _CALLS.findall(source) if hasattr(builtins, name))  # a parameter may be called abs
        inside = ""  # the function that a line is in; what helpers bind is theirs, and no Program's line is in them
        for line in source.splitlines():
            binds = _BINDS.match(line)
            inside = line.split("(")[0] if line.startswith("def ") else "" if line[:1] not in (" ", "", "{") else inside
            if binds and (line.startswith("def ") or inside in _AROUND):
                found.update(_WORD.findall(" ".join(filter(None, binds.groups()))))
    return frozenset(found)


def out_of_the_way(finding: Finding, taken: frozenset[str]) -> Finding:
    """The finding with other names for what a script calls its own."""
    names = {name for s in finding.program.statements for name in s.names}
    other = {name: next(n for n in (name + "_" * k for k in count(1)) if n not in taken | names) for name in names & taken}
    return renamed(finding, other) if other else finding


def renamed(finding: Finding, other: Mapping[str, str]) -> Finding:
    """The finding with other names for some of its variables."""

    def changed(node: Expr) -> Expr:
        return Ref(other.get(node.name, node.name)) if isinstance(node, Ref) else rebuild(node, changed)

    def moved(text: object) -> object:
        """`weight[0]` and `module.weight` by the new names."""
        head = _WORD.match(text) if isinstance(text, str) else None
        return other.get(head.group(), head.group()) + str(text)[head.end() :] if head else text

    statements = [
        Let(tuple(other.get(n, n) for n in s.names), s.value if isinstance(s.value, Tensor) else changed(s.value))
        for s in finding.program.statements
    ]
    detail = dict(finding.verdict.detail)
    detail["element"] = moved(detail.get("element"))
    if isinstance(detail.get("along"), list):
        detail["along"] = [(moved(name), *rest) for name, *rest in detail["along"]]
    made = None if finding.made is None else tuple(other.get(n, n) for n in finding.made)
    return replace(finding, program=Program(tuple(statements)), made=made, verdict=replace(finding.verdict, detail=detail))
