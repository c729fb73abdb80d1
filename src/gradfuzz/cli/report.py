"""`gradfuzz report`: a campaign as a page, as pictures, or as what machines read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from gradfuzz.bugs.judgements import read_judgements
from gradfuzz.cli.bugs import JudgementsOption
from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, records, say
from gradfuzz.errors import GradfuzzError
from gradfuzz.report.baseline import read_baseline
from gradfuzz.report.formats import formats
from gradfuzz.report.model import report_of


def report(
    store: StoreOption = DEFAULT_STORE,
    folder: Annotated[Path, typer.Option("--out", help="The folder to write into; it is made if need be.")] = Path("gradfuzz-report"),
    form: Annotated[str, typer.Option("--format", help="As what: " + ", ".join(formats()) + ".")] = "html",
    baseline: Annotated[Optional[Path], typer.Option(help="A report.json of before: what it has is not new.")] = None,
    judgements: JudgementsOption = None,
) -> None:
    """Write the store's campaigns and findings: for people as one HTML file, for machines in the format they read.

    html is one file that opens from disk: bugs with their proofs and plots, coverage, time, analysis. png and csv are the pictures and
    tables of the analysis. junit and sarif are for CI and code scanning, markdown for the page of a job, json for programs and as the
    --baseline of the next report.
    """
    if form not in formats():
        raise GradfuzzError(f"--format {form}: there is no such format; known: {', '.join(formats())}")
    before = read_baseline(baseline) if baseline is not None else None
    with records(store) as opened:
        page = formats()[form](report_of(opened, read_judgements(judgements) if judgements is not None else None, before), folder)
    say(f"wrote {page}")
