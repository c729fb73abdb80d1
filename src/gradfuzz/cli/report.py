"""`gradfuzz report`: a campaign as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradfuzz.cli.console import records, say
from gradfuzz.cli.run import DEFAULT_STORE, StoreOption
from gradfuzz.report.html import write_report


def report(
    store: StoreOption = DEFAULT_STORE,
    folder: Annotated[Path, typer.Option("--out", help="The folder to write into; it is made if need be.")] = Path("gradfuzz-report"),
) -> None:
    """Write the store's campaigns and findings as a self-contained HTML page, with each finding's script beside it."""
    with records(store) as opened:
        page = write_report(opened, folder)
    say(f"wrote {page}")
