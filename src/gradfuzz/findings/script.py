"""The script that proves a finding: it imports the library and NumPy alone, and exits 1 for as long as the bug is there.

What a script says is the target's own (its script.py.j2, with what all share from targets/base); what goes into it is the same for all: a
Program that has passed the gate, numbers, names that are nothing but names, and prose that is escaped. Nothing that a finding holds can
become code but its Program.

A script computes what the oracle has computed: along the same directions, drawn from the same stream of numbers, with the same steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import jinja2

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.numpy_code import array_code
from gradfuzz.findings.script_names import bound_names, out_of_the_way
from gradfuzz.findings.script_numbers import (
    along_of,
    base_of,
    element_of,
    finer_of,
    first_step,
    proven_entry,
    tolerance,
    value_tolerance,
)  # fmt: skip
from gradfuzz.findings.script_parts import gated, imports_of, modules_of, parts_of
from gradfuzz.oracles.kinds import KINDS
from gradfuzz.oracles.trial import STREAM, start_of
from gradfuzz.program import Program
from gradfuzz.program.model import DISCRETE, EXPANDED, Tensor
from gradfuzz.program.text import expr_text
from gradfuzz.targets import base
from gradfuzz.targets.base.widening import widened
from gradfuzz.targets.homes import Home, home_of

WHOLE, WAY = "script.py.j2", "way.py.j2"  # a target may have a short script of its own for findings of ways
WHOLE_WAY = "whole_way.py.j2"  # and a part of the whole one that computes with a way what the oracle does
_SHARED = Path(base.__path__[0])


@lru_cache(maxsize=8)
def template_of(home: Home, name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders_of(home)), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined, autoescape=False,
    )  # fmt: skip
    environment.filters["prose"] = prose
    return environment.get_template(name)


def folders_of(home: Home) -> tuple[Path, ...]:
    return home.folder, _SHARED


def prose(text: str) -> str:
    """A text as one line inside a docstring, which it cannot end."""
    visible = "".join(c if c.isprintable() else ascii(c)[1:-1] if c != "\n" else " " for c in str(text).replace("\\", "\\\\"))
    return visible.replace('"', '\\"')


@dataclass
class Input:
    """One tensor of the script."""

    name: str
    code: str
    dtype: str
    layout: str
    differentiable: bool
    discrete: bool


def has_whole(finding: Finding) -> bool:
    """Whether the short script of a way is not the last word: another one goes along the oracle's own directions."""
    folder = home_of(finding.target).folder
    return any(s.way for s in finding.verdict.scenarios) and (folder / WAY).exists() and (folder / WHOLE_WAY).exists()


def script(finding: Finding, whole: bool = False) -> str:
    """The script's text. ProgramError for a finding whose Program does not pass the gate. `whole`: though there be a short one of ways."""
    home, verdict = home_of(finding.target), finding.verdict
    language = home.language(finding.modules)
    finding = gated(finding, language)
    ways = [(s.name, s.way, list(s.modes)) for s in verdict.scenarios if s.way]
    template = WAY if ways and not whole and (home.folder / WAY).exists() else WHOLE
    finding = out_of_the_way(finding, bound_names(folders_of(home), template))
    program, verdict = finding.program, finding.verdict
    parts = parts_of(finding)
    unknown_body, numbers = parts.unknown(program)
    return template_of(home, template).render(
        finding=finding,
        title=home.title,
        verdict=verdict,
        inputs=[_input(name, recipe) for name, recipe in program.inputs.items()],
        differentiable=parts.differentiable,
        fixed=parts.fixed,
        constructors=parts.constructors,
        modules=parts.modules,
        body=parts.body,
        wide_body=parts.lines(widened(program, language)),
        unknown_body=unknown_body,
        numbers=numbers,
        result=parts.result,
        scenarios=[(s.name, list(s.modes)) for s in verdict.scenarios if not s.way],
        ways=ways,
        call=_only_call(program),
        imports=imports_of(program),
        structures=_structures(program),
        stream=STREAM,
        start=start_of(finding.salt),
        element=element_of(finding),
        along=along_of(finding),
        base=base_of(finding),
        finer=finer_of(finding),
        bare=isinstance(verdict.detail.get("direct"), str),
        proof=proven_entry(finding),
        resting=bool(verdict.detail.get("resting")),
        tolerance=tolerance(finding),
        value_tolerance=value_tolerance(finding),
        first_step=first_step(finding),
        dtype=module_dtype(program),
        floatx=widest(program),
        numeric=KINDS[verdict.kind].numeric and verdict.oracle != "precision",
        user_modules=modules_of(finding),
        limit=float(finding.limit),
    )


@dataclass
class OnlyCall:
    """The one call of a Program, in parts: for scripts that call another form of it."""

    func: str
    args: list[str]
    options: list[str]

    @property
    def name(self) -> str:
        return self.func.rsplit(".", 1)[-1]

    @property
    def rest(self) -> str:
        return ", ".join([*self.args[1:], *self.options])

    @property
    def all(self) -> str:
        return ", ".join([*self.args, *self.options])


def _only_call(program: Program) -> OnlyCall | None:
    calls = list(program.calls())
    if len(calls) != 1:
        return None
    options = [f"{name}={expr_text(value)}" for name, value in calls[0].kwargs]
    return OnlyCall(calls[0].func, [expr_text(a) for a in calls[0].args], options)


PROJECTIONS = {
    "symmetric": "(a + a.conj().swapaxes(-1, -2)) / 2",
    "positive_definite": "(a + a.conj().swapaxes(-1, -2)) / 2",
    "lower": "np.tril(a)",
    "upper": "np.triu(a)",
    "simplex": "a - a.mean(axis=-1, keepdims=True)",
    # Slices that are one in memory move as one.
    EXPANDED: "np.array(np.broadcast_to(np.take_along_axis(a, (a != 0).argmax(0)[None], 0), a.shape))",
}

MATRICES = ("symmetric", "positive_definite", "lower", "upper")


def _structures(program: Program) -> list[tuple[str, str]]:
    """(input, code that projects a direction `a`, an array) for each thing that directions of an input keep."""
    moving = [(name, r) for name, r in program.inputs.items() if r.differentiable and r.elements and r.shape]
    found = [(name, r, word) for name, r in moving for word in (r.kept or "").split() if word in PROJECTIONS]
    square = [f for f in found if f[2] not in MATRICES or (len(f[1].shape) > 1 and f[1].shape[-1] == f[1].shape[-2])]
    return [(name, PROJECTIONS[word]) for name, _, word in square]


def _input(name: str, recipe: Tensor) -> Input:
    return Input(name, array_code(recipe), recipe.dtype, recipe.layout, recipe.differentiable, recipe.dtype in DISCRETE)


def module_dtype(program: Program) -> str:
    """The type of the first floating input, of those that are differentiated if any is."""
    floats = [r for r in program.inputs.values() if r.dtype.startswith(("float", "bfloat", "complex"))]
    return next((r.dtype for r in sorted(floats, key=lambda r: not r.differentiable)), "float64")


def widest(program: Program) -> str:
    """The widest real type of the inputs; that of its parts for a complex one."""
    dtypes = [r.dtype.replace("complex128", "float64").replace("complex64", "float32") for r in program.inputs.values()]
    return next((d for d in ("float64", "float32", "float16", "bfloat16") if d in dtypes), "float64")
