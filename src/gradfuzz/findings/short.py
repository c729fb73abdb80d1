"""The script that a maintainer pastes: at most 25 lines, the library's own idiom, one entry of the derivative, nothing drawn or projected.

A worker says which entry shows the finding (`worker/pinpoint.py`); the target's short.py.j2 spells it. There may be several spellings (of
what a function returns, of a derivative that is not connected): they are tried in turn, and only what was run in a fresh process and
showed the bug is ever shown. Where none does, the long script stands for the finding.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.literals import FEW, counts, first_slice, literal, too_long
from gradfuzz.findings.proof import spots_of
from gradfuzz.findings.script import folders_of, module_dtype, template_of, widest
from gradfuzz.findings.script_names import bound_names, out_of_the_way, renamed
from gradfuzz.findings.script_parts import Parts, gated, imports_of, modules_of, parts_of
from gradfuzz.findings.short_error import raised, raising
from gradfuzz.findings.shown import Context, Short
from gradfuzz.oracles.verdict import ACCURACY, GRADIENT, KINK, NONFINITE, PRECISION, TAIL
from gradfuzz.pool.executor import Executor
from gradfuzz.program import to_json
from gradfuzz.program.model import Tensor, Values
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.homes import Home, home_of

SHORT = "short.py.j2"
# How a script may be spelt: plainly; a derivative that is not connected is zero, and what compiles is compiled; modules are made in every
# call, since they keep count; all inputs are variables of the function.
PLAINLY, LOOSE, FRESH, WIDE = "plainly", "loosely", "freshly", "widely"
SPELLINGS = (PLAINLY, LOOSE, FRESH, WIDE)
MOST_LINES = 25
# A gradient that is NaN in one place is NaN along any direction once it is contracted: so many elements are tried until one is its place.
MOST_ELEMENTS = 6
WRONG_NUMBERS = (GRADIENT, ACCURACY, TAIL, NONFINITE, KINK, PRECISION)
# Names of a short script's own, beside those that its template binds.
TAKEN = frozenset({"f", "u", "h", "p", "got", "right", "low", "high", *(f"{letter}{n}" for letter in "deu" for n in range(1, 9))})
# Sources in words; another mode is called by its name.
SOURCES = {
    "proof": "proven", "difference": "a difference quotient", "slopes": "the nearest one-sided slope", "double": "in double precision",
}  # fmt: skip
Shortening = Generator[tuple[str, dict[str, Any]], Mapping[str, Any], "Short | None"]
_SAID = re.compile(r": *(-?[0-9.e+-]+|nan|-?inf)\s*$", re.MULTILINE)


def question(finding: Finding) -> dict[str, Any] | None:
    """What a worker is asked for a finding's entry; None where there is nothing to pinpoint."""
    verdict, proof = finding.verdict, finding.proof
    plain = verdict.order and verdict.scenarios and not any(s.way or s.device for s in verdict.scenarios)
    if not plain or finding.kind not in WRONG_NUMBERS or not (home_of(finding.target).folder / SHORT).exists():
        return None
    named = _named(finding)
    asked: dict[str, Any] = {
        "program": to_json(named.program), "scenarios": verdict.names, "kind": finding.kind,
        "element": named.verdict.detail.get("element"),
    }  # fmt: skip
    if proof is not None and finding.proven and len(proof.spots) == 2 and len(proof.spots[1]) == verdict.order:
        at_fault = [name for name in verdict.names if name in proof.wrong] or verdict.names
        asked |= {"spots": proof.spots, "exact": proof.number, "scenarios": at_fault}
    return asked


def shortening(finding: Finding) -> Shortening:
    """Hands out jobs for workers and is told their answers; returns the short script, if one shows the finding in a fresh process."""
    asked = question(finding)
    if asked is None:
        return (yield from _erring(finding))
    if too_long(finding.program):
        return None  # whatever its entry is: nobody reads that many numbers
    besides: list[Any] = []
    while len(besides) < MOST_ELEMENTS:
        shown = (yield "pinpoint", {**asked, "besides": [*besides]}).get("shown")
        for short in spellings(finding, shown) if shown is not None else ():
            answer = yield "script", {"source": short.script, "then": short.example}
            proven = showed(short, answer.get("status"), str(answer.get("output", "")))
            if proven is not None:
                return _exemplified(proven, answer)
            if answer.get("status") == 0:
                break  # it runs, and all is well there: that entry is another's NaN, however it is spelt
        if shown is None or finding.kind != NONFINITE or "spots" in asked:
            return None
        besides.append(shown["spots"][1][-1])
    return None


