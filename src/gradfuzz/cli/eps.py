"""`gradfuzz eps`: the error of the central difference against its step, as a picture."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from gradfuzz.cli.console import out
from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.homes import default_target, homes
from gradfuzz.testing.inputs import parse_input
from gradfuzz.testing.library import pick
from gradfuzz.testing.step_curve import png, step_curve


def eps(
    function: Annotated[str, typer.Argument(help="The function: torch.sin, jax.numpy.tanh, or your own as module:function.")],
    input: Annotated[
        Optional[list[str]], typer.Option(help='An input, as in "x: float64[3, 4]". May be given again. One number by default.')
    ] = None,
    library: Annotated[
        Optional[str], typer.Option(help="torch, jax, tensorflow or autograd; by default what the name starts with, else torch.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses the numbers and the direction.")] = 0,
    to: Annotated[Path, typer.Option("--out", help="The PNG to write.")] = Path("eps.png"),
) -> None:
    """Plot the error of the central difference against the step.

    Too small a step drowns in rounding, too large a one in truncation: a U with its bottom near the cube root of the rounding unit.
    """
    called = find_function(function)
    name = library or owner(function)
    inputs = [parse_input(text, i) for i, text in enumerate(input or ["x: float64"])]
    chosen = pick(name, ())
    with chosen.session():
        tensors: list[Any] = [chosen.tensor(item.array(seed + i + 1), item.dtype) for i, item in enumerate(inputs)]
    curve = step_curve(called, *tensors, library=name, seed=seed)
    try:
        to.write_bytes(png(curve))
    except OSError as error:
        raise GradfuzzError(f"--out {to}: {error.strerror}") from None
    step, error_there = curve.best
    out.print(f"smallest error {error_there:.1e} at step {step:.1e}", markup=False)
    out.print(f"step that gradfuzz takes first: {curve.chosen:.1e}; theoretical optimum δ^(1/3): {curve.optimum:.1e}", markup=False)
    out.print(f"wrote {to}", markup=False)


def owner(function: str) -> str:
    """The library that a dotted name starts with; else the one that is meant where nobody says."""
    root = function.replace(":", ".").split(".")[0]
    return next((name for name, home in homes().items() if home.about["module"] == root), default_target())


def find_function(path: str) -> Callable[..., Any]:
    """The function behind `module:function` or a dotted name."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    module, colon, attribute = path.partition(":")
    if not colon:
        module, _, attribute = path.rpartition(".")
    try:
        found: Any = importlib.import_module(module) if module else None
    except ImportError as error:
        raise GradfuzzError(f"{path}: {error}; write it as torch.sin or module:function") from None
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise GradfuzzError(f"{path}: there is no such function; write it as torch.sin or module:function")
    return found  # type: ignore[no-any-return]
