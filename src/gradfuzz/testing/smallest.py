"""The smallest failing example: crop to the element at fault, then simplify as campaigns do."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gradfuzz.findings.inside.same import mark
from gradfuzz.findings.inside.shrink import shrink_program
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program.model import Program, Values
from gradfuzz.program.values import materialise
from gradfuzz.testing.function import FunctionTarget

# A failure is worth a few seconds of simplifying, and no more: somebody is waiting.
SECONDS = 5.0
TRIES = 400

_ELEMENT = re.compile(r"^(.*)\[([0-9, ]*)\]$")


def smallest(target: FunctionTarget, options: Options, program: Program, wanted: Verdict) -> Program:
    """The simplest inputs on which the same way goes wrong in the same manner."""
    end, tries = time.monotonic() + SECONDS, iter(range(TRIES))
    latest = [wanted]

    def more_time() -> bool:
        return time.monotonic() < end and next(tries, None) is not None

    def shows(candidate: Program) -> bool:
        for verdict in examine(target.as_target, candidate, options).findings:
            if mark(verdict) == mark(wanted):
                latest[0] = verdict
                return True
        return False

    program = _cropped(program, latest, shows, more_time)
    program = shrink_program(program, shows, more_time)
    return _cropped(program, latest, shows, more_time)


def _cropped(program: Program, latest: list[Verdict], shows: Callable[[Program], bool], more_time: Callable[[], bool]) -> Program:
    """Cut axes down to the place of the wrong element, for as long as that stays wrong."""
    found = True
    while found and more_time():
        found = False
        for candidate in _crops(program, latest[0]):
            if more_time() and shows(candidate):
                program, found = candidate, True
                break
    return program


def _crops(program: Program, verdict: Verdict) -> Iterator[Program]:
    match = _ELEMENT.match(verdict.detail.get("element") or "")
    if not match or match[1] not in program.inputs:
        return
    index = [int(part) for part in match[2].split(",") if part.strip()]
    shape = program.inputs[match[1]].shape
    for axis, (place, size) in enumerate(zip(index, shape)):
        if size > 1:
            from_right = axis - len(shape)
            yield _crop(program, from_right, place, size)  # with whatever is broadcast against it
            yield _crop(program, from_right, place, size, only=match[1])


def _crop(program: Program, from_right: int, place: int, size: int, only: str | None = None) -> Program:
    changes = {}
    for name, recipe in program.inputs.items():
        if (only is None or name == only) and len(recipe.shape) >= -from_right and recipe.shape[from_right] == size:
            array = np.take(materialise(recipe), [place], axis=from_right)
            changes[name] = replace(recipe, shape=array.shape, values=Values("listed", (tuple(array.ravel().tolist()),)))
    return program.with_inputs(changes)
