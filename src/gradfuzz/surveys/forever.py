"""Campaigns that follow each other until somebody stops them, each with another seed and with all that those before it knew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gradfuzz.engine.config import Config
from gradfuzz.engine.survey import State, Watcher
from gradfuzz.store import Records
from gradfuzz.surveys.mutants import run_mutants


def run_forever(
    config: Config, store: Path, resume: bool, watcher: Watcher, leg: float, over: Callable[[State], bool] = lambda _: False
) -> State:  # fmt: skip
    """Legs of so many seconds. After each the store is folded, so that it stays small, and processes are started anew.

    Returns when it is stopped, or when it is `over`; what stands in the store then is all there is.
    """
    while True:
        state = run_mutants(following(config, store, leg), store, resume, watcher)
        if state.stopped or over(state):
            return state
        resume = False


def following(config: Config, store: Path, leg: float) -> Config:
    """The next leg: its seed is one that no leg in the store has had."""
    seed = config.seed
    if store.exists():
        with Records(store) as kept:
            last = kept.campaign()
        then = last["config"].get("seed") if last is not None else None
        if last is not None and last["target"] == config.launch.target and type(then) is int:
            seed = max(seed, then + 1)
    return replace(config, seed=seed, seconds=leg, follows=True)
