"""The text of a mismatch, and the script that shows it again."""

from __future__ import annotations

import inspect
import math
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradfuzz.oracles.check import Options
from gradfuzz.oracles.verdict import ACCURACY, Verdict
from gradfuzz.program.model import Program, Tensor
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.functions import BESIDE, Functions
from gradfuzz.testing.evidence import Evidence, Row
from gradfuzz.testing.function import Slot, Subject

MOST_NUMBERS = 200
# Of what a mode raised; the cause stands at the end.
MOST_CHARACTERS = 800
ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth"}


def mismatch(
    subject: Subject,
    verdict: Verdict,
    findings: Sequence[Verdict],
    evidence: Evidence | None,
    script: str,
    causes: Mapping[str, Any],
    element: str = "",
) -> str:
    """Which input, which element, what each way says with error bars, and the smallest failing example.

    `element`: where it is in the inputs that were given, if the example is smaller.
    """
    library = f"{subject.library.name} {subject.library.version}".strip()
    inputs = ", ".join(f"{n} {d}{list(a.shape)}" for n, a, d in zip(subject.names, subject.arrays, subject.dtypes))
    lines = [f"{title(subject.title, verdict)} ({library}; inputs {inputs})", ""]
    if verdict.oracle == "status":
        for found in [v for v in findings if v.oracle == "status"]:
            lines += [f"  {', '.join(found.names) or 'the direct run'} raised {line}" for line in cause(found, causes)]
        lines.append("")
    else:
        here = verdict.detail.get("element")
        reason = verdict.reason.replace(f"along {here}", f"along {element}", 1) if here and element else verdict.reason
        lines += [f"  {reason}", ""]
    if evidence is not None and evidence.rows:
        lines += table(evidence, verdict.order)
    elif verdict.oracle not in ("gradient", "status"):
        lines += [f"    expected  {verdict.expected}", f"    got       {verdict.actual}", ""]
    lines += ["  the smallest failing example:", ""]
    lines += ["    " + line for line in script.rstrip().splitlines()]
    return "\n".join(lines)


def title(function: str, verdict: Verdict) -> str:
    """What is wrong, in a line."""
    if not verdict.order:
        return f"{function} itself fails"
    derivative = f"the {ORDINALS[verdict.order]} derivative of {function}"
    if verdict.oracle == "status":
        return f"{derivative} raises in {', '.join(verdict.names)}"
    if verdict.oracle == "value":
        return f"the value of {function} changes under {', '.join(verdict.names)}"
    if any(s.way == BESIDE for s in verdict.scenarios):
        return f"the value of {function} that comes beside its gradient has another derivative (value_and_grad inside another derivative)"
    if verdict.oracle == "way":
        return f"{derivative} depends on how it is run"
    if verdict.kind == ACCURACY:
        return f"{derivative} is inaccurate ({digits(verdict)} digits); rtol= allows for what is approximate by design"
    return f"{derivative} is wrong"


def digits(verdict: Verdict) -> int:
    """How many digits of a derivative are right."""
    numeric = verdict.detail.get("numeric") or 0.0
    gap = abs(float(verdict.actual) - numeric)
    return int(-math.log10(gap / abs(numeric))) if gap and numeric and gap < abs(numeric) else 0


def cause(verdict: Verdict, causes: Mapping[str, Any]) -> list[str]:
    """What a mode raised: its type, the end of its message (where causes stand), and the line of code that it came from."""
    error = next((e for text, e in causes.items() if text[: len(verdict.reason)] == verdict.reason and verdict.reason), None)
    if error is None:
        return [_ending(verdict.reason)]
    frames = traceback.extract_tb(error.__traceback__)
    where = f"\n    at {frames[-1].filename}, line {frames[-1].lineno}: {frames[-1].line}" if frames else ""
    return [f"{type(error).__name__}: {_ending(str(error))}{where}"]


def _ending(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS // 4]} […] {text[-3 * MOST_CHARACTERS // 4 :]}"


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


def reproducer(subject: Subject, program: Program, options: Options, modes: Sequence[str] | None = None) -> str:
    """A script that runs the check again: the same inputs, of which the same are differentiated."""
    function, imported = _reference(subject)
    lines = [] if imported is None else [imported]
    for name, recipe in program.inputs.items():
        if name.isidentifier():
            lines.append(f"{name} = {array_text(recipe)}")
    arguments = [_argument_text(part, program, subject.library) for part in subject.template]
    settings = [f"order={options.order}"] if options.order > 1 else []
    if modes is not None:
        settings.append(f"modes={[modes] if isinstance(modes, str) else list(modes)!r}")
    moving = [name for name, recipe in program.inputs.items() if recipe.differentiable]
    if len(moving) < len(program.inputs):
        settings.append(f"wrt={moving!r}")
    settings.append(f"library={subject.library.name!r}" if subject.library.forward_mode else "library=adapter")
    if options.ways:
        settings.append(f"ways={list(options.ways)!r}")
    if options.own_rule:
        settings.append("own_rule=True")
    if any(subject.structures):
        settings.append(f"structure={[s for s, moves in zip(subject.structures, subject.moves) if moves]!r}")
    if subject.domain is not None:
        settings.append("domain=...")
    settings += [f"{name}={value!r}" for name, value in (("rtol", options.effort.rtol), ("atol", options.effort.atol)) if value]
    if options.salt:
        settings.append(f"seed={options.salt}")
    call = f"gradfuzz.check_gradients({', '.join([function, *arguments, *settings])})"
    return "\n".join(["import gradfuzz", "import numpy as np", *lines, call])


def _reference(subject: Subject) -> tuple[str, str | None]:
    """How a script names the function, and the line that imports it."""
    owner = getattr(subject.function, "__self__", None)
    if inspect.isclass(owner) and owner.__module__ != "__main__" and "<" not in owner.__qualname__:
        return f"{owner.__qualname__}.{subject.function.__name__}", f"from {owner.__module__} import {owner.__qualname__.split('.')[0]}"
    module, name = subject.library.home_of(subject.function), getattr(subject.function, "__qualname__", "")
    plain = getattr(subject.function, "__name__", "")  # a wrapper may have this of what it wraps, and the rest its own
    if plain.isidentifier() and getattr(sys.modules.get(module or ""), plain, None) is subject.function:
        name = plain
    if module and name.isidentifier() and module not in ("__main__", "builtins"):
        return name, f"from {module} import {name}"
    if module and "." in name and "<" not in name and module != "__main__" and inspect.isfunction(subject.function):
        return name, f"from {module} import {name.split('.')[0]}"
    shown = subject.title if subject.title.isidentifier() else "f"
    where = _where(subject.function) if not inspect.isclass(owner) else f"your {subject.title}"
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


def _argument_text(part: Any, program: Program, library: Functions) -> str:
    if isinstance(part, Slot):
        name, recipe = list(program.inputs.items())[part.index]
        return name if name.isidentifier() else array_text(recipe)
    if isinstance(part, list):
        return "[" + ", ".join(_argument_text(p, program, library) for p in part) + "]"
    if isinstance(part, tuple):
        return "(" + "".join(_argument_text(p, program, library) + ", " for p in part) + ")"
    if isinstance(part, dict):
        return "{" + ", ".join(f"{k!r}: {_argument_text(p, program, library)}" for k, p in part.items()) + "}"
    if isinstance(part, np.ndarray) or (library.owns(part) and library.plain(part)):
        array = np.asarray(part if isinstance(part, np.ndarray) else library.array(part))
        return f"np.array({array.tolist()!r}, dtype={str(array.dtype)!r})"
    return repr(part)
