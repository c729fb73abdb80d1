"""The script that proves a finding: it imports the library and NumPy alone, and exits 1 for as long as the bug is there.

What a script says is the target's own (its script.py.j2, with what all share from targets/base); what goes into it is the same for all: a
Program that has passed the gate, numbers, names that are nothing but names, and prose that is escaped. Nothing that a finding holds can
become code but its Program.

A script computes what the oracle has computed: along the same directions, drawn from the same stream of numbers, with the same steps.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from pathlib import Path

import jinja2

from gradfuzz.errors import ProgramError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.numpy_code import array_code
from gradfuzz.numdiff.ladder import FIRST_STEP
from gradfuzz.oracles.kinds import KINDS
from gradfuzz.oracles.trial import STREAM, start_of
from gradfuzz.program import Program, gate
from gradfuzz.program.model import Call, Expr, Let, Name, Ref, Tensor, rebuild, walk
from gradfuzz.program.text import expr_text, statement_text
from gradfuzz.targets import base
from gradfuzz.targets.base.widening import widened
from gradfuzz.targets.homes import Home, home_of

# A script's tolerance is a tenth of what was seen, and this at most: rounding of another release does not matter, the bug does.
MOST_TOLERANCE = 1e-6
# Lower precisions differ by more between releases. What the oracle calls wrong is sixteen of its bars away; this is two of them.
MOST_PRECISION_TOLERANCE = 0.05
OF_A_LOSS = 8
# Outputs of two releases may differ by this much where the oracle compares shapes and types alone.
VALUE_TOLERANCE = 1e-6
# Where the exact value is known, what is further off than this is no rounding of anybody's.
MOST_PROVEN_TOLERANCE = 1e-3


# An input, or a parameter of a module that the Program made; and an index behind it.
_INPUT = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_ELEMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)(\[[0-9, ]*\])\Z")
_SHARED = Path(base.__path__[0])
# What a line of a template binds, and what it includes; where a Program's own lines stand.
_BINDS = re.compile(r" *(?:def (\w+)\(|(?:for )?\(?((?:\*?\w+, )*\*?\w+)\)?,? (?:=|in) |import [\w.]+ as (\w+))")
_AROUND = ("", "def function", "def body")
_INCLUDED = re.compile(r'include "([\w.]+)"')
_WORD = re.compile(r"\w+")


WHOLE, WAY = "script.py.j2", "way.py.j2"  # a target may have a short script of its own for findings of ways


@lru_cache(maxsize=8)
def _template(home: Home, name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([home.folder, _SHARED]), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
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
    language = home.language(finding.modules)
    program = gate.check(finding.program, language)
    if not all(gate.is_plain(part) for module in finding.modules for part in module.split(".")):
        raise ProgramError("a module of the user's own has a name that is none")
    ways = [(s.name, s.way, list(s.modes)) for s in verdict.scenarios if s.way]
    short = ways and verdict.oracle != "process" and (home.folder / WAY).exists()
    template = WAY if short else WHOLE
    finding = _out_of_the_way(replace(finding, program=program), _bound(home, template))
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
        element=_element(finding),
        along=_along(finding),
        base=_base(finding),
        finer=_finer(finding),
        bare=isinstance(verdict.detail.get("direct"), str),
        proof=_proof(finding),
        tolerance=_tolerance(finding),
        value_tolerance=_value_tolerance(finding),
        first_step=_first_step(finding),
        dtype=_module_dtype(program),
        floatx=_widest(program),
        numeric=KINDS[verdict.kind].numeric and verdict.oracle != "precision",
        user_modules=finding.modules,
        limit=float(finding.limit),
    )


@lru_cache(maxsize=8)
def _bound(home: Home, template: str) -> frozenset[str]:
    """Names that a script binds or uses for its own ends: a Program's variables must not be called so."""
    loader = jinja2.FileSystemLoader([home.folder, _SHARED])
    found, waiting = {"np", "sys", "globals", "result", home.name}, [template]
    while waiting:
        source = loader.get_source(jinja2.Environment(), waiting.pop())[0]
        waiting += _INCLUDED.findall(source)
        inside = ""  # the function that a line is in; what helpers bind is theirs, and no Program's line is in them
        for line in source.splitlines():
            binds = _BINDS.match(line)
            inside = line.split("(")[0] if line.startswith("def ") else "" if line[:1] not in (" ", "", "{") else inside
            if binds and (line.startswith("def ") or inside in _AROUND):
                found.update(_WORD.findall(" ".join(filter(None, binds.groups()))))
    return frozenset(found)


