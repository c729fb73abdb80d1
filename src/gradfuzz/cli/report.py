"""`gradfuzz report`: a campaign as a page, as pictures, or as what machines read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradfuzz.bugs.judgements import read_judgements
from gradfuzz.cli.bugs import JudgementsOption
from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, records, say
from gradfuzz.cli.gate import BaselineOption, FailOnOption, baseline_of, checked, verdict
from gradfuzz.errors import GradfuzzError
from gradfuzz.report.formats import formats
from gradfuzz.report.model import report_of


def report(
    store: StoreOption = DEFAULT_STORE,
    folder: Annotated[Path, typer.Option("--out", help="The folder to write into; it is made if need be.")] = Path("gradfuzz-report"),
    form: Annotated[str, typer.Option("--format", help="As what: " + ", ".join(formats()) + ".")] = "html",
    baseline: BaselineOption = None,
    judgements: JudgementsOption = None,
    fail_on: FailOnOption = None,
) -> None:
    """Write the store's campaigns and findings: for people as one HTML file, for machines in the format they read.

    html is one file that opens from disk: bugs with their proofs and plots, coverage, time, analysis. png and csv are the pictures and
    tables of the analysis. junit and sarif are for CI and code scanning, markdown for the page of a job, json for programs and as the
    --baseline of the next report. With --fail-on the exit status is 1 if there are new bugs of that severity or graver.
    """
    if form not in formats():
        raise GradfuzzError(f"--format {form}: there is no such format; known: {', '.join(formats())}")
    severity, before = checked(fail_on), baseline_of(baseline)
    with records(store) as opened:
        told = report_of(opened, read_judgements(judgements) if judgements is not None else None, before)
        page = formats()[form](told, folder)
    say(f"wrote {page}")
    if severity is not None:
        raise verdict(told.bugs, severity, before)
