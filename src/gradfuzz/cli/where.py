"""Which interpreter has the library: `--python`, `--env`, or the one that runs gradfuzz."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Optional

import typer

from gradfuzz.envs.environment import environment
from gradfuzz.errors import GradfuzzError

PythonOption = Annotated[Optional[str], typer.Option("--python", help="The interpreter that has the library.")]
EnvOption = Annotated[Optional[str], typer.Option("--env", help="An environment of `gradfuzz env add`, in the place of --python.")]


@dataclass(frozen=True)
class Place:
    """An interpreter, and what its processes find in their environment."""

    python: str
    variables: tuple[tuple[str, str], ...] = ()
    said: bool = False  # whether the user named it


def place(python: str | None, env: str | None, target: str | None = None) -> Place:
    """What the user means. It comes from the command line or from the user's own environments, never from a store."""
    if python is not None and env is not None:
        raise GradfuzzError("--python and --env both name an interpreter; leave one of them out")
    if env is None:
        return Place(python or sys.executable, said=python is not None)
    found = environment(env)
    if target is not None and found.target != target:
        raise GradfuzzError(f"--env {env}: it has {found.target}, not {target}")
    return Place(found.python, found.settings, said=True)
