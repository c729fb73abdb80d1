"""The script that proves a finding: it imports the library and NumPy alone, and exits 1 for as long as the bug is there.

What a script says is the target's own (its script.py.j2); what goes into it is the same for all: a Program that has passed the gate,
numbers, names that are nothing but names, and prose that is escaped. Nothing that a finding holds can become code but its Program.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import jinja2

from gradfuzz.errors import ProgramError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.numpy_code import array_code
from gradfuzz.numdiff.ladder import FIRST_STEP
from gradfuzz.oracles.kinds import KINDS
from gradfuzz.program import Program, gate
from gradfuzz.program.model import Call, Let, Name, Ref, Tensor, walk
from gradfuzz.program.text import expr_text, statement_text
from gradfuzz.targets import base
from gradfuzz.targets.homes import Home, home_of

# A script's tolerance is a tenth of what was seen, and this at most: rounding of another release does not matter, the bug does.
MOST_TOLERANCE = 1e-6
# Lower precisions differ by more between releases. What the oracle calls wrong is sixteen of its bars away; this is two of them.
MOST_PRECISION_TOLERANCE = 0.05
OF_A_LOSS = 8
# Where the exact value is known, what is further off than this is no rounding of anybody's.
MOST_PROVEN_TOLERANCE = 1e-3


# An input, or a parameter of a module that the Program made, and an index.
_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)(\[[0-9, ]*\])\Z")


WHOLE, WAY = "script.py.j2", "way.py.j2"  # a target may have a short script of its own for findings of ways
SHARED = Path(base.__file__).parent  # templates that targets extend


@lru_cache(maxsize=8)
def _template(home: Home, name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([home.folder, SHARED]), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined, autoescape=False,
    )  # fmt: skip
    environment.filters["prose"] = prose
    return environment.get_template(name)


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
    program = gate.check(finding.program, home.language(finding.modules))
    if not all(gate.is_plain(part) for module in finding.modules for part in module.split(".")):
        raise ProgramError("a module of the user's own has a name that is none")
    differentiable = [name for name, r in program.inputs.items() if r.differentiable]
    fixed = [name for name, r in program.inputs.items() if not r.differentiable]
    # What is computed last is the output, whatever it looks like.
    constructors = [s for s in program.statements[:-1] if _is_constructor(s, fixed)]
    calls = [s for s in program.statements if not isinstance(s.value, Tensor) and not any(s is c for c in constructors)]
    last = calls[-1]
    ways = [(s.name, s.way, list(s.modes)) for s in verdict.scenarios if s.way]
    short = ways and verdict.oracle != "process" and (home.folder / WAY).exists()
    return _template(home, WAY if short else WHOLE).render(
        finding=finding,
        title=home.title,
        verdict=verdict,
        inputs=[_input(name, recipe) for name, recipe in program.inputs.items()],
        differentiable=differentiable,
        fixed=fixed,
        constructors=[statement_text(s) for s in constructors],
        modules=[s.names[0] for s in constructors],
        body=[statement_text(s if s.names or s is not last else Let(("result",), s.value)) for s in calls],
        result=last.names[0] if len(last.names) == 1 else "(" + ", ".join(last.names) + ")" if last.names else "result",
        scenarios=[(s.name, list(s.modes)) for s in verdict.scenarios if not s.way],
        ways=ways,
        call=_only_call(program),
        imports=_imports(program),
        structures=_structures(program, str(home.about.get("arrays", "np"))),
        element=_element(finding),
        proof=_proof(finding),
        tolerance=_tolerance(finding),
        first_step=_first_step(finding),
        dtype=_module_dtype(program),
        numeric=KINDS[verdict.kind].numeric and verdict.oracle != "precision",
        user_modules=finding.modules,
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


def _imports(program: Program) -> list[str]:
    """The modules of the functions that are called or passed: a submodule need not be there before it is imported."""
    paths = {node.func if isinstance(node, Call) else node.path for node in program.expressions() if isinstance(node, (Call, Name))}
    spaces = {path.rsplit(".", 1)[0] for path in paths if "." in path.strip(".")}
    return sorted(space for space in spaces if not space.rsplit(".", 1)[-1][:1].isupper())


PROJECTIONS = {
    "symmetric": "(a + a.conj().swapaxes(-1, -2)) / 2",
    "positive_definite": "(a + a.conj().swapaxes(-1, -2)) / 2",
    "lower": "{arrays}.tril(a)",
    "upper": "{arrays}.triu(a)",
    "simplex": "a - a.mean(axis=-1, keepdims=True)",
}


def _structures(program: Program, arrays: str) -> list[tuple[str, str]]:
    """(input, code that projects a direction `a`) for each structured input; `arrays` is what the script calls NumPy's like."""
    found = [(name, r) for name, r in program.inputs.items() if r.differentiable and r.structure]
    square = [(name, r) for name, r in found if r.structure == "simplex" or (len(r.shape) > 1 and r.shape[-1] == r.shape[-2])]
    return [(name, PROJECTIONS[str(r.structure)].format(arrays=arrays)) for name, r in square if r.shape]


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
    floats = [r.dtype for r in program.inputs.values() if r.dtype.startswith(("float", "bfloat", "complex"))]
    return floats[0] if floats else "float64"


