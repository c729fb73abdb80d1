"""Making an environment: in a temporary folder that gets its name once everything is in it and works."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from gradfuzz.envs.environment import Environment, checked_name, environment, environments_folder
from gradfuzz.envs.install import InstallError, Steps, install, make_venv
from gradfuzz.envs.pythons import Python
from gradfuzz.envs.recipe import Recipe
from gradfuzz.errors import GradfuzzError
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.pool.scratch import Scratch

SMOKE_LIMIT = 120.0


def default_name(recipe: Recipe) -> str:
    return f"{recipe.target}-{recipe.version}"


def told(recipe: Recipe, python: Python, folder: Path) -> list[str]:
    """What will be installed where, and why, before it is."""
    lines = [f"{recipe.requirement} with Python {python.minor} ({python.path}) into {folder}"]
    lines += [f"  {requirement}: {why}" for requirement, why in recipe.needs.items()]
    if recipe.note:
        lines.append(f"  {recipe.note}")
    if recipe.alone:
        lines.append(f"  without the dependencies that it declares: {recipe.alone}")
    return lines


def add(recipe: Recipe, python: Python, name: str, indexes: Sequence[str], steps: Steps) -> Environment:
    """Make an environment and remember it. Whatever goes wrong, and whenever: nothing half-made has its name."""
    final = environments_folder() / checked_name(name)
    if final.exists():
        raise GradfuzzError(f"there is an environment {name} already; remove it with `gradfuzz env remove {name}`, or give another --name")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GradfuzzError(f"{final.parent} cannot be made ({error.strerror}); set GRADFUZZ_ENVS to a folder that can") from None
    with closing(Scratch(final.parent)) as scratch:
        made = scratch.path / "env"
        steps.step("making an environment")
        make_venv(python, made, steps)
        for command in recipe.commands:
            steps.step("installing " + " ".join(part for part in command if not part.startswith("-")))
            install(made, command, python, indexes, steps)
        steps.step("trying it out")
        found = smoke_tested(Environment(name, recipe.target, "", "", (), recipe.variables, _now(), 0, (), made))
        replace(found, requirements=_frozen(found), size=_size(made)).write()
        os.rename(made, final)
    return environment(name)


def smoke_tested(found: Environment) -> Environment:
    """The environment with what its library says of itself: its release, and the scenarios that work."""
    with Pool(Launch(found.target, found.python, variables=found.settings), 1) as pool:
        event = pool.run("about", limit=SMOKE_LIMIT)
    if event.kind != "done" or "failed" in event.data:
        raise InstallError(f"{found.target} was installed and does not work: {event.data.get('failed') or event.data.get('cause')}")
    about = event.data
    return replace(found, version=str(about["version"]), python_version=str(about["python"]), scenarios=tuple(about["scenarios"]))


def _frozen(found: Environment) -> tuple[str, ...]:
    """What is installed, as requirements."""
    command = [found.python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        return tuple(f"{row['name']}=={row['version']}" for row in json.loads(done.stdout))
    except (ValueError, KeyError, TypeError):
        return ()


def _size(folder: Path) -> int:
    return sum(f.lstat().st_blocks * 512 for f in folder.rglob("*"))


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
