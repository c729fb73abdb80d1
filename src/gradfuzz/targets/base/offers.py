"""Seeds that an installed library offers: calls made up from its signatures, and the examples in its docstrings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import numpy as np

from gradfuzz.program.model import Program
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.attempts import METHOD, Attempts
from gradfuzz.targets.base.docstrings import examples
from gradfuzz.targets.base.probing import parsed
from gradfuzz.targets.base.protocol import Overload, SeedProgram

PROBED_PER_API = 2
EXAMPLES_PER_API = 1
MOST_ATTEMPTS = 160
TRIANGLE_STEP = 1e-3
# Calls by the name that libraries share, one that has samples for its operators taken as the model: benchmarks/shared_calls.py writes them.
LIBRARY = "library"
CALLS: dict[str, list[str]] = json.loads(Path(__file__).with_name("calls.json").read_text(encoding="utf-8"))["calls"]


class Offers:
    """What is kept of what is tried: Programs that run, and that have a derivative as far as the library says.

    `accepted` gives the Program to keep, or None; it may make constants of inputs that have no derivative.
    """

    def __init__(self, target: Any, attempts: Attempts, accepted: Callable[[Program], Program | None]) -> None:
        self.target, self.attempts, self.accepted = target, attempts, accepted

    def probed(self, path: str, form: str, ways: list[Overload]) -> Iterator[SeedProgram]:
        """Calls made up from the signature, at most one per kind of tensor."""
        found = tried = 0
        for texts in self.attempts.groups(path, form, ways):
            for text in texts:
                tried += 1
                program = self._kept(parsed(text, self.target))
                if program is not None:
                    yield SeedProgram(program, f"signature:{path}", path)
                    found += 1
                    break
            if found >= PROBED_PER_API or tried >= MOST_ATTEMPTS:
                return

    def documented(self, path: str, form: str, text: str) -> Iterator[SeedProgram]:
        """Examples in a docstring that call what it documents."""
        name = "." + path.rsplit(".", 1)[-1]
        found = 0
        for program in examples(text, self.target.compiler) if ">>>" in text else ():
            called = any(call.func == path or (form == METHOD and call.func == name) for call in program.calls())
            kept = self._kept(program) if called else None
            if kept is not None:
                yield SeedProgram(kept, f"docstring:{path}", path)
                found += 1
                if found >= EXAMPLES_PER_API:
                    return

    def borrowed(self, path: str, ways: list[Overload]) -> Iterator[SeedProgram]:
        """Calls that another library's function of the same name takes, where its parameters have the same names here."""
        root, _, rest = path.partition(".")
        named = {p.name for overload in ways for p in overload}
        for text in CALLS.get(rest, ()):
            program = parsed(text.replace(f"{LIBRARY}.", f"{root}."), self.target)
            if program is None or any(key not in named for call in program.calls() for key, _ in call.kwargs):
                continue
            kept = self._kept(program)
            if kept is not None:
                yield SeedProgram(kept, f"borrowed:{path}", path)

    def _kept(self, program: Program | None) -> Program | None:
        accepted = None if program is None else self.accepted(program)
        return None if accepted is None else self.with_symmetry(accepted)

    def with_symmetry(self, program: Program) -> Program:
        """A function that reads one triangle of a matrix alone takes it for symmetric: then its inputs are, and stay so."""
        names = [name for name, r in program.inputs.items() if r.differentiable]
        for position, name in enumerate(names):
            recipe = program.inputs[name]
            if recipe.structure or len(recipe.shape) < 2 or recipe.shape[-1] != recipe.shape[-2] or recipe.shape[-1] < 2:
                continue
            arrays = [materialise(program.inputs[n]) for n in names]
            before, upper, lower = (self._outputs(program, arrays, position, part) for part in (None, np.triu, np.tril))
            if before is None or upper is None or lower is None or _same(before, upper) == _same(before, lower):
                continue
            for structure in ("symmetric", "positive_definite"):
                candidate = program.with_inputs({name: replace(recipe, structure=structure)})
                if self.accepted(candidate) is not None:
                    return self.with_symmetry(candidate)
        return program

    def _outputs(self, program: Program, arrays: list[Any], position: int, part: Any) -> list[Any] | None:
        """The outputs with one triangle of one input moved a little."""
        moved = list(arrays)
        if part is not None:
            offset = 1 if part is np.triu else -1
            moved[position] = arrays[position] + part(np.full(arrays[position].shape, TRIANGLE_STEP), offset)
        try:
            outputs: list[Any] = self.target.point(program, moved).first()
        except Exception:
            return None
        return outputs


def _same(a: list[Any], b: list[Any]) -> bool:
    return all(x.shape == y.shape and np.array_equal(x, y) for x, y in zip(a, b))
