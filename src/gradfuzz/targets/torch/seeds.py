"""All seeds that the installed PyTorch offers: its own samples, docstring examples, and calls made up from signatures."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Program
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.docstrings import examples
from gradfuzz.targets.base.evaluate import resolve
from gradfuzz.targets.base.probing import parsed
from gradfuzz.targets.base.protocol import Overload, SeedProgram, Trying
from gradfuzz.targets.base.seeds import each_once
from gradfuzz.targets.torch.api import public
from gradfuzz.targets.torch.modules import is_module_class
from gradfuzz.targets.torch.parameters import overloads
from gradfuzz.targets.torch.probing import attempts
from gradfuzz.targets.torch.rules import entries, may_be_called_alone, out_of_reach
from gradfuzz.targets.torch.samples import sample_seeds
from gradfuzz.targets.torch.tape import nodes

PROBED_PER_API = 2
EXAMPLES_PER_API = 1
MOST_ATTEMPTS = 160
TRIANGLE_STEP = 1e-3


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
    found = tried = 0
    for texts in attempts(path, form, ways or overloads(path, target.language)):
        for text in texts:
            tried += 1
            program = parsed(text, target)
            if program is not None and differentiates(target, program):
                yield SeedProgram(with_symmetry(target, program), f"signature:{path}", path)
                found += 1
                break
        if found >= PROBED_PER_API or tried >= MOST_ATTEMPTS:
            return


def form_of(path: str, target: Any) -> str:
    """Whether a name is a method, a module or a function."""
    if path.startswith("torch.Tensor."):
        return "method"
    return "module" if is_module_class(resolve(path, target.language)) else "function"


def documented(target: Any, path: str, form: str) -> Iterator[SeedProgram]:
    """Examples in a docstring that call what it documents."""
    name = "." + path.rsplit(".", 1)[-1]
    found = 0
    try:
        text = inspect.getdoc(resolve(path, target.language)) or ""
    except ProgramError:
        return
    if ">>>" not in text:
        return
    for program in examples(text, target.compiler):
        if any(call.func == path or (form == "method" and call.func == name) for call in program.calls()) and differentiates(
            target, program
        ):
            yield SeedProgram(with_symmetry(target, program), f"docstring:{path}", path)
            found += 1
            if found >= EXAMPLES_PER_API:
                return


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
    names = [name for name, r in program.inputs.items() if r.differentiable]
    for position, name in enumerate(names):
        recipe = program.inputs[name]
        if recipe.structure or len(recipe.shape) < 2 or recipe.shape[-1] != recipe.shape[-2] or recipe.shape[-1] < 2:
            continue
        arrays = [materialise(program.inputs[n]) for n in names]
        before, upper, lower = (_outputs(target, program, arrays, position, part) for part in (None, np.triu, np.tril))
        if before is None or upper is None or lower is None or _same(before, upper) == _same(before, lower):
            continue
        for structure in ("symmetric", "positive_definite"):
            candidate = program.with_inputs({name: replace(recipe, structure=structure)})
            if differentiates(target, candidate):
                return with_symmetry(target, candidate)
    return program


def _outputs(target: Any, program: Program, arrays: list[Any], position: int, part: Any) -> list[Any] | None:
    """The outputs with one triangle of one input moved a little."""
    moved = list(arrays)
    if part is not None:
        offset = 1 if part is np.triu else -1
        moved[position] = arrays[position] + part(np.full(arrays[position].shape, TRIANGLE_STEP), offset)
    try:
        outputs: list[Any] = target.point(program, moved).first()
    except Exception:
        return None
    return outputs


def _same(a: list[Any], b: list[Any]) -> bool:
    return all(x.shape == y.shape and np.array_equal(x, y) for x, y in zip(a, b))


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
