"""The script that proves a finding: it imports the library and NumPy alone, and exits 1 for as long as the bug is there.

What a script says is the target's own (its script.py.j2, with what all share from targets/base); what goes into it is the same for all: a
Program that has passed the gate, numbers, names that are nothing but names, and prose that is escaped. Nothing that a finding holds can
become code but its Program.

A script computes what the oracle has computed: along the same directions, drawn from the same stream of numbers, with the same steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import jinja2

from gradfuzz.errors import ProgramError
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
from gradfuzz.oracles.kinds import KINDS
from gradfuzz.oracles.trial import STREAM, start_of
from gradfuzz.program import Program, gate
from gradfuzz.program.model import Call, Let, Name, Ref, Tensor, walk
from gradfuzz.program.text import expr_text, statement_text
from gradfuzz.targets import base
from gradfuzz.targets.base.widening import widened
from gradfuzz.targets.homes import Home, home_of

WHOLE, WAY = "script.py.j2", "way.py.j2"  # a target may have a short script of its own for findings of ways
_SHARED = Path(base.__path__[0])


@lru_cache(maxsize=8)
def _template(home: Home, name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_folders(home)), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined, autoescape=False,
    )  # fmt: skip
    environment.filters["prose"] = prose
    return environment.get_template(name)


def _folders(home: Home) -> tuple[Path, ...]:
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


def script(finding: Finding) -> str:
    """The script's text. ProgramError for a finding whose Program does not pass the gate."""
    home, verdict = home_of(finding.target), finding.verdict
    language = home.language(finding.modules)
    program = gate.check(finding.program, language)
    if not all(gate.is_plain(part) for module in finding.modules for part in module.replace(":", ".").split(".")):
        raise ProgramError("a module of the user's own has a name that is none")
    ways = [(s.name, s.way, list(s.modes)) for s in verdict.scenarios if s.way]
    short = ways and verdict.oracle != "process" and (home.folder / WAY).exists()
    template = WAY if short else WHOLE
    finding = out_of_the_way(replace(finding, program=program), bound_names(_folders(home), template))
    program, verdict = finding.program, finding.verdict
    differentiable = [name for name, r in program.inputs.items() if r.differentiable]
    fixed = [name for name, r in program.inputs.items() if not r.differentiable]
    # What is computed last is the output, whatever it looks like.
    constructors = [s for s in program.statements[:-1] if _is_made(s, finding.made, fixed)]
    made = {name for s in constructors for name in s.names}
    calls = _calls(program, made)
    last = calls[-1]
    return _template(home, template).render(
        finding=finding,
        title=home.title,
        verdict=verdict,
        inputs=[_input(name, recipe) for name, recipe in program.inputs.items()],
        differentiable=differentiable,
        fixed=fixed,
        constructors=[statement_text(s) for s in constructors],
        modules=[s.names[0] for s in constructors],
        body=_lines(calls),
        wide_body=_lines(_calls(widened(program, language), made)),
        result=last.names[0] if len(last.names) == 1 else "(" + ", ".join(last.names) + ")" if last.names else "result",
        scenarios=[(s.name, list(s.modes)) for s in verdict.scenarios if not s.way],
        ways=ways,
        call=_only_call(program),
        imports=_imports(program),
        structures=_structures(program),
        stream=STREAM,
        start=start_of(finding.salt),
        element=element_of(finding),
        along=along_of(finding),
        base=base_of(finding),
        finer=finer_of(finding),
        bare=isinstance(verdict.detail.get("direct"), str),
        proof=proven_entry(finding),
        tolerance=tolerance(finding),
        value_tolerance=value_tolerance(finding),
        first_step=first_step(finding),
        dtype=_module_dtype(program),
        floatx=_widest(program),
        numeric=KINDS[verdict.kind].numeric and verdict.oracle != "precision",
        user_modules=sorted({module.partition(":")[0] for module in finding.modules}),
        limit=float(finding.limit),
    )


def _is_made(statement: Let, made: tuple[str, ...] | None, fixed: list[str]) -> bool:
    """Whether a statement makes something once, outside the function: as the worker says, or else as it looks."""
    if made is None:
        return _is_constructor(statement, fixed)
    return len(statement.names) == 1 and statement.names[0] in made and not isinstance(statement.value, Tensor)


def _calls(program: Program, made: set[str]) -> list[Let]:
    return [s for s in program.statements if not isinstance(s.value, Tensor) and not made.intersection(s.names)]


def _lines(calls: list[Let]) -> list[str]:
    return [statement_text(s if s.names or s is not calls[-1] else Let(("result",), s.value)) for s in calls]


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


def _imports(program: Program) -> list[str]:
    """The modules of the functions that are called or passed: a submodule need not be there before it is imported."""
    paths = {node.func if isinstance(node, Call) else node.path for node in program.expressions() if isinstance(node, (Call, Name))}
    spaces = {path.rsplit(".", 1)[0] for path in paths if "." in path.strip(".")}
    return sorted(space for space in spaces if not space.rsplit(".", 1)[-1].lstrip("_")[:1].isupper())


PROJECTIONS = {
    "symmetric": "(a + a.conj().swapaxes(-1, -2)) / 2",
    "positive_definite": "(a + a.conj().swapaxes(-1, -2)) / 2",
    "lower": "np.tril(a)",
    "upper": "np.triu(a)",
    "simplex": "a - a.mean(axis=-1, keepdims=True)",
}


def _structures(program: Program) -> list[tuple[str, str]]:
    """(input, code that projects a direction `a`, an array) for each structured input."""
    found = [(name, r) for name, r in program.inputs.items() if r.differentiable and r.structure in PROJECTIONS]
    square = [(name, r) for name, r in found if r.structure == "simplex" or (len(r.shape) > 1 and r.shape[-1] == r.shape[-2])]
    return [(name, PROJECTIONS[str(r.structure)]) for name, r in square if r.shape]


def _is_constructor(statement: Let, fixed: list[str]) -> bool:
    """`m = library.Linear(…)`, perhaps with `.eval()` behind it, is made once, outside the function.

    What is made from inputs that are differentiated, or from results, is not: operators too may be written with a capital.
    """
    value = statement.value
    if len(statement.names) != 1 or any(isinstance(node, Ref) and node.name not in fixed for node in walk(value)):
        return False
    while isinstance(value, Call) and value.func[0] == "." and value.args and isinstance(value.args[0], Call):
        value = value.args[0]
    return isinstance(value, Call) and value.func.rsplit(".", 1)[-1][:1].isupper() and "." in value.func


def _input(name: str, recipe: Tensor) -> Input:
    return Input(name, array_code(recipe), recipe.dtype, recipe.layout, recipe.differentiable)


def _module_dtype(program: Program) -> str:
    """The type of the first floating input, of those that are differentiated if any is."""
    floats = [r for r in program.inputs.values() if r.dtype.startswith(("float", "bfloat", "complex"))]
    return next((r.dtype for r in sorted(floats, key=lambda r: not r.differentiable)), "float64")


def _widest(program: Program) -> str:
    """The widest real type of the inputs; that of its parts for a complex one."""
    dtypes = [r.dtype.replace("complex128", "float64").replace("complex64", "float32") for r in program.inputs.values()]
    return next((d for d in ("float64", "float32", "float16", "bfloat16") if d in dtypes), "float64")
