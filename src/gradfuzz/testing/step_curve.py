"""The step curve: how the error of a central difference depends on the step, and which step gradfuzz takes."""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.numdiff.ladder import central, estimate
from gradfuzz.oracles.gradient import STEP
from gradfuzz.oracles.trial import Trial
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import DIRECT, REVERSE
from gradfuzz.testing.function import FunctionTarget, subject_of
from gradfuzz.testing.library import pick

STEPS = tuple(10.0 ** (-exponent / 4) for exponent in range(2, 61))  # 0.3 down to 1e-15


@dataclass(frozen=True)
class StepCurve:
    """Errors of ⟨v, J u⟩ by central differences, relative to the derivative's size. Steps are in units of the inputs."""

    title: str
    steps: tuple[float, ...]
    errors: tuple[float, ...]
    reference: float
    reference_name: str
    chosen: float  # the step gradfuzz takes first
    optimum: float  # the cube root of the rounding unit

    @property
    def best(self) -> tuple[float, float]:
        """(step, error) at the bottom of the U."""
        error, step = min((e, s) for s, e in zip(self.steps, self.errors) if math.isfinite(e))
        return step, error


def step_curve(f: Callable[..., Any], *inputs: Any, library: Any = None, seed: int = 0) -> StepCurve:
    """Measure the curve along a random direction at the inputs."""
    chosen = pick(library, inputs)
    with chosen.session(), np.errstate(all="ignore"):
        subject = subject_of(f, inputs, chosen, None)
        target = FunctionTarget(subject)
        trial = Trial(target.as_target, target.own_program, seed)
        if not trial.outputs or not trial.finite:
            raise GradfuzzError(f"{subject.title} has no finite floating output at these inputs; choose others")
        direction = trial.direction(0)
        line = trial.line(DIRECT, (), direction)
        scale = max(trial.point.scales)
        reverse = trial.outcome(REVERSE)
        if isinstance(reverse, Outcome) and math.isfinite(trial.number(reverse)):
            reference, name = trial.number(reverse), "reverse mode"
        else:
            reference, name = estimate(line, trial.components(trial.attempt(DIRECT, ())), trial.epsilon).value, "extrapolation"
        size = abs(reference) or 1.0
        errors = [abs(central(line, step / scale) - reference) / size for step in STEPS]
        optimum = trial.epsilon ** (1 / 3)
    if not any(map(math.isfinite, errors)):
        raise GradfuzzError(f"no step gives {subject.title} a finite difference at these inputs; choose others")
    return StepCurve(subject.title, STEPS, tuple(errors), reference, name, STEP * scale, optimum)


def png(curve: StepCurve) -> bytes:
    """The curve as a picture: rounding on the left, truncation on the right."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise GradfuzzError("drawing needs matplotlib; install it with: pip install 'gradfuzz[testing]'") from None
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    # An error of exactly zero has no place on a logarithmic axis; it is drawn at the rounding unit.
    axes.loglog(curve.steps, [max(e, 2.0**-53) for e in curve.errors], "o-", color="#30638e", markersize=3, linewidth=1.2)
    step, error = curve.best
    axes.plot([step], [max(error, 2.0**-53)], "o", color="#d1495b", label=f"smallest error {error:.1e} at step {step:.1e}")
    axes.axvline(curve.chosen, color="#00798c", linewidth=1.2, label=f"step that gradfuzz takes first: {curve.chosen:.1e}")
    axes.axvline(curve.optimum, color="#888888", linewidth=1.2, linestyle="--", label=f"theoretical optimum δ^(1/3): {curve.optimum:.1e}")
    axes.set_xlabel("step")
    axes.set_ylabel(f"relative error against {curve.reference_name}")
    axes.set_title(f"central difference of {curve.title}: rounding on the left, truncation on the right", fontsize=10)
    axes.grid(True, which="major", linewidth=0.3)
    axes.legend(fontsize=8)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def inline_image(picture: bytes, alternative: str = "step curve") -> str:
    """An <img> element that carries the picture within itself, for reports."""
    return f'<img alt="{html.escape(alternative)}" src="data:image/png;base64,{base64.b64encode(picture).decode()}">'
