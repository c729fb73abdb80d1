"""The short script of an error: the function runs directly, and a derivative raises, or what forward mode gives does not fit the output."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.literals import counts, first_slice, literal, too_long
from gradfuzz.findings.script import folders_of, module_dtype, template_of
from gradfuzz.findings.script_names import bound_names, out_of_the_way
from gradfuzz.findings.script_parts import Parts, gated, imports_of, modules_of, parts_of
from gradfuzz.findings.shown import Short
from gradfuzz.oracles.verdict import INTERNAL, MALFORMED, STATUS
from gradfuzz.program.model import Tensor
from gradfuzz.targets.base.scenario import DIRECT, Scenario
from gradfuzz.targets.homes import Home, home_of

RAISES = "raises.py.j2"  # a mode of the first order
# What a target may have as well: a nesting of order two that raises, a tangent that does not fit its output, what fails directly.
RAISES_TWICE, ILL_FORMED, FAILS = "raises_twice.py.j2", "ill_formed.py.j2", "fails.py.j2"
MODES = ("reverse", "forward")
MOST_LINES = 25
# How one number is made of what comes out: a tensor, the first or the second of several, complex numbers.
SUMS = ("%s.sum()", "%s[0].sum()", "%s[1].sum()", "%s.real.sum()")
TELLING_WORDS = 5  # of a message that tell it apart from others
ERROR = "an error"  # what such a script is held against
TAKEN = frozenset({"f", "derivative", "error", "acc", "tape", "value", "first", "second", "slopes"})
_WORDS = re.compile(r"[A-Za-z_]+")
_TYPE = re.compile(r"^\w+: ")  # of the exception: layers put words of their own between it and the message


def raising(finding: Finding) -> Iterator[Short]:
    """Scripts for the scenario at fault, to be tried in turn; none where it is no matter of one scenario and one call."""
    home = home_of(finding.target)
    template, scenario = _template(finding)
    if not template or not (home.folder / template).exists():
        return
    finding = out_of_the_way(gated(finding, home.language(finding.modules)), TAKEN | bound_names(folders_of(home), template))
    parts = parts_of(finding)
    if not parts.differentiable or too_long(finding.program) or finding.random:
        return
    tried = set()
    for traced, summed in product((False, True), SUMS):
        texts = [_text(home, template, finding, parts, scenario, summed, traced, plain) for plain in (False, True)]
        if texts[0] not in tried and len(texts[0].splitlines()) <= MOST_LINES:
            tried.add(texts[0])
            yield Short(texts[0], "", _place(scenario), scenario.name, math.nan, math.nan, ERROR, example=texts[1])


def _template(finding: Finding) -> tuple[str, Scenario]:
    """Which template shows a finding, and in which scenario; nothing where none does."""
    verdict = finding.verdict
    scenario = next((s for s in verdict.scenarios if not s.way and not s.device), None)
    if scenario is None or scenario.order != verdict.order:
        return "", DIRECT
    if finding.kind == MALFORMED:
        return (ILL_FORMED, scenario) if scenario.name == "forward" else ("", scenario)
    if finding.kind == INTERNAL and not scenario.order:
        return FAILS, scenario
    if finding.kind not in (STATUS, INTERNAL):
        return "", scenario
    return {1: RAISES, 2: RAISES_TWICE}.get(scenario.order, ""), scenario


def _place(scenario: Scenario) -> str:
    return f"{scenario.name} mode" if scenario.order == 1 else scenario.name


def raised(finding: Finding, short: Short, status: object, output: str) -> Short | None:
    """The script with what it printed, if it shows this very error."""
    message = _WORDS.findall(_TYPE.sub("", str(finding.verdict.actual)))[:TELLING_WORDS]
    said = " ".join(_WORDS.findall(output.rpartition(f"{short.what}:")[2]))
    return replace(short, output=output) if status == 1 and message and " ".join(message) in said else None


def _text(
    home: Home, template: str, finding: Finding, parts: Parts, scenario: Scenario, summed: str, traced: bool, plain: bool
) -> str:  # fmt: skip
    text: str = template_of(home, template).render(
        headline=f"{finding.api}: {finding.title} ({home.title} {finding.version}, found by gradfuzz).", mode=scenario.name,
        plain=plain, place=_place(scenario), traced=traced, inner=scenario.modes[:1] == ("r",), outer=scenario.modes[1:] == ("r",),
        args=", ".join(parts.differentiable), variables=parts.differentiable, constructors=parts.constructors, body=_returning(parts),
        summed=summed, copied=list(finding.program.inputs) if finding.mutates else [],
        inputs=[_input(name, recipe) for name, recipe in finding.program.inputs.items()], imports=imports_of(finding.program),
        user_modules=modules_of(finding), dtype=module_dtype(finding.program),
    )  # fmt: skip
    return text


def _returning(parts: Parts) -> list[str]:
    """The lines of the function; the last one returns what it computes."""
    *lines, last = parts.body
    assigned = f"{parts.result} = "
    return [*lines, f"return {last[len(assigned) :]}"] if last.startswith(assigned) else [*parts.body, f"return {parts.result}"]


def _input(name: str, recipe: Tensor) -> dict[str, Any]:
    return {
        "name": name, "code": literal(recipe), "dtype": recipe.dtype, "layout": recipe.layout, "shape": recipe.shape,
        "counts": counts(recipe), "variable": recipe.differentiable, "first": first_slice(recipe),
    }  # fmt: skip
