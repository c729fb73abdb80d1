"""A whole module in one call: every derivative that somebody wrote, one line each."""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradfuzz.errors import GradfuzzError, TargetError
from gradfuzz.targets.base.handwritten import HandWritten
from gradfuzz.targets.homes import homes
from gradfuzz.testing.check import Agreement, GradientMismatch, InconclusiveWarning, check_gradients
from gradfuzz.testing.inputs import parse_input

RIGHT, UNKNOWN, WRONG, KNOWN, MENDED, NOT_CHECKED = "right", "inconclusive", "WRONG", "known", "mended", "not checked"
SECONDS = 60.0


@dataclass(frozen=True)
class Line:
    """What was seen of one function."""

    name: str
    outcome: str
    evaluations: int = 0
    reason: str = ""
    error: GradientMismatch | None = None


@dataclass(frozen=True)
class ModuleReport:
    """One line for each function."""

    module: str
    lines: tuple[Line, ...]

    @property
    def wrong(self) -> list[Line]:
        return [line for line in self.lines if line.outcome == WRONG]

    def __str__(self) -> str:
        width = max((len(line.name) for line in self.lines), default=0)
        rows = [
            f"  {line.name:{width}}  {line.outcome:12}  {line.evaluations:4d} evaluations  {line.reason}".rstrip() for line in self.lines
        ]
        return "\n".join([f"{self.module}: {len(self.lines)} functions, {len(self.wrong)} wrong", *rows])


class ModuleMismatch(AssertionError):
    """Some functions of a module have wrong gradients. The message is the table, then what is wrong with the first."""

    def __init__(self, report: ModuleReport) -> None:
        super().__init__(f"{report}\n\n{report.wrong[0].error}")
        self.report = report
        error = report.wrong[0].error
        self.reproducer = error.reproducer if error is not None else ""


def check_module(
    module: Any,
    inputs: Mapping[str, Sequence[Any]] | None = None,
    known: Mapping[str, str] | None = None,
    library: str | None = None,
    seconds: float = SECONDS,
    **options: Any,
) -> ModuleReport:
    """Check every function of a module or package that has a derivative of its own.

    - `inputs`: what a function is called with, by its name: tensors, arrays, or texts such as "float64[3, 4]"; a function that is named
      here is checked whether or not it has a rule of its own. Others are tried with plain tensors;
    - `library`: its name or an Adapter, where inputs do not tell; rules of other libraries are left alone then;
    - `known`: functions that are known to be wrong, with the reason: they are reported and do not fail; those that are right by now are;
    - `seconds`: for all together; `options` go to `check_gradients`.

    Raises ModuleMismatch with one line for each function if any is wrong.
    """
    name = module if isinstance(module, str) else str(module.__name__)
    given, known, end = dict(inputs or {}), dict(known or {}), time.monotonic() + seconds
    options["library"] = library
    lines = []
    for found, place in _functions(name, library, given).items():
        left = end - time.monotonic()
        if left <= 0:
            lines.append(Line(found, NOT_CHECKED, reason="no time was left; seconds= says how long it may take"))
            continue
        lines.append(_checked(found, place, given.get(found), known.get(found), {"seconds": left, **options}))
    unknown = sorted((set(given) | set(known)) - {line.name for line in lines})
    if unknown:
        raise GradfuzzError(f"{name} has no function {unknown[0]!r}; it has {', '.join(line.name for line in lines) or 'none'}")
    report = ModuleReport(name, tuple(lines))
    if report.wrong:
        raise ModuleMismatch(report)
    return report


def _functions(module: str, library: str | None, given: Mapping[str, Any]) -> dict[str, tuple[Any, HandWritten | None]]:
    """Functions by name: those with a rule of their own, and those that inputs are given for."""
    found: dict[str, tuple[Any, HandWritten | None]] = {}
    importlib.import_module(module)
    for name, home in homes().items():
        meant = name == library if library is not None else home.about["module"] in sys.modules
        if "handwritten" not in home.about or not meant:
            continue
        try:
            rules: HandWritten = home.part("handwritten")(module, lambda row: None)
        except TargetError:
            continue
        rules.find()
        for rule in rules.rules.values():
            if "<locals>" not in rule.name:
                found[rule.path.removeprefix(f"{module}.")] = (_resolved(rule.module, rule.name), rules)
    for name in given:
        if name not in found:
            try:
                found[name] = (_resolved(module, name), None)
            except AttributeError:
                continue
    return found


def _resolved(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _checked(
    name: str, place: tuple[Any, HandWritten | None], given: Sequence[Any] | None, known: str | None, options: dict[str, Any]
) -> Line:
    function, rules = place
    inputs: Sequence[Any] | None
    if given is not None:
        inputs = [parse_input(v, i).array(i) if isinstance(v, str) else v for i, v in enumerate(given)]
    else:
        inputs, said = _tried(function, rules)
    if inputs is None:
        return Line(name, NOT_CHECKED, reason=f"it takes no plain tensors{said}; say inputs={{...}}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconclusiveWarning)
            found: Agreement = check_gradients(function, *inputs, **options)
    except GradientMismatch as error:
        told = str(error).splitlines()[2].strip() if known is None else known
        return Line(name, WRONG if known is None else KNOWN, error.evaluations, told, error)
    except GradfuzzError as error:
        return Line(name, NOT_CHECKED, reason=str(error))
    if known is not None:
        return Line(name, MENDED, found.evaluations, f"no longer wrong, so it need not be known: {known}")
    return Line(name, RIGHT if found.conclusive else UNKNOWN, found.evaluations, "; ".join(found.reasons))


def _tried(function: Any, rules: HandWritten | None) -> tuple[Sequence[Any] | None, str]:
    """(plain tensors that a function takes, or None, and what it says to others)"""
    if rules is None:
        return None, ""
    try:
        parameters = rules.arguments(function)
    except (TypeError, ValueError) as error:
        return None, f" ({error})"
    return rules.accepted(function, parameters)
