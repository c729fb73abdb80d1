"""The command line: one module per command, registered here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Optional

import typer

from gradfuzz import __version__
from gradfuzz.cli import (
    accuracy,
    bisect,
    bugs,
    chain,
    check,
    coverage,
    cross,
    env,
    eps,
    explain,
    findings,
    fuzz_function,
    graphs,
    judge,
    merge,
    nightly,
    record,
    replay,
    report,
    run,
    scan,
    seeds,
    serve,
    targets,
    watch,
)
from gradfuzz.cli.console import guarded
from gradfuzz.envs.environment import FOLDER

app = typer.Typer(
    name="gradfuzz",
    help="Find wrong gradients in deep-learning libraries and in your own differentiable code.\n\n"
    "Start with `gradfuzz run torch --time 1m`, then `gradfuzz bugs`, `gradfuzz show ID`, `gradfuzz repro ID`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

app.command()(guarded(run.run))
app.command("bugs")(guarded(bugs.bugs))
app.command("findings")(guarded(findings.findings))
app.command()(guarded(findings.show))
app.command()(guarded(findings.repro))
app.command("issue")(guarded(findings.issue))
app.command("judge")(guarded(judge.judge))
app.command("found")(guarded(judge.found))
app.command()(guarded(check.check))
app.command()(guarded(chain.chain))
app.command()(guarded(graphs.graphs))
app.command()(guarded(accuracy.accuracy))
app.command()(guarded(replay.replay))
app.command()(guarded(replay.compare))
app.command()(guarded(bisect.bisect))
app.command()(guarded(cross.cross))
app.command()(guarded(targets.targets))
app.command("merge")(guarded(merge.merge))
app.command("nightly")(guarded(nightly.nightly))
app.command("report")(guarded(report.report))
app.command("serve")(guarded(serve.serve))
app.command("watch")(guarded(watch.watch))
app.command("coverage")(guarded(coverage.coverage))
app.command("refusals")(guarded(coverage.refusals))
app.command("record")(guarded(record.record))
app.command("eps")(guarded(eps.eps))
app.add_typer(seeds.app, name="seeds")
app.add_typer(env.app, name="env")
app.command("explain")(guarded(explain.explain))
app.command("scan")(guarded(scan.scan))
app.command("fuzz-function")(guarded(fuzz_function.fuzz_function))


def _version(value: bool) -> None:
    if value:
        print(f"gradfuzz {__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version and leave."),
    envs: Optional[Path] = typer.Option(None, "--envs", help=f"Where environments are kept; ${FOLDER} says the same."),
) -> None:
    """Find wrong gradients."""
    if envs is not None:
        os.environ[FOLDER] = str(envs)  # for whatever is started from here, too
