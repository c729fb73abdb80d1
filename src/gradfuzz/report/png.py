"""The pictures of a report as files, drawn by matplotlib from the numbers that the page draws."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

from gradfuzz.errors import GradfuzzError
from gradfuzz.report.analysis import Picture, pictures
from gradfuzz.report.csv import write as write_tables
from gradfuzz.report.files import write_bytes
from gradfuzz.report.model import Report

FORMAT = "png"
COLOURS = ("#2f6fd0", "#d9480f", "#0f8f83", "#8b5cc7", "#b7791f", "#5b6b85", "#c2417c", "#5a8f29")
DOTS = 110  # an inch
MOST_LETTERS = 48  # of a name


def write(report: Report, folder: Path) -> Path:
    """A picture a file, and the tables; in a folder for each campaign where there are several. Returns the folder."""
    for campaign in report.campaigns:
        place = folder / f"campaign-{campaign.number}" if len(report.campaigns) > 1 else folder
        for picture in pictures(campaign):
            write_bytes(place / f"{picture.name}.png", png(picture, campaign.title))
    write_tables(report, folder)
    return folder


def png(picture: Picture, subject: str = "") -> bytes:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise GradfuzzError("drawing needs matplotlib; install it with: pip install 'gradfuzz[report]'") from None
    tall = max(2.2, 0.3 * len(picture.labels) + 1.4) if picture.lying else 4.2
    figure = Figure(figsize=(8.5, tall), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    (_matrix if picture.cells else _lying if picture.lying else _standing)(axes, picture)
    axes.set_title(f"{picture.title} – {_plain(subject)}" if subject else picture.title, fontsize=11, loc="left")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a sign that the font lacks is a box, which says so itself
        figure.savefig(buffer, format="png", dpi=DOTS)
    return buffer.getvalue()


def _lying(axes: Any, picture: Picture) -> None:
    places = range(len(picture.labels))
    starts = [0.0] * len(picture.labels)
    for number, (name, values) in enumerate(picture.series.items()):
        axes.barh(places, values, left=starts, color=COLOURS[number % len(COLOURS)], label=_plain(name), height=0.7)
        starts = [a + b for a, b in zip(starts, values)]
    axes.set_yticks(list(places), [_plain(label) for label in picture.labels], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(picture.axis)
    for place, end in zip(places, starts):
        axes.annotate(f" {end:.4g}", (end, place), va="center", fontsize=7, color="#555555")
    if len(picture.series) > 1:
        axes.legend(fontsize=8)


def _standing(axes: Any, picture: Picture) -> None:
    places = range(len(picture.labels))
    for values in picture.series.values():
        axes.bar(places, values, color=COLOURS[0], width=0.9)
    every = max(1, len(picture.labels) // 10)
    axes.set_xticks(list(places)[::every], [_plain(label) for label in picture.labels][::every], fontsize=8)
    axes.set_ylabel(picture.axis)
    axes.grid(True, axis="y", linewidth=0.3)


def _matrix(axes: Any, picture: Picture) -> None:
    numbers = [[float("nan") if cell is None else cell for cell in line] for line in picture.cells]
    if picture.signed:
        axes.imshow(numbers, cmap="RdBu", vmin=-1.7, vmax=1.7, aspect="auto", alpha=0.8)
    else:
        most = max((cell for line in numbers for cell in line), default=0.0) ** 0.5 or 1.0
        # The darkest shades are left out: numbers are written on them.
        axes.imshow([[cell**0.5 for cell in line] for line in numbers], cmap="Blues", vmin=0, vmax=1.6 * most, aspect="auto", alpha=0.8)
    for i, line in enumerate(picture.cells):
        for j, cell in enumerate(line):
            if cell is None or cell or picture.signed:
                axes.text(
                    j, i, "–" if cell is None else f"{cell:.2f}" if picture.signed else f"{cell:.0f}", ha="center", va="center", fontsize=8
                )
    axes.set_xticks(range(len(picture.labels)), [_plain(label) for label in picture.labels], fontsize=8)
    axes.set_yticks(range(len(picture.rows)), [_plain(label) for label in picture.rows], fontsize=8)
    axes.set_xlabel(picture.axis)


def _plain(label: str) -> str:
    """A label that matplotlib reads as it stands: no formulas, nothing that has no glyph, no more than a line."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in label).replace("$", r"\$")
    return shown if len(shown) <= MOST_LETTERS else "…" + shown[1 - MOST_LETTERS :]
