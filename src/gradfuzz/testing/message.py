"""The text of a mismatch, and the script that shows it again."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np

from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program.model import Program, Tensor
from gradfuzz.program.values import materialise
from gradfuzz.testing.evidence import Evidence, Row
from gradfuzz.testing.function import Slot, Subject

MOST_NUMBERS = 200
ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth"}


def mismatch(subject: Subject, first: Verdict, verdict: Verdict, evidence: Evidence | None, script: str, fixed: list[str]) -> str:
    """Which input, which element, what each way says with error bars, and the smallest failing example."""
    library = f"{subject.library.name} {subject.library.version}".strip()
    inputs = ", ".join(f"{n} {d}{list(a.shape)}" for n, a, d in zip(subject.names, subject.arrays, subject.dtypes))
    what = f"the {ORDINALS[verdict.order]} derivative of {subject.title} is wrong" if verdict.order else f"{subject.title} itself fails"
    if verdict.oracle == "way":
        what = f"the {ORDINALS[verdict.order]} derivative of {subject.title} depends on how it is run"
    lines = [f"{what} ({library}; inputs {inputs})", ""]
    lines += [f"  {first.reason}", ""]
    if evidence is not None and evidence.rows:
        lines += table(evidence, verdict.order)
    elif verdict.oracle != "gradient":
        lines += [f"    expected  {verdict.expected}", f"    got       {verdict.actual}", ""]
    lines += ["  the smallest failing example:", ""]
    lines += ["    " + line for line in script.rstrip().splitlines()]
    if fixed:
        lines += ["", f"  (here only the other inputs are differentiated, {', '.join(fixed)} stays as it is)"]
    return "\n".join(lines)


def table(evidence: Evidence, order: int) -> list[str]:
    """One line for each entry of the derivative: what each way says; the numeric derivative with its error bar."""
    ways = list(evidence.rows[0].numbers)
    header = ["derivative by", *ways, "numeric", "error bar", ""]
    body = [_cells(row, ways) for row in evidence.rows]
    widths = [max(len(line[i]) for line in [header, *body]) for i in range(len(header))]
    lines = [f"  the derivative of {evidence.quantity}, in the smallest failing example:", ""]
    lines += ["    " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in [header, *body]]
    if evidence.left_out:
        lines.append(f"    … and {evidence.left_out} more elements")
    return [*lines, ""]


def _cells(row: Row, ways: list[str]) -> list[str]:
    mark = f"<- {', '.join(row.wrong)} wrong" if row.wrong else ""
    return [row.element, *(_shown(row.numbers[w]) for w in ways), _shown(row.numeric), f"{row.bar:.1e}", mark]


def _shown(number: float) -> str:
    return f"{number:.10g}"


def reproducer(subject: Subject, program: Program, options: Options) -> str:
    """A script that runs the check again on the given inputs."""
    function, imported = _reference(subject)
    lines = [] if imported is None else [imported]
    for name, recipe in program.inputs.items():
        if name.isidentifier():
            lines.append(f"{name} = {array_text(recipe)}")
    arguments = [_argument_text(part, program) for part in subject.template]
    settings = [f"order={options.order}"] if options.order > 1 else []
    if subject.library.forward_mode and options.scenarios is not None:
        settings.append(f"modes={sorted(s.name for s in options.scenarios)!r}")
    settings.append(f"library={subject.library.name!r}" if subject.library.forward_mode else "library=adapter")
    if options.ways:
        settings.append(f"ways={list(options.ways)!r}")
    if options.own_rule:
        settings.append("own_rule=True")
    if any(subject.structures):
        settings.append(f"structure={subject.structures!r}")
    if options.salt:
        settings.append(f"seed={options.salt}")
    call = f"gradfuzz.check_gradients({', '.join([function, *arguments, *settings])})"
    return "\n".join(["import gradfuzz", "import numpy as np", *lines, call])


def _reference(subject: Subject) -> tuple[str, str | None]:
    """How a script names the function, and the line that imports it."""
    module, name = getattr(subject.function, "__module__", None), getattr(subject.function, "__qualname__", "")
    if module and name.isidentifier() and module not in ("__main__", "builtins"):
        return name, f"from {module} import {name}"
    if module and "." in name and "<" not in name and module != "__main__" and inspect.isfunction(subject.function):
        return name, f"from {module} import {name.split('.')[0]}"
    shown = subject.title if subject.title.isidentifier() else "f"
    where = _where(subject.function)
    return shown, f"{shown} = ...  # {where}"


def _where(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}, line {code.co_firstlineno}" if code is not None else f"your {type(function).__name__}"


def array_text(recipe: Tensor) -> str:
    """The recipe's numbers as a NumPy expression."""
    array = materialise(recipe)
    if array.size > MOST_NUMBERS:
        return f"...  # {recipe.dtype}{list(recipe.shape)}, too long to print; see GradientMismatch.example"
    listed = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(array.tolist()))
    empty = f".reshape({array.shape})" if not array.size else ""
    return f"np.array({listed}{'' if recipe.dtype == 'float64' else f', dtype={recipe.dtype!r}'}){empty}"


def _argument_text(part: Any, program: Program) -> str:
    if isinstance(part, Slot):
        name, recipe = list(program.inputs.items())[part.index]
        return name if name.isidentifier() else array_text(recipe)
    if isinstance(part, list):
        return "[" + ", ".join(_argument_text(p, program) for p in part) + "]"
    if isinstance(part, tuple):
        return "(" + "".join(_argument_text(p, program) + ", " for p in part) + ")"
    if isinstance(part, dict):
        return "{" + ", ".join(f"{k!r}: {_argument_text(p, program)}" for k, p in part.items()) + "}"
    if isinstance(part, np.ndarray):
        return f"np.array({part.tolist()!r})"
    return repr(part)