def _element(finding: Finding) -> tuple[str, str] | None:
    """("x", "[0, 1]") of the element that a wrong derivative was narrowed down to."""
    element = finding.verdict.detail.get("element")
    match = _ELEMENT.match(element) if isinstance(element, str) else None
    return (match.group(1), match.group(2).replace("[]", "[()]")) if match else None


@dataclass(frozen=True)
class Entry:
    """A proven derivative as a script needs it: places as numbers, the exact value as code."""

    what: str
    exact: str
    enclosure: str
    output: tuple[int, int, str]  # which output, which element, and the unit along it
    along: list[tuple[int, int, str]]


def _proof(finding: Finding) -> Entry | None:
    """The proven entry; None where there is none, or where its places are no places."""
    proof = finding.proof
    if proof is None or not finding.proven or len(proof.spots) != 2 or any(s.way for s in finding.verdict.scenarios):
        return None
    output, alongs = proof.spots
    if len(alongs) != finding.verdict.order or any(len(spot) != 3 for spot in (output, *alongs)):
        return None
    unit = ("1.0", "1j")
    places = [(int(k), int(i), unit[bool(part)]) for k, i, part in (output, *alongs)]
    return Entry(proof.what, proof.number, proof.enclosure, places[0], places[1:])


def _first_step(finding: Finding) -> float:
    """The longest step of the ladder that saw the bug, in units of the inputs."""
    step = finding.verdict.detail.get("first_step")
    return float(step) if isinstance(step, (int, float)) and 0 < step < float("inf") else FIRST_STEP


def _tolerance(finding: Finding) -> float:
    expected, actual = finding.verdict.expected, finding.verdict.actual
    if finding.proof is not None and finding.proven:
        numbers = [v for k, v in (finding.proof.got or {}).items() if k in finding.proof.wrong and isinstance(v, (int, float))]
        exact = float(finding.proof.number)
        gaps = [abs(v - exact) / abs(exact) for v in numbers if math.isfinite(v)] if exact else []
        return min(MOST_PROVEN_TOLERANCE, *(gap / 10 for gap in gaps)) if gaps else MOST_PROVEN_TOLERANCE
    most, share = (MOST_PRECISION_TOLERANCE, OF_A_LOSS) if finding.verdict.oracle == "precision" else (MOST_TOLERANCE, 10)
    if not isinstance(expected, (int, float)) or not isinstance(actual, (int, float)) or actual != actual:
        return most
    size = max(abs(expected), abs(actual))
    return min(most, abs(expected - actual) / size / share) if 0 < size < float("inf") else most
