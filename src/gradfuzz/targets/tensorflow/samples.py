"""Seeds from the installed TensorFlow alone: operator definitions and signatures tried out, docstring examples, and written Programs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gradfuzz.program.codec import from_json, to_json
from gradfuzz.program.model import Program, Tensor
from gradfuzz.targets.base.binding import Binding
from gradfuzz.targets.base.docstrings import examples
from gradfuzz.targets.base.probing import moves, nudged, parsed
from gradfuzz.targets.base.protocol import SeedProgram, Trying, anything
from gradfuzz.targets.base.seeds import each_once
from gradfuzz.targets.tensorflow.api import callables
from gradfuzz.targets.tensorflow.derivatives import TensorflowTransforms
from gradfuzz.targets.tensorflow.forked import in_forks
from gradfuzz.targets.tensorflow.function import Function, Inputs, add_weights, build
from gradfuzz.targets.tensorflow.probing import RAW, SEEDS_PER_CALLABLE, SEEDS_PER_WAY, attempts
from gradfuzz.targets.tensorflow.rules import existing_rules
from gradfuzz.targets.tensorflow.tensors import tensors
from gradfuzz.targets.tensorflow.transcribe import Transcriber

EXAMPLES_PER_CALLABLE = 1
# A callable that never gives a seed must not hold up the others.
SECONDS = 1.5
EXAMPLE_SECONDS = 1.0
# One that ran so often without an output that moves has none.
IN_VAIN = 5
MOST_ELEMENTS = 2**14
# A function of one operator has a seed of that operator already; one of many is better mutated as a whole.
FEWEST_CALLS, MOST_CALLS = 3, 16
_WRITTEN = Path(__file__).with_name("operators.txt")


def sample_seeds(target: Any, trying: Trying = anything) -> Iterator[SeedProgram]:
    """Programs, each of which ran and depends on its inputs. Ones with the same text come once."""
    yield from each_once(_all(target, trying))


def _all(target: Any, trying: Trying) -> Iterator[SeedProgram]:
    def work(thing: tuple[str, str]) -> Iterator[dict[str, Any]]:
        found = _from_text(target, thing[1]) if thing[0] == "text" else _from_api(target, thing[1])
        return ({"program": to_json(s.program), "source": s.source, "api": s.api} for s in found)

    things = [("text", text) for text in written() if trying(_called(target, text))]
    things += [("api", path) for path in surface(target) if trying(path)]
    for row in in_forks(things, work):
        yield SeedProgram(from_json(row["program"]), row["source"], row["api"])


def surface(target: Any) -> list[str]:
    """Callables that may have a derivative: operators without a registered gradient have none."""
    rules = existing_rules()
    paths = [path for path, _ in callables(target.language)]
    return [path for path in paths if not path.startswith(RAW) or path[len(RAW) :] in rules]


def _called(target: Any, text: str) -> str:
    program = parsed(text, target)
    return program.api if program is not None else text


def _from_text(target: Any, text: str) -> Iterator[SeedProgram]:
    program = parsed(text, target)
    if program is not None and tried(target, program, must_move=False) == WORKS:
        yield SeedProgram(program, "written", program.api)


def _from_api(target: Any, path: str) -> Iterator[SeedProgram]:
    value = target.compiler.resolve(path)
    recorded = False
    for seed in _probed(target, path, value):
        yield seed
        if not recorded and not path.startswith(RAW):
            recorded = True
            yield from _recorded(target, seed)
    yield from _documented(target, path, value)


def _recorded(target: Any, seed: SeedProgram) -> Iterator[SeedProgram]:
    """The operators that a function is made of, so that edits reach their arguments too."""
    try:
        binding, function = _bound(target, seed.program)
        if binding.fixed:
            return
        program = Transcriber(target.language).transcribe(lambda *xs: function(xs, []), binding.leaves)
        program = program.with_inputs(_structured(program, binding.structures))
    except Exception:
        return
    if FEWEST_CALLS <= sum(1 for call in program.calls() if call.func.startswith(RAW)) <= MOST_CALLS and works(target, program):
        yield SeedProgram(program, f"recorded:{seed.api}", seed.api)


def _bound(target: Any, program: Program) -> tuple[Binding, Function]:
    """A Program's inputs, layers' weights included, and its function. Nothing is traced."""
    binding = Inputs(program, target.compiler)
    function = build(binding, program)
    add_weights(binding, function)
    return binding, function


def _structured(program: Program, structures: list[str | None]) -> dict[str, Tensor]:
    """The first inputs with the structure that they have where they come from: a symmetric matrix stays one."""
    return {name: replace(r, structure=s) for (name, r), s in zip(program.inputs.items(), structures) if s is not None}


def written() -> list[str]:
    """Programs for operators whose definition does not tell what they want."""
    parts = _WRITTEN.read_text(encoding="utf-8").split("\n\n")
    return [part + "\n" for part in parts if part.strip() and not part.startswith("#")]


def _probed(target: Any, path: str, value: Any) -> Iterator[SeedProgram]:
    found: Counter[str] = Counter()
    vain, until = 0, time.monotonic() + SECONDS
    for way, texts in attempts(path, value):
        if found[way] >= SEEDS_PER_WAY:
            continue
        for text in texts:
            program = parsed(text, target)
            said = RAISES if program is None else tried(target, program)
            if program is not None and said == WORKS:
                yield SeedProgram(program, f"signature:{path}", path)
                found[way] += 1
                break
            vain += said == IDLE
            if time.monotonic() > until or (vain >= IN_VAIN and not found):
                return
        if sum(found.values()) >= SEEDS_PER_CALLABLE:
            return


def _documented(target: Any, path: str, value: Any) -> Iterator[SeedProgram]:
    """Examples that call what they document."""
    found, until = 0, time.monotonic() + EXAMPLE_SECONDS
    for program in examples(getattr(value, "__doc__", None) or "", target.compiler):
        if found >= EXAMPLES_PER_CALLABLE or time.monotonic() > until:
            return
        if any(call.func == path for call in program.calls()) and works(target, program):
            yield SeedProgram(program, f"docstring:{path}", path)
            found += 1


# What trying a Program says: it is a seed, it runs and has nothing to differentiate, it does not run.
WORKS, IDLE, RAISES = "works", "idle", "raises"


def works(target: Any, program: Program) -> bool:
    return tried(target, program) == WORKS


def tried(target: Any, program: Program, must_move: bool = True) -> str:
    """Whether the Program runs, gives finite numbers that move when its inputs do, and is not declared to have no derivative."""
    try:
        binding, function = _bound(target, program)
        fixed, here = tensors(list(binding.fixed.values())), tensors(binding.leaves)
        outputs = function(here, fixed)
        if not here or not outputs or sum(int(np.prod(o.shape)) for o in outputs) > MOST_ELEMENTS:
            return IDLE
        again = function(here, fixed)
        moved = function(tensors([nudged(x) for x in binding.leaves]), fixed)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return RAISES
    if not must_move:
        return WORKS
    same = all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(outputs, again))
    if not same or not moves(outputs, moved):
        return IDLE
    try:
        weights = tensors([np.ones(tuple(o.shape), o.dtype.as_numpy_dtype) for o in outputs])
        TensorflowTransforms().pull(lambda xs: function(xs, fixed), here, weights)
    except Exception as error:
        return IDLE if target.classify(error).kind == "unsupported" else WORKS
    return WORKS
