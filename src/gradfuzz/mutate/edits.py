"""Edits: the small named changes that make mutants out of seeds.

An Edit is data. `apply` replays it on a Program and is deterministic; where it no longer fits (a shrunk Program has lost the input)
it changes nothing. So a list of edits can be replayed with any of them left out.
"""

from __future__ import annotations

import importlib
import pkgutil

from gradfuzz.mutate import sorts
from gradfuzz.mutate.edit import Edit as Edit
from gradfuzz.mutate.edit import Sort
from gradfuzz.program.model import Program

# The order in which chance counts the sorts: it stays, so that the same seed draws the same mutants; new ones come behind.
_FIRST = ("values", "dtype", "layout", "size", "shape", "rank", "grad", "same", "argument", "dropped", "option", "naming")


def _found() -> list[Sort]:
    """Every sort in `sorts/`."""
    modules = [importlib.import_module(f"{sorts.__name__}.{m.name}") for m in pkgutil.iter_modules(sorts.__path__)]
    found = [sort for module in modules for sort in module.SORTS]
    return sorted(found, key=lambda s: (_FIRST.index(s.name) if s.name in _FIRST else len(_FIRST), s.name))


SORTS = _found()
_APPLY = {kind: apply for sort in SORTS for kind, apply in sort.kinds.items()}
_COUNTED = {kind: sort.counted for sort in SORTS for kind in sort.kinds}


def counted_as(edit: Edit) -> str:
    """What is counted together when a campaign learns which edits an API refuses."""
    counted = _COUNTED[edit.kind]
    return edit.kind if counted is None else f"{edit.kind}:{counted(edit.value)}"


def apply(program: Program, edit: Edit) -> Program:
    """The Program with the edit made; the Program itself where the edit does not fit."""
    changed = _APPLY[edit.kind](program, edit.where, edit.value)
    return changed if changed is not None else program


def apply_all(program: Program, edits: list[Edit]) -> Program:
    for edit in edits:
        program = apply(program, edit)
    return program
