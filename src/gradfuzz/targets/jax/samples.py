"""Seeds from the installed JAX alone: signatures tried out, docstring examples, and the inputs of its own test harness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from gradfuzz.program.model import Program
from gradfuzz.targets.base import probing
from gradfuzz.targets.base.docstrings import examples
from gradfuzz.targets.base.probing import nudged, parsed
from gradfuzz.targets.base.protocol import SeedProgram, Trying, anything
from gradfuzz.targets.base.seeds import each_once
from gradfuzz.targets.jax.api import functions, primitives
from gradfuzz.targets.jax.bundle import on_device, release
from gradfuzz.targets.jax.harness import harness_programs
from gradfuzz.targets.jax.probing import SEEDS_PER_FUNCTION, alternatives, attempts, method_attempts, optioned, primitive_attempts

EXAMPLES_PER_FUNCTION = 1
_BIND = ".bind"  # how a primitive is called
ALTERNATIVES = 6
# A function that compiles slowly and never gives a seed must not hold up the others: so many of its attempts may be computed in vain,
# and of those that differ in their arguments alone so many.
IN_VAIN = 9
ALIKE = 2
MOST_ELEMENTS = 2**14
# As many times as long a trace says that a seed has a function compute something, where another one does not.
FAR_MORE = 10
# JAX keeps what it has compiled; after so many functions it is told to forget, or reading would take gigabytes.
FORGET_EVERY = 32


def sample_seeds(target: Any, trying: Trying = anything) -> Iterator[SeedProgram]:
    """Programs, each of which ran and depends on its inputs. Ones with the same text come once. `trying`: see Target.seeds."""
    yield from each_once(_all(target, trying))


def _all(target: Any, trying: Trying) -> Iterator[SeedProgram]:
    tested = set()
    for name, program in harness_programs(target.language):
        if not trying(program.api, program.api.removesuffix(_BIND)):
            continue
        if traces(target, program) and moves(target, program) and complete(target, program):
            tested.add(program.api)
            yield SeedProgram(program, f"harness:{name}", program.api)
    for path in sorted(primitives(target.language).values()):
        if f"{path}{_BIND}" not in tested and trying(f"{path}{_BIND}", path):
            found = _probed(target, f"{path}{_BIND}", primitive_attempts(path), 1)
            yield from (seed for seed in found if complete(target, seed.program))
    for index, (path, function) in enumerate(functions(target.language)):
        if index % FORGET_EVERY == 0:
            release()
        if not trying(path):
            continue
        # One with its options leads, and stands for a second one without: edits leave them out, and bring none that is a tensor of its own.
        # What is masked says less of the function: it comes behind.
        leading = list(_probed(target, path, optioned(path, function), 1))
        masked = list(_probed(target, path, optioned(path, function, masked=True), 1))
        simple = _probed(target, path, attempts(path, function), 1 if leading or masked else SEEDS_PER_FUNCTION)
        others = _probed(target, path, alternatives(path, function), ALTERNATIVES)
        yield from behind_a_busy_one(target, [*leading, *simple, *masked, *others, *_documented(target, path, function)])
    for name, texts in method_attempts():
        if trying(f"Tensor.{name}"):
            yield from _probed(target, f"Tensor.{name}", iter([texts]), 1)


def behind_a_busy_one(target: Any, seeds: list[SeedProgram]) -> list[SeedProgram]:
    """The same seeds; where another one computes far more than the first, with the same call alone, that one leads.

    Many functions return their input as it is where a size is one: whatever is varied about such a seed says nothing of the function.
    """
    sizes = [_equations(target, seed.program) for seed in seeds] if len(seeds) > 1 else []
    alone = (i for i in range(1, len(sizes)) if len(list(seeds[i].program.calls())) == 1)
    busy = next((i for i in alone if sizes[i] >= FAR_MORE * sizes[0] > 0), 0)
    return [*seeds[busy : busy + 1], *seeds[:busy], *seeds[busy + 1 :]]


def _equations(target: Any, program: Program) -> int:
    """How much is computed, in lines of its trace, those of functions inside included; 0 where it cannot be traced from here."""
    point = target.point(program)
    fixed = on_device(point.resting)  # as they are: sizes may be among them
    try:
        return len(str(jax.make_jaxpr(lambda xs: point.function(xs, fixed))(tuple(point.leaves))).splitlines())
    except Exception:
        return 0


def _probed(target: Any, path: str, groups: Iterator[list[str]], most: int) -> Iterator[SeedProgram]:
    found = vain = 0
    for texts in groups:
        alike = 0
        for text in texts:
            program = parsed(text, target)
            if program is None or not traces(target, program):
                continue
            if moves(target, program):
                yield SeedProgram(program, f"signature:{path}", path)
                found += 1
                break
            vain, alike = vain + 1, alike + 1
            if alike >= ALIKE:
                break
        if found >= most or vain >= IN_VAIN:
            return


def _documented(target: Any, path: str, function: Any) -> Iterator[SeedProgram]:
    """Examples that call the function they document."""
    found = vain = 0
    for program in examples(getattr(function, "__doc__", None) or "", target.compiler):
        if found >= EXAMPLES_PER_FUNCTION or vain >= IN_VAIN:
            return
        if not any(call.func == path for call in program.calls()) or not traces(target, program):
            continue
        if moves(target, program):
            yield SeedProgram(program, f"docstring:{path}", path)
            found += 1
        else:
            vain += 1


def traces(target: Any, program: Program) -> bool:
    """Whether the Program can be traced from differentiable inputs to floating outputs. Computes nothing."""
    try:
        point = target.point(program)
        return bool(point.names) and point.traces(MOST_ELEMENTS)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return False


def complete(target: Any, program: Program) -> bool:
    """Whether a primitive's rules miss none of its parameters: some are wanted by the derivative alone, and only bind() forgets them."""
    point = target.point(program)

    def derivatives(xs: Any, fixed: Any) -> Any:
        outputs, pull = jax.vjp(lambda *ys: point.function(ys, fixed), *xs)
        return pull(outputs)

    try:
        jax.eval_shape(derivatives, tuple(point.leaves), tuple(point.resting))
    except TypeError as error:
        return "keyword-only argument" not in str(error)
    except Exception:
        return True  # what the oracles will have to say about
    return True


def moves(target: Any, program: Program) -> bool:
    """Whether the Program runs, gives finite numbers, and these move when its inputs do."""
    try:
        point = target.point(program)
        fixed = on_device(point.resting)
        here = point.function(on_device(point.leaves), fixed)  # op by op: what is compiled for one Program serves the next
        there = point.function(on_device([nudged(x) for x in point.leaves]), fixed)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return False
    return probing.moves(here, there)
