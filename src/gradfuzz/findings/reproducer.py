"""The script that proves a finding: it imports the library and NumPy alone, and exits 1 for as long as the bug is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from gradfuzz.findings.numpy_code import array_code
from gradfuzz.program import Program, from_json
from gradfuzz.program.model import Call, Let, Name, Ref, Tensor, walk
from gradfuzz.program.text import statement_text
from gradfuzz.targets.protocol import nestings, scenario_name

_TEMPLATES = Path(__file__).with_name("templates")
_environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_TEMPLATES), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    undefined=jinja2.StrictUndefined, autoescape=False,
)  # fmt: skip

MODES = {scenario_name(m): m for order in range(0, 5) for m in nestings(order)}
NUMERIC_KINDS = ("gradient", "accuracy", "kink", "nonfinite")
DOUBLE = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}


@dataclass
class Input:
    """One tensor of the script."""

    name: str
    code: str
    dtype: str
    layout: str
    differentiable: bool


def reproducer(target: str, document: dict[str, Any]) -> str:
    """The script's text for a finding's document."""
    program = from_json(document["program"])
    differentiable = [name for name, r in program.inputs.items() if r.differentiable]
    fixed = [name for name, r in program.inputs.items() if not r.differentiable]
    # What is computed last is the output, whatever it looks like.
    constructors = [s for s in program.statements[:-1] if _is_constructor(s, fixed)]
    modules = [s.names[0] for s in constructors]
    calls = [s for s in program.statements if not isinstance(s.value, Tensor) and not any(s is c for c in constructors)]
    last = calls[-1]
    return _environment.get_template(f"{target}.py.j2").render(
        finding=document,
        inputs=[_input(name, recipe) for name, recipe in program.inputs.items()],
        differentiable=differentiable,
        fixed=fixed,
        constructors=[statement_text(s) for s in constructors],
        modules=modules,
        body=[statement_text(s if s.names or s is not last else Let(("result",), s.value)) for s in calls],
        result=last.names[0] if len(last.names) == 1 else "(" + ", ".join(last.names) + ")" if last.names else "result",
        scenarios=[(name, list(MODES[name])) for name in document["scenarios"] if name in MODES],
        variants=[_variant(name) for name in document["scenarios"] if name not in MODES],
        imports=_imports(program),
        structures=_structures(program),
        element=_element(document, program),
        tolerance=_tolerance(document),
        dtype=_module_dtype(program),
        numeric=document["kind"] in NUMERIC_KINDS and document["oracle"] != "precision",
        user_modules=document.get("modules", []),
    )


def _variant(name: str) -> tuple[str, str, list[str]]:
    """("batched reverse", "batched", ["r"]) of a scenario that runs in a variant."""
    variant, _, scenario = name.partition(" ")
    return name, variant, list(MODES.get(scenario, ()))


def _imports(program: Program) -> list[str]:
    """The modules of the functions that are called or passed: a submodule need not be there before it is imported."""
    paths = {node.func if isinstance(node, Call) else node.path for node in program.expressions() if isinstance(node, (Call, Name))}
    spaces = {path.rsplit(".", 1)[0] for path in paths if "." in path.strip(".")}
    return sorted(space for space in spaces if not space.rsplit(".", 1)[-1][:1].isupper() and not space.endswith("_p"))


PROJECTIONS = {
    "symmetric": "(a + a.conj().swapaxes(-1, -2)) / 2",
    "positive_definite": "(a + a.conj().swapaxes(-1, -2)) / 2",
    "lower": "jnp.tril(a)",
    "upper": "jnp.triu(a)",
    "simplex": "a - a.mean(axis=-1, keepdims=True)",
}


def _structures(program: Program) -> list[tuple[str, str]]:
    """(input, code that projects a direction `a`) for each structured input of a script whose arrays have NumPy's methods."""
    found = [(name, r) for name, r in program.inputs.items() if r.differentiable and r.structure]
    square = [(name, r) for name, r in found if r.structure == "simplex" or (len(r.shape) > 1 and r.shape[-1] == r.shape[-2])]
    return [(name, PROJECTIONS[str(r.structure)]) for name, r in square if r.shape]


def _is_constructor(statement: Let, fixed: list[str]) -> bool:
    """`m = torch.nn.Linear(…)`, perhaps with `.eval()` behind it, is made once, outside the function.

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


def _element(document: dict[str, Any], program: Program) -> tuple[str, str] | None:
    """("x", "[0, 1]") of the element that a wrong derivative was narrowed down to."""
    element = (document.get("detail") or {}).get("element")
    if not element or "[" not in element:
        return None
    name, _, index = element.partition("[")
    return name, "[" + (index if index != "]" else "()]")


def _tolerance(document: dict[str, Any]) -> float:
    """A tenth of what was seen, so that rounding of another release does not matter and the bug does; 1e-6 at most."""
    expected, actual = document["expected"], document["actual"]
    if document["kind"] == "precision":
        return 0.05
    if not isinstance(expected, (int, float)) or not isinstance(actual, (int, float)) or actual != actual:
        return 1e-6
    size = max(abs(expected), abs(actual))
    return min(1e-6, abs(expected - actual) / size / 10) if 0 < size < float("inf") else 1e-6
