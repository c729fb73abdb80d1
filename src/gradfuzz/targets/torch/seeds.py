"""All seeds that the installed PyTorch offers: its own samples, docstring examples, and calls made up from signatures."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Program
from gradfuzz.targets.base.attempts import Attempts
from gradfuzz.targets.base.evaluate import resolve
from gradfuzz.targets.base.offers import Offers
from gradfuzz.targets.base.protocol import Overload, SeedProgram, Trying
from gradfuzz.targets.base.seeds import each_once
from gradfuzz.targets.torch.api import public
from gradfuzz.targets.torch.modules import is_module_class
from gradfuzz.targets.torch.parameters import overloads
from gradfuzz.targets.torch.rules import entries, may_be_called_alone, out_of_reach
from gradfuzz.targets.torch.samples import sample_seeds
from gradfuzz.targets.torch.tape import nodes

_ATTEMPTS = Attempts(json.loads(Path(__file__).with_name("probes.json").read_text(encoding="utf-8")))


def library_seeds(target: Any, trying: Trying) -> Iterator[SeedProgram]:
    """Programs that ran, each once."""
    apis: set[str] = set()
    for seed in each_once(_all(target, apis, trying)):
        apis.add(seed.api)
        yield seed


def _all(target: Any, apis: set[str], trying: Trying) -> Iterator[SeedProgram]:
    met: set[str] = set()
    for seed in sample_seeds(target, trying):
        yield _noted(target, seed, met)
    for path, form in public(target.language):
        if out_of_reach(path.rsplit(".", 1)[-1]) or not trying(path):
            continue
        found = list(documented(target, path, form))
        if path not in apis:
            found += probed(target, path, form)
        for seed in found:
            yield _noted(target, seed, met)
    for entry in entries():
        path = f"torch.ops.aten.{entry.operator}" if "." in entry.operator else f"torch.ops.aten.{entry.operator}.default"
        wanted = entry.node not in met and entry.implemented and may_be_called_alone(entry.operator)
        if wanted and not out_of_reach(entry.operator) and trying(path, entry.operator.partition(".")[0]):
            yield from (replace(seed, reached=(entry.node,), spare=True) for seed in probed(target, path, "function"))


def _noted(target: Any, seed: SeedProgram, met: set[str]) -> SeedProgram:
    """The seed with the rules that it reaches and none before it did."""
    new = reached(target, seed.program) - met
    met |= new
    return replace(seed, reached=tuple(sorted(new)))


def probed(target: Any, path: str, form: str, ways: list[Overload] | None = None) -> Iterator[SeedProgram]:
    """Calls made up from the signature, at most one per kind of tensor."""
    return _offers(target).probed(path, form, ways or overloads(path, target.language))


def form_of(path: str, target: Any) -> str:
    """Whether a name is a method, a module or a function."""
    if path.startswith("torch.Tensor."):
        return "method"
    return "module" if is_module_class(resolve(path, target.language)) else "function"


def documented(target: Any, path: str, form: str) -> Iterator[SeedProgram]:
    """Examples in a docstring that call what it documents."""
    try:
        text = inspect.getdoc(resolve(path, target.language)) or ""
    except ProgramError:
        return iter(())
    return _offers(target).documented(path, form, text)


def differentiates(target: Any, program: Program) -> bool:
    """Whether the Program runs, gives finite numbers, and PyTorch says that they depend on its inputs."""
    try:
        point = target.point(program)
        outputs = point.first()
        if not outputs or not point.names or not all(o.size and np.isfinite(o).all() for o in outputs):
            return False
        return bool(_taped(point))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return False


def with_symmetry(target: Any, program: Program) -> Program:
    """A function that reads one triangle of a matrix alone takes it for symmetric: then its inputs are, and stay so."""
    return _offers(target).with_symmetry(program)


def _offers(target: Any) -> Offers:
    return Offers(target, _ATTEMPTS, lambda program: program if differentiates(target, program) else None)


def reached(target: Any, program: Program) -> set[str]:
    """Names of the nodes on the Program's tape."""
    try:
        point = target.point(program)
        point.first()
        return set(nodes(_taped(point)))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return set()


def _taped(point: Any) -> list[torch.Tensor]:
    leaves = [x.detach().requires_grad_() for x in point.leaves]
    with torch.enable_grad():
        return [o for o in point.function(leaves) if o.grad_fn is not None]