def _erring(finding: Finding) -> Shortening:
    """The same for an error, which has no entry."""
    for short in raising(finding):
        answer = yield "script", {"source": short.script, "then": short.example}
        proven = raised(finding, short, answer.get("status"), str(answer.get("output", "")))
        if proven is not None:
            asked = {"program": to_json(finding.program), "scenarios": finding.verdict.names, "kind": finding.kind}
            around = (yield "pinpoint", asked).get("context")
            return _exemplified(replace(proven, context=Context.from_json(around)) if around else proven, answer)
    return None


def _exemplified(short: Short, answer: Mapping[str, Any]) -> Short:
    """With what its example prints, which was run behind the script; or without an example that does not run."""
    then = answer.get("then") or {}
    return replace(short, printed=str(then["output"])) if then.get("status") == 0 else replace(short, example="")


def shorten(pool: Executor, finding: Finding, limit: float) -> Short | None:
    """The same to its end, in workers of a pool."""
    steps = shortening(finding)
    answer: Mapping[str, Any] | None = None
    while True:
        try:
            do, fields = next(steps) if answer is None else steps.send(answer)
        except StopIteration as end:
            short: Short | None = end.value
            return short
        answer = pool.run(do, fresh=True, limit=limit, **fields).data


def _named(finding: Finding) -> Finding:
    """The finding as scripts spell it: past the gate, and no variable is called as something of the script's own."""
    home = home_of(finding.target)
    return out_of_the_way(gated(finding, home.language(finding.modules)), TAKEN | bound_names(folders_of(home), SHORT))


def _called(finding: Finding, shown: Mapping[str, Any]) -> tuple[Finding, Mapping[str, Any]]:
    """Both with the inputs called as the API calls its parameters, where that can be done."""
    names = shown.get("context", {}).get("names", {})
    home = home_of(finding.target)
    free = {a: b for a, b in names.items() if a in finding.program.inputs and b.isidentifier() and not keyword.iskeyword(b)}
    kept = {name for s in finding.program.statements for name in s.names} - set(free)
    taken = TAKEN | bound_names(folders_of(home), SHORT) | kept
    free = {a: b for a, b in free.items() if b not in taken}
    other = {a: b for a, b in free.items() if [*free.values()].count(b) == 1}
    if not other or set(other.values()) & (set(names) - set(other)):
        return finding, shown
    along = [{**place, "name": other.get(place["name"], place["name"])} for place in shown["along"]]
    context = {**shown["context"], "names": {other.get(a, a): b for a, b in names.items()}}
    return renamed(finding, other), {**shown, "along": along, "context": context}


def spellings(finding: Finding, shown: Mapping[str, Any]) -> Iterator[Short]:
    """Short scripts for an entry, to be tried in turn; none where it cannot be said shortly."""
    finding, shown = _called(_named(finding), shown)
    parts, along = parts_of(finding), shown["along"]
    if any(place["name"] not in finding.program.inputs for place in along):
        return
    if any(place["direction"] and place["complex"] for place in along):
        return
    seen = set()
    for place in _ways_out(parts, shown):
        for how in SPELLINGS:
            entry = _Entry(finding, parts, shown, along, place, how)
            text = _tight(entry.text(home_of(finding.target)))
            if len(text.splitlines()) <= MOST_LINES and text not in seen:
                seen.add(text)
                context = Context.from_json(shown["context"]) if "context" in shown else Context()
                yield Short(
                    text, "", entry.what, shown["scenario"], shown["actual"], shown["right"], entry.source,
                    context.names.get(along[-1]["name"], along[-1]["name"]), entry.plainly().text(home_of(finding.target)), context=context,
                    spots=tuple(map(spots_of, shown.get("spots", ()))),
                )  # fmt: skip


def showed(short: Short, status: object, output: str) -> Short | None:
    """The script with what it printed, if it shows the bug: it exits with 1 and prints the number that AD gives, not another one."""
    said = _SAID.search(output)
    number = float(said.group(1)) if said else math.inf
    same = math.isclose(number, short.actual, rel_tol=1e-3, abs_tol=0.0) or str(number) == str(short.actual)
    return replace(short, output=output) if status == 1 and said and same else None


def _ways_out(parts: Parts, shown: Mapping[str, Any]) -> list[str]:
    """How the output may be reached, as code: what the last call gives may be a tensor or hold several."""
    number = shown["output"]["number"]
    if len(parts.names) == shown["outputs"] > 1:
        return [parts.names[number]]
    return [parts.result, ""] if shown["outputs"] == 1 else [f"{parts.result}[{number}]", ""]


