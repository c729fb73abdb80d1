"""`gradfuzz report`: a campaign as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, records, say
from gradfuzz.errors import GradfuzzError
from gradfuzz.report.formats import formats


def report(
    store: StoreOption = DEFAULT_STORE,
    folder: Annotated[Path, typer.Option("--out", help="The folder to write into; it is made if need be.")] = Path("gradfuzz-report"),
    form: Annotated[str, typer.Option("--format", help="As what: " + ", ".join(formats()) + ".")] = "html",
) -> None:
    """Write the store's campaigns and findings as a self-contained HTML page, with each finding's script beside it."""
    if form not in formats():
        raise GradfuzzError(f"--format {form}: there is no such format; known: {', '.join(formats())}")
    with records(store) as opened:
        page = formats()[form](opened, folder)
    say(f"wrote {page}")
