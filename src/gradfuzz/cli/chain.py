"""`gradfuzz chain`: every chain of single-argument ops over two hundred decades of points."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from gradfuzz.cli.console import DEFAULT_STORE, FOUND, NOTHING_NEW, StoreOption, out, seconds
from gradfuzz.cli.display import PlainDisplay, status_line, watching
from gradfuzz.cli.where import EnvOption, PythonOption, place
from gradfuzz.engine.config import Config
from gradfuzz.engine.survey import State
from gradfuzz.errors import TargetError
from gradfuzz.findings.labels import NEWS
from gradfuzz.pool.launch import Launch
from gradfuzz.program.model import FLOATS
from gradfuzz.surveys.chains import ChainPlan, run_chains
from gradfuzz.targets.homes import home_of, known_targets

MAX_DEPTH = 4


def chain(
    target: Annotated[str, typer.Argument(help="The library: " + ", ".join(known_targets()) + ".")],
    depth: Annotated[int, typer.Option(min=1, max=MAX_DEPTH, help="How many ops deep: 1 each op alone, 2 all ordered pairs too.")] = 2,
    gradients: Annotated[bool, typer.Option("--gradients", help="Test the gradients of the gradients as well.")] = False,
    points: Annotated[
        int, typer.Option(min=2, max=100_000, help="Points from 1e-100 to 1e100, both signs; ordinary ones come on top.")
    ] = 20,
    op: Annotated[
        Optional[list[str]], typer.Option(help="Only ops that fit this glob, as in 'log*'; torch.sin in full is taken at its word.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="The precision: float64, float32.")] = "float64",
    only_wide: Annotated[bool, typer.Option("--only-wide", help="Leave out the ordinary points between 0.01 and 40.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what is tested, and every point that was looked at alone.")] = False,
    python: PythonOption = None,
    env: EnvOption = None,
    module: Annotated[Optional[list[str]], typer.Option(help="Also allow ops of this Python module of yours. It is trusted.")] = None,
    workers: Annotated[Optional[int], typer.Option(min=1, max=256, help="Worker processes; one per core by default.")] = None,
    store: StoreOption = DEFAULT_STORE,
    timeout: Annotated[str, typer.Option(help="How long one chain may take.")] = "10s",
) -> None:
    """Sweep every single-argument op, every ordered pair of them, and their gradients over points from 1e-100 to 1e100.

    The ops are found by looking at the library. Where AD and finite differences differ, the step is decreased and the check is rerun
    many times; only a majority makes a finding. What overflows or underflows is not called a bug.

    Exit status: 0 nothing new, 1 findings, 2 wrong use or broken set-up.
    """
    home_of(target)  # raises for a name that is none
    if dtype not in FLOATS:
        raise TargetError(f"unknown dtype {dtype!r}; use one of {', '.join(FLOATS)}")
    paths = (os.getcwd(),) if module else ()
    where = place(python, env, target)
    launch = Launch(target, where.python, tuple(module or ()), paths, seconds(timeout), variables=where.variables)
    config = Config(launch, seconds=None, order=2 if gradients else 1, workers=workers or os.cpu_count() or 1)
    plan = ChainPlan(depth, gradients, points, dtype, tuple(op or ()), not only_wide)
    with Verbose(gradients) if verbose else watching() as display:
        state = run_chains(config, plan, store, display)
    closing(state, store)


def closing(state: State, store: Path) -> None:
    """The last lines, and the exit status."""
    out.print(status_line(state), markup=False)
    for reason, count in state.reasons.most_common(12):
        out.print(f"  {count:8d} inconclusive: {reason}", markup=False)
    new = [f for f in state.findings if f.label_name in NEWS]
    owner = {"op": "one op", "composition": "the composition"}
    blamed = ", ".join(f"{count} disagreements were {owner[kind]}'s" for kind, count in state.blamed.items())
    known = f"{len(state.findings)} findings, {len(new)} of them not on the list of known ones"
    out.print(known + (f"; {blamed}" if blamed else ""), markup=False)
    if state.findings:
        where = f" --store {store}" if store != DEFAULT_STORE else ""
        out.print(f"gradfuzz findings{where} lists them", markup=False)
    raise typer.Exit(FOUND if new else NOTHING_NEW)


class Verbose(PlainDisplay):
    """Everything: what is tested, and every point that was looked at alone."""

    def __init__(self, gradients: bool) -> None:
        super().__init__()
        self.gradients = gradients

    def row(self, name: str, row: dict[str, Any]) -> None:
        for order in (1, 2) if self.gradients else (1,):
            form = shown(name, order)
            self.say(f"Testing gradient of {form}")
            for seen in row["looked_at"]:
                if (seen["order"] or 1) == order:
                    self.say(judged(form, seen))


def shown(name: str, order: int) -> str:
    """y = _identity(sin(x)) or _chain(sin(exp(x))); its gradient is y = _gradient(…)."""
    if order > 1:
        return f"y = _gradient({name})"
    return f"y = {'_chain' if name.count('(') > 1 else '_identity'}({name})"


def judged(form: str, seen: dict[str, Any]) -> str:
    """One point that was looked at alone."""
    if seen["outcome"] == "disagree" and seen["error"] is not None:
        tolerance = seen["tolerance"] if seen["tolerance"] is not None else 0.0
        line = f"For {form} point {seen['x']:.3e}, gradient error was {seen['error']:.3e} at tolerance {tolerance:.3e}"
        return f"{line} ({seen['reason']})"
    return f"For {form} point {seen['x']:.3e}, {seen['outcome']}: {seen['reason'] or 'all ways agree'}"
