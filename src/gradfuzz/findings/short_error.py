"""The short script of an error: the function runs directly, and a derivative of the first order raises."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.literals import counts, first_slice, literal, too_long
from gradfuzz.findings.script import folders_of, module_dtype, template_of
from gradfuzz.findings.script_names import bound_names, out_of_the_way
from gradfuzz.findings.script_parts import Parts, gated, imports_of, modules_of, parts_of
from gradfuzz.findings.shown import Short
from gradfuzz.oracles.kinds import title
from gradfuzz.oracles.verdict import INTERNAL, STATUS
from gradfuzz.program.model import Tensor
from gradfuzz.targets.homes import Home, home_of

RAISES = "raises.py.j2"
MODES = ("reverse", "forward")
MOST_LINES = 25
# How one number is made of what comes out: a tensor, the first of several, complex numbers.
SUMS = ("%s.sum()", "%s[0].sum()", "%s.real.sum()")
TELLING_WORDS = 5  # of a message that tell it apart from others
ERROR = "an error"  # what such a script is held against
TAKEN = frozenset({"f", "error", "acc", "tape", "value"})
_WORDS = re.compile(r"[A-Za-z_]+")


def raising(finding: Finding) -> Iterator[Short]:
    """Scripts for the mode that raises, to be tried in turn; none where it is no matter of one mode and one call."""
    verdict, home = finding.verdict, home_of(finding.target)
    mode = next((name for name in verdict.names if name in MODES), "")
    if finding.kind not in (STATUS, INTERNAL) or verdict.order != 1 or not mode or not (home.folder / RAISES).exists():
        return
    finding = out_of_the_way(gated(finding, home.language(finding.modules)), TAKEN | bound_names(folders_of(home), RAISES))
    parts = parts_of(finding)
    if not parts.differentiable or too_long(finding.program) or finding.random:
        return
    for summed in SUMS:
        texts = [_text(home, finding, parts, mode, summed, plain) for plain in (False, True)]
        if len(texts[0].splitlines()) <= MOST_LINES:
            yield Short(texts[0], "", f"{mode} mode", mode, math.nan, math.nan, ERROR, example=texts[1])


def raised(finding: Finding, short: Short, status: object, output: str) -> Short | None:
    """The script with what it printed, if it shows this very error."""
    message = _WORDS.findall(str(finding.verdict.actual))[:TELLING_WORDS]
    said = " ".join(_WORDS.findall(output.rpartition(f"{short.scenario} mode:")[2]))
    return replace(short, output=output) if status == 1 and message and " ".join(message) in said else None


def _text(home: Home, finding: Finding, parts: Parts, mode: str, summed: str, plain: bool) -> str:
    text: str = template_of(home, RAISES).render(
        headline=f"{finding.api}: {title(finding.verdict)} ({home.title} {finding.version}, found by gradfuzz).", mode=mode, plain=plain,
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
