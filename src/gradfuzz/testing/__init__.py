"""The same oracles for people's own code: one call, a pytest plugin, Hypothesis strategies.

Names are looked up when they are first asked for, so that the pytest plugin costs nothing until it is used.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Adapter": "adapters",
    "Agreement": "check",
    "GradientMismatch": "check",
    "InconclusiveWarning": "check",
    "check_gradients": "check",
    "gradients_agree": "check",
    "EstimatorBias": "estimators",
    "check_estimator": "estimators",
    "LeakFound": "leaks",
    "check_leaks": "leaks",
    "ModuleMismatch": "modules",
    "check_module": "modules",
    "TwoOracleFailure": "policy",
    "two_oracles": "policy",
    "step_curve": "step_curve",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"gradfuzz.testing.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'gradfuzz.testing' has no attribute {name!r}")
