"""`gradfuzz chain`: every chain of single-argument ops over two hundred decades of points."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any, Optional

import typer

from gradfuzz.campaign.chains import ChainPlan, run_chains
from gradfuzz.campaign.config import Config
from gradfuzz.campaign.launch import Launch
from gradfuzz.campaign.survey import Tally
from gradfuzz.cli.console import FOUND, NOTHING_NEW, out, seconds, shown_time
from gradfuzz.cli.display import PLAIN_EVERY, label_of
from gradfuzz.cli.run import DEFAULT_STORE, StoreOption
from gradfuzz.errors import TargetError
from gradfuzz.program import known_targets
from gradfuzz.program.model import FLOATS

MAX_DEPTH = 4


def chain(
    target: Annotated[str, typer.Argument(help="The library: " + ", ".join(known_targets()) + ".")],
    depth: Annotated[int, typer.Option(min=1, max=MAX_DEPTH, help="How many ops deep: 1 each op alone, 2 all ordered pairs too.")] = 2,
    gradients: Annotated[bool, typer.Option("--gradients", help="Test the gradients of the gradients as well.")] = False,
    points: Annotated[int, typer.Option(min=2, help="Points from 1e-100 to 1e100, both signs; ordinary ones come on top.")] = 20,
    op: Annotated[
        Optional[list[str]], typer.Option(help="Only ops that fit this glob, as in 'log*'; torch.sin in full is taken at its word.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="The precision: float64, float32.")] = "float64",
    only_wide: Annotated[bool, typer.Option("--only-wide", help="Leave out the ordinary points between 0.01 and 40.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what is tested, and every point that was looked at alone.")] = False,
    python: Annotated[Optional[str], typer.Option(help="The interpreter that has the library.")] = None,
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
    if target not in known_targets():
        raise TargetError(f"unknown target {target!r}; known targets: {', '.join(known_targets())}")
    if dtype not in FLOATS:
        raise TargetError(f"unknown dtype {dtype!r}; use one of {', '.join(FLOATS)}")
    paths = (os.getcwd(),) if module else ()
    launch = Launch(target, python or sys.executable, tuple(module or ()), paths, seconds(timeout))
    config = Config(launch, seconds=None, order=2 if gradients else 1, workers=workers or os.cpu_count() or 1)
    plan = ChainPlan(depth, gradients, points, dtype, tuple(op or ()), not only_wide)
    listener = Lines(gradients, verbose)
    tally = run_chains(config, plan, store, listener, say)
    closing(tally, "chains", "points", (store != DEFAULT_STORE and f" --store {store}") or "")


def say(text: str) -> None:
    out.print(text, markup=False)


def closing(tally: Tally, items: str, things: str, where: str) -> None:
    """The last lines, and the exit status."""
    say(status(tally, items, things))
    for reason, count in tally.reasons.most_common(12):
        say(f"  {count:8d} inconclusive: {reason}")
    new = [d for d in tally.findings if label_of(d) == "new"]
    owner = {"op": "one op", "composition": "the composition"}
    blamed = ", ".join(f"{count} disagreements were {owner[kind]}'s" for kind, count in tally.blamed.items())
    say(f"{len(tally.findings)} findings, {len(new)} of them not on the list of known ones" + (f"; {blamed}" if blamed else ""))
    if tally.findings:
        say(f"gradfuzz findings{where} lists them")
    raise typer.Exit(FOUND if new else NOTHING_NEW)


def status(tally: Tally, items: str, things: str) -> str:
    counts = ", ".join(f"{count} {outcome}" for outcome, count in tally.counts.most_common())
    total = f" of {tally.planned}" if tally.planned else ""
    return (
        f"{tally.done}{total} {items} in {shown_time(tally.seconds)}, {things}: {counts or 'none yet'}; "
        f"{len(tally.findings)} findings, {tally.waiting} being confirmed"
    )


class Lines:
    """What is printed as a sweep goes: progress and findings, or everything."""

    def __init__(self, gradients: bool, verbose: bool, say: Callable[[str], None] = say) -> None:
        self.gradients, self.verbose, self.say = gradients, verbose, say
        self.last = time.monotonic()

    def row(self, name: str, row: dict[str, Any]) -> None:
        if not self.verbose:
            return
        for order in (1, 2) if self.gradients else (1,):
            form = shown(name, order)
            self.say(f"Testing gradient of {form}")
            for seen in row["looked_at"]:
                if (seen["order"] or 1) == order:
                    self.say(judged(form, seen))

    def found(self, document: dict[str, Any]) -> None:
        self.say(f"found {document['id']}: {document['api']}: {document['title']} [{label_of(document)}]")

    def died(self, name: str, cause: str) -> None:
        self.say(f"y = {name}: the worker {'did not come back' if cause == 'timeout' else 'died: ' + cause}")

    def tick(self, tally: Tally) -> None:
        if time.monotonic() - self.last >= PLAIN_EVERY:
            self.last = time.monotonic()
            self.say(status(tally, "chains", "points"))


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