@dataclass(frozen=True)
class Step:
    """One differentiation: in which mode, with respect to which variable, along which element or direction."""

    mode: str
    name: str
    position: int  # of the variable among the function's arguments
    pick: str  # "[0, 1]" behind a gradient; nothing of a number
    part: str  # "real" or "imag" of a complex number, nothing of a real one
    whole: bool  # along a direction, not an element
    u: str
    inner: str  # what is differentiated
    own: str  # what the derivative is called as a function
    last: bool


@dataclass(frozen=True)
class Chain:
    """A nest of differentiations, innermost first, and what its number is called."""

    name: str
    steps: list[Step]

    @property
    def reverse(self) -> bool:
        return any(step.mode == "r" for step in self.steps)

    @property
    def forward(self) -> bool:
        return any(step.mode == "f" for step in self.steps)

    @property
    def flat(self) -> bool:
        """Whether forward mode comes last if at all: one tape and one tangent do."""
        return not any(step.mode == "f" for step in self.steps[:-1])


class _Entry:
    """What a template is told."""

    def __init__(
        self, finding: Finding, parts: Parts, shown: Mapping[str, Any], along: list[dict[str, Any]], place: str, how: str,
        plain: bool = False,
    ) -> None:  # fmt: skip
        self.finding, self.parts, self.shown, self.along, self.place, self.how = finding, parts, shown, along, place, how
        self.plain = plain
        self.by: str = shown["by"]
        wanted = {place["name"] for place in along}
        self.variables = [name for name in parts.differentiable if name in wanted or how == WIDE]
        scenarios = [shown["scenario"], *([] if self.by in SOURCES else [self.by])]
        self.directed = self._directed(scenarios)
        self.chains = [self._chain(*named) for named in zip(("got", "right"), "de", scenarios)]

    def plainly(self) -> _Entry:
        """The same for a report: held against a difference quotient, wherever that settles."""
        quotient = self.shown.get("context", {}).get("quotient")
        shown = {**self.shown, "by": "difference", "step": quotient[2]} if quotient else self.shown
        return _Entry(self.finding, self.parts, shown, self.along, self.place, self.how, plain=True)

    @property
    def what(self) -> str:
        """The derivative as people write it."""
        power = {1: "", 2: "²", 3: "³"}.get(len(self.along), f"^{len(self.along)}")
        shown = self.shown["output"]
        name = self.parts.result if self.shown["outputs"] == 1 else self.place or f"{self.parts.result}[{shown['number']}]"
        return f"d{power} {_written(name, shown)} / " + " ".join(f"d {_written(a['name'], a)}" for a in self.along)

    @property
    def source(self) -> str:
        return SOURCES.get(self.by, self.by)

    @property
    def said(self) -> str:
        also = f", and {self.shown['agree'][0]}" if self.shown["agree"] else ""
        return f"{self.what} is {self.shown['right']:.6g} ({self.source}{also}); {self.shown['scenario']} gives {self.shown['actual']:.6g}."

    def text(self, home: Home) -> str:
        finding, shown, proof = self.finding, self.shown, self.finding.proof
        text: str = template_of(home, SHORT).render(
            finding=finding, headline=self._headline(home), said=self.said, source=self.source, scenario=shown["scenario"], by=self.by,
            right=shown["right"], step=shown["step"], tolerance=shown["tolerance"], args=", ".join(self.variables),
            given=self._given, chains=self.chains,
            inputs=[self._input(name, recipe) for name, recipe in finding.program.inputs.items()], directions=self._directions(),
            constructors=self.parts.constructors, modules=self.parts.modules, weights=shown["weights"],
            differentiable=self.parts.differentiable, body=self._body(),
            number=shown["output"]["number"], place=self.place, result=self.parts.result, loose=self.how == LOOSE, fresh=self.how == FRESH,
            pick=self._pick(), part=("real", "imag")[shown["output"]["part"]] if shown["output"]["complex"] else "",
            imports=imports_of(finding.program), user_modules=modules_of(finding), dtype=module_dtype(finding.program),
            floatx=widest(finding.program), enclosure=proof.enclosure if proof is not None else "", plain=self.plain,
            whole=len(self.along) == 1 and not self.along[0]["complex"] and not self.along[0]["direction"]
            and finding.program.inputs[self.along[0]["name"]].elements <= FEW,
        )  # fmt: skip
        return text

    def _headline(self, home: Home) -> str:
        at_fault = replace(self.finding.verdict, scenarios=[Scenario.named(self.shown["scenario"])])
        return f"{self.finding.api}: {self.finding.titled(at_fault)} ({home.title} {self.finding.version}, found by gradfuzz)"

    def _body(self) -> list[str]:
        """The lines of the function; the last one returns what it computes, or an element of it, where it is a call."""
        *lines, last = self.parts.body
        assigned = f"{self.parts.result} = "
        output, pick = self.shown["output"], self._pick()
        called = last.startswith(assigned) and isinstance(ast.parse(last[len(assigned) :], mode="eval").body, (ast.Call, ast.Subscript))
        if not called or not self.place.startswith(self.parts.result) or output["complex"]:
            return self.parts.body
        return [*lines, f"return {last[len(assigned) :]}{self.place[len(self.parts.result) :]}{pick}"]

    def _pick(self) -> str:
        index = self.shown["output"]["index"]
        return f"[{', '.join(map(str, index))}]" if index else ""

    def _given(self, code: str) -> str:
        """The function's arguments, with this code in the place of the variable of the last differentiation."""
        return ", ".join(code if name == self.along[-1]["name"] else name for name in self.variables)

    def _input(self, name: str, recipe: Tensor) -> dict[str, Any]:
        """`inside`: made anew in every call, since the function writes to it."""
        variable = name in self.variables
        return {
            "name": name, "code": literal(recipe), "dtype": recipe.dtype, "layout": recipe.layout, "shape": recipe.shape,
            "counts": counts(recipe), "variable": variable, "inside": self.finding.mutates and not variable,
            "first": first_slice(recipe),
        }  # fmt: skip

    def _chain(self, name: str, letter: str, scenario: str) -> Chain:
        modes = Scenario.named(scenario).modes
        steps = []
        for n, (mode, place, u) in enumerate(zip(modes, self.along, self.directed)):
            pick = f"[{', '.join(map(str, place['index']))}]" if place["index"] else ""
            part = ("real", "imag")[place["part"]] if place["complex"] else ""
            position = self.variables.index(place["name"])
            inner = f"{letter}{n}" if n else "f"
            steps.append(
                Step(mode, place["name"], position, pick, part, bool(place["direction"]), u, inner, f"{letter}{n + 1}", n + 1 == len(modes))
            )
        return Chain(name, steps)

    def _directed(self, scenarios: list[str]) -> list[str]:
        """The direction of each differentiation by name: u, or u1 and u2 where two are needed; nothing where none is."""
        modes = [Scenario.named(name).modes for name in scenarios]
        last = len(self.along) - 1
        needed: dict[int, tuple[Any, ...]] = {}
        for n, place in enumerate(self.along):
            moved = n == last and self.by in ("difference", "slopes")
            if moved or place["direction"] or any(m[n] == "f" for m in modes):
                needed[n] = (place["name"], tuple(place["index"]), place["part"])
        several = list(dict.fromkeys(needed.values()))
        names = {key: "u" if len(several) == 1 else f"u{i + 1}" for i, key in enumerate(several)}
        return [names[needed[n]] if n in needed else "" for n in range(len(self.along))]

    def _directions(self) -> list[dict[str, Any]]:
        """Those that the script needs, as code."""
        found: dict[str, dict[str, Any]] = {}
        for name, place in zip(self.directed, self.along):
            if name:
                recipe = self.finding.program.inputs[place["name"]]
                unit = Values("listed", (tuple(_unit(place, recipe)),))
                code = literal(replace(recipe, values=unit, structure=None, layout="contiguous"))
                hot = recipe.elements > FEW and not place["direction"] and not place["complex"]
                at = int(np.ravel_multi_index(place["index"], recipe.shape)) if hot else 0
                found[name] = {"name": name, "code": code, "dtype": recipe.dtype, "shape": recipe.shape,
                               "hot": (recipe.elements, at) if hot else None}  # fmt: skip
        return list(found.values())


def _tight(text: str) -> str:
    """Without empty lines between statements, where it is too long with them."""
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        lines = lines[:3] + [line for line in lines[3:] if line]
    return "\n".join(lines) + "\n"


def _written(name: str, place: Mapping[str, Any]) -> str:
    part = ("Re ", "Im ")[place["part"]] if place["complex"] else ""
    return f"{part}{name}[{', '.join(map(str, place['index']))}]" if place["index"] else f"{part}{name}"


def _unit(place: Mapping[str, Any], recipe: Tensor) -> list[Any]:
    if place["direction"]:
        return list(place["direction"])
    flat = 0
    for n, size in zip(place["index"], recipe.shape):
        flat = flat * size + n
    unit, nothing = (1j if place["part"] else 1 + 0j, 0j) if place["complex"] else (1.0, 0.0)
    return [unit if i == flat else nothing for i in range(recipe.elements)]
