"""A derivative at an input that is not finite itself."""

from __future__ import annotations

from gradfuzz.oracles.evidence.broken import Broken
from gradfuzz.oracles.excuses.base import BLIND, Excuse, Says


def _broken(broken: Broken) -> Says:
    return None if broken.trial.finite_inputs else BLIND


EXCUSE = Excuse("domain", "an input is not finite itself", broken=_broken)
