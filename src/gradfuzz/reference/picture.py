"""The digits a function loses over its whole range, as a picture."""

from __future__ import annotations

import io

from gradfuzz.errors import GradfuzzError
from gradfuzz.reference.digits import ALL, KINDS, Loss

COLOURS = {"value": "#30638e", "first derivative": "#edae49", "second derivative": "#d1495b"}
MARKS = {"reverse": "o", "forward": "x", "direct": "."}


def png(title: str, found: list[Loss], dtype: str) -> bytes:
    """Digits lost against the point, negative points on the left."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise GradfuzzError("drawing needs matplotlib; install it with: pip install 'gradfuzz[accuracy]'") from None
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, sign in ((left, -1), (right, 1)):
        for kind in KINDS:
            for way in ("direct", "reverse", "forward"):
                points = sorted((abs(f.x), f.lost) for f in found if f.kind == kind and f.way == way and f.x * sign > 0 and not f.note)
                if points:
                    label = f"{kind}, {way}" if sign > 0 else None
                    axes.plot(*zip(*points), MARKS[way], color=COLOURS[kind], markersize=4, label=label, alpha=0.8)
        axes.set_xscale("log")
        axes.set_xlabel("x" if sign > 0 else "-x")
        axes.grid(True, which="major", linewidth=0.3)
    left.invert_xaxis()
    left.set_ylabel("digits lost")
    left.set_ylim(-0.5, ALL[dtype] + 0.5)
    handles, labels = right.get_legend_handles_labels()
    if handles:
        right.legend(handles, labels, fontsize=7)
    figure.suptitle(f"{title}: digits lost against the exact value ({dtype}, of {ALL[dtype]:.0f})", fontsize=10)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
