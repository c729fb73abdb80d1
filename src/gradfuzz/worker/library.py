"""Where a library is imported: once before all workers are forked, or by each worker for itself.

A fork copies one thread. A library that starts threads when it is imported, and computes on them, waits for ever in a copy: its about.json
says `"forks": false`, and every worker imports it anew.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from typing import Any, Callable, Union

from gradfuzz.errors import GradfuzzError, TargetError
from gradfuzz.oracles.excuses.base import all_excuses
from gradfuzz.targets.base.protocol import Target
from gradfuzz.targets.homes import Home, load_target
from gradfuzz.worker.rehearsal import rehearse

Traits = dict[str, Any]


class Once:
    """The library in this process: every fork has it."""

    def __init__(self, load: Callable[[], Target]) -> None:
        self.target = load()
        all_excuses()  # every worker that judges a suspicion needs them, and most of those are fresh
        gc.freeze()  # what the library brought stays for good: collections in workers need not look at it, nor copy its pages
        self.traits = _traits(self.target)

    def __call__(self) -> Target:
        return self.target

    def warm_up(self) -> None:
        """Import and read what workers to come will need."""
        if hasattr(self.target, "warm_up"):
            self.target.warm_up()  # see Warming
        rehearse(self.target)
        gc.freeze()


class Each:
    """The library in every worker; a process that ends at once says what there is to know of it before."""

    def __init__(self, load: Callable[[], Target]) -> None:
        self._load = load
        self.traits = _told(load)

    def __call__(self) -> Target:
        target = self._load()
        gc.freeze()
        return target

    def warm_up(self) -> None:
        pass


Library = Union[Once, Each]


def library(home: Home, modules: tuple[str, ...], ways: list[str]) -> Library:
    """The library of a home. Whatever importing it raises is raised here."""

    def load() -> Target:
        target = load_target(home, modules)
        target.prepare([way for way in ways if way in target.ways])
        return target

    return Once(load) if home.about.get("forks", True) else Each(load)


def _traits(target: Target) -> Traits:
    return {"ready": target.version, "patience": target.patience, "family": target.family, "ways": list(target.ways)}


def _told(load: Callable[[], Target]) -> Traits:
    """What a process of its own says of the library. TargetError where it cannot."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            told = _traits(load())
        except GradfuzzError as error:
            told = {"failed": str(error)}
        except BaseException as error:  # whatever a broken library raises when it is imported
            told = {"failed": f"it cannot be imported by {sys.executable} ({type(error).__name__}: {error})"}
        with os.fdopen(writing, "w", encoding="utf-8") as file:
            json.dump(told, file)
        os._exit(0)  # without what the library would do at the end
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as file:
        text = file.read()
    _, status = os.waitpid(child, 0)
    traits: Traits = json.loads(text) if text else {"failed": f"importing it ends {sys.executable} (status {status})"}
    if "failed" in traits:
        raise TargetError(traits["failed"])
    return traits