def _out_of_the_way(finding: Finding, taken: frozenset[str]) -> Finding:
    """The finding with other names for what a script calls its own."""
    names = {name for s in finding.program.statements for name in s.names}
    other = {name: next(n for n in (name + "_" * k for k in count(1)) if n not in taken | names) for name in names & taken}
    if not other:
        return finding

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
    return sorted(space for space in spaces if not space.rsplit(".", 1)[-1][:1].isupper())


PROJECTIONS = {
    "symmetric": "(a + a.conj().swapaxes(-1, -2)) / 2",
    "positive_definite": "(a + a.conj().swapaxes(-1, -2)) / 2",
    "lower": "np.tril(a)",
    "upper": "np.triu(a)",
    "simplex": "a - a.mean(axis=-1, keepdims=True)",
}


def _structures(program: Program) -> list[tuple[str, str]]:
    """(input, code that projects a direction `a`, an array) for each structured input."""
    found = [(name, r) for name, r in program.inputs.items() if r.differentiable and r.structure]
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


def _element(finding: Finding) -> tuple[str, str] | None:
    """("x", "[0, 1]") of the element that a wrong derivative was narrowed down to."""
    element = finding.verdict.detail.get("element")
    match = _ELEMENT.match(element) if isinstance(element, str) else None
    return (match.group(1), match.group(2).replace("[]", "[()]")) if match else None


def _along(finding: Finding) -> list[tuple[str, int, str]]:
    """(input, element, number) for each entry of the direction along which it was seen; none where that is the next of the stream."""
    entries = finding.verdict.detail.get("along")
    found = []
    for name, index, real, imaginary in entries if isinstance(entries, list) else ():
        number = complex(float(real), float(imaginary))
        if not isinstance(name, str) or not _INPUT.match(name) or not math.isfinite(abs(number)):
            return []
        found.append((name, int(index), repr(number if number.imag else number.real)))
    return found


def _base(finding: Finding) -> list[str]:
    """The modes of the derivative that is differenced."""
    modes = finding.verdict.detail.get("base")
    below = max(0, finding.verdict.order - 1)
    return list(modes) if isinstance(modes, list) and len(modes) == below and set(modes) <= {"r", "f"} else ["r"] * below


@dataclass(frozen=True)
class Finer:
    """What the oracle has measured, and from where on a script's own ladder is too blurred beside it."""

    value: float
    error: float
    blurred: float


def _finer(finding: Finding) -> Finer | None:
    """The oracle's own numeric derivative; None where its checks do not agree on one."""
    verdict = finding.verdict
    numbers = (verdict.expected, verdict.actual, verdict.detail.get("numeric_error"))
    if not all(isinstance(n, (int, float)) and math.isfinite(n) for n in numbers):
        return None
    expected, actual, error = (float(n) for n in numbers if n is not None)
    gap = abs(expected - actual)
    return Finer(expected, min(error, gap / 20), gap / 4) if gap else None


def _value_tolerance(finding: Finding) -> float:
    """How far outputs may differ: what the oracle has found that rounding of the inputs explains."""
    bar = finding.verdict.error_bar
    usable = finding.verdict.oracle == "value" and isinstance(bar, (int, float)) and 0 <= bar < float("inf")
    return float(bar) if usable and bar is not None else VALUE_TOLERANCE


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
