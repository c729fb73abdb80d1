"""Seeds from PyTorch's own operator and module samples, which ship inside the installed library."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Call, Let, Program, Ref
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.protocol import SeedProgram, Target, Trying, anything
from gradfuzz.targets.base.seeds import each_once
from gradfuzz.targets.torch.transcribe import NotAProgram, Transcriber, public_name

SAMPLES_PER_OPERATOR = 10
VARIANT_SAMPLES = 2
SAMPLES_PER_MODULE = 6
MAX_SAMPLE_ELEMENTS = 20_000
SHORT_SIDE = 3
# A relative step this small moves a smooth function by as little; a jump is a thousand times more.
LABEL_STEP = 1e-9
LABEL_JUMP = 1e-5
HERMITIAN_WRAPPERS = ("gradcheck_wrapper_hermitian_input",)


def sample_seeds(target: Target, trying: Trying = anything) -> Iterator[SeedProgram]:
    """Programs, each of which ran. Ones with the same text come once."""
    _stand_in_for_expecttest()
    yield from each_once(_all(target, trying))


def _all(target: Target, trying: Trying) -> Iterator[SeedProgram]:
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        for dtype in (torch.float64, torch.complex128):
            if info.supports_autograd and dtype in _dtypes(info) and trying(public_name(info.op) or info.name, info.name):
                yield from _operator_seeds(target, info, dtype)
                break
    try:
        from torch.testing._internal.common_modules import module_db
    except Exception:  # its own imports differ from release to release
        return
    for info in module_db:
        if trying(f"torch.nn.{info.module_cls.__name__}"):
            yield from _module_seeds(target, info)


def _dtypes(info: Any) -> Any:
    try:
        return info.supported_dtypes("cpu")
    except Exception:
        return info.dtypes


def _stand_in_for_expecttest() -> None:
    """PyTorch's samples import test modules of which they use nothing but names; older releases import yaml too."""
    import unittest

    def stand_in(name: str) -> Any:
        """Anything that is imported from the stub: a class that nobody makes an object of."""
        if name.startswith("__"):
            raise AttributeError(name)
        return unittest.TestCase if name == "TestCase" else type(name, (), {})

    for name in ("expecttest", "yaml"):
        try:
            __import__(name)
        except ImportError:
            stub: Any = types.ModuleType(name)
            stub.__getattr__ = stand_in
            sys.modules[name] = stub


def _operator_seeds(target: Target, info: Any, dtype: torch.dtype) -> Iterator[SeedProgram]:
    torch.manual_seed(0)
    np.random.seed(0)
    try:
        samples = list(info.sample_inputs("cpu", dtype, requires_grad=True))
    except Exception:
        return
    name = info.name + (f".{info.variant_test_name}" if info.variant_test_name else "")
    for sample in _spread(samples, SAMPLES_PER_OPERATOR):
        program = _recorded(target, info, sample, info.op)
        if program is not None:
            yield SeedProgram(program, f"op_db:{name}", public_name(info.op) or program.api)
    forms = [("method", info.method_variant), ("in place", info.inplace_variant)]
    for alias in info.aliases or ():
        forms += [("alias", alias.op), ("alias", alias.method_variant), ("alias", alias.inplace_variant)]
    for form, variant in forms:
        if variant is None:
            continue
        for sample in _spread(samples, VARIANT_SAMPLES):
            program = _recorded(target, info, sample, variant)
            if program is not None:
                yield SeedProgram(program, f"op_db:{name}:{form}", public_name(variant) or program.api)


def _spread(samples: list[Any], most: int) -> list[Any]:
    """At most so many, evenly spaced: neighbours among samples resemble each other."""
    if len(samples) <= most:
        return samples
    return [samples[i * len(samples) // most] for i in range(most)]


def _recorded(target: Target, info: Any, sample: Any, op: Any) -> Program | None:
    """The sample's Program with short recipes if it then still runs, else with its very numbers."""
    for exact in (False, True):
        try:
            program = _reduced(_record(target, info, sample, op, exact))
            if _runs(target, program):
                return _with_fixed_labels(target, program)
        except (ProgramError, RuntimeError, TypeError, ValueError, IndexError, AttributeError, NotImplementedError, AssertionError):
            continue
    return None


def _reduced(program: Program) -> Program:
    """A sample made to be large (for a kernel's other path) costs as much as a thousand others: quarter its long sides."""
    while sum(r.elements for r in program.inputs.values()) > MAX_SAMPLE_ELEMENTS:
        longest = max(n for r in program.inputs.values() for n in r.shape)
        if longest <= SHORT_SIDE:
            raise ProgramError("a sample too large to be worth its time")
        shorter = max(SHORT_SIDE, longest // 4)
        program = program.with_inputs(
            {
                name: replace(r, shape=tuple(shorter if n == longest else n for n in r.shape))
                for name, r in program.inputs.items()
                if longest in r.shape
            }
        )
    return program


def _record(target: Target, info: Any, sample: Any, op: Any, exact: bool) -> Program:
    transcriber = Transcriber(target.language, exact)
    wrapper = getattr(info, "gradcheck_wrapper", None)
    hermitian = getattr(wrapper, "__name__", "") in HERMITIAN_WRAPPERS
    first, args, kwargs = sample.input, sample.args, sample.kwargs
    if hermitian:
        symmetric = (first + first.mH).detach().requires_grad_(first.requires_grad)
        definite = bool((torch.linalg.eigvalsh(symmetric) > 0).all())
        wrapped: Any = transcriber.input(symmetric, "positive_definite" if definite else "symmetric")
    else:
        wrapped = _wrap(transcriber, first)
    wrapped_args, wrapped_kwargs = _wrap(transcriber, tuple(args)), _wrap(transcriber, dict(kwargs))
    called = transcriber.watched(op)
    if wrapper is not None and not hermitian:
        result = wrapper(called, wrapped, *wrapped_args, **wrapped_kwargs)
    else:
        result = called(wrapped, *wrapped_args, **wrapped_kwargs)
    process = getattr(sample, "output_process_fn_grad", None)
    return transcriber.program(process(result) if process is not None else result)


def _wrap(transcriber: Transcriber, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return transcriber.input(value)
    if isinstance(value, tuple) and not isinstance(value, torch.Size):
        return tuple(_wrap(transcriber, part) for part in value)
    if isinstance(value, list):
        return [_wrap(transcriber, part) for part in value]
    if isinstance(value, dict):
        return {key: _wrap(transcriber, part) for key, part in value.items()}
    return value


def _with_fixed_labels(target: Target, program: Program) -> Program:
    """Floating inputs that are really labels (±1, class numbers) are not differentiated: F jumps where they are moved."""
    names = [name for name, r in program.inputs.items() if r.differentiable]
    for position, name in enumerate(names):
        recipe = program.inputs[name]
        array = materialise(recipe)
        if not array.size or array.dtype.kind != "f" or (array != np.round(array)).any() or not (array != 0).any():
            continue
        arrays = [materialise(program.inputs[n]) for n in names]
        before = target.point(program, arrays).first()
        arrays[position] = array * (1 + LABEL_STEP)
        after = target.point(program, arrays).first()
        moved = max((float(np.abs(a - b).max()) for a, b in zip(before, after) if a.size and a.shape == b.shape), default=0.0)
        size = max((float(np.abs(a).max()) for a in before if a.size), default=0.0)
        if moved > LABEL_JUMP * size:
            program = program.with_inputs({name: replace(recipe, grad=False)})
            names = [n for n in names if n != name]
            return _with_fixed_labels(target, program)
    return program


def _runs(target: Target, program: Program) -> bool:
    """Whether the Program runs and its outputs are finite: the sample's domain was kept."""
    outputs = target.point(program).first()
    return bool(outputs) and all(np.isfinite(o).all() for o in outputs)


def _module_seeds(target: Target, info: Any) -> Iterator[SeedProgram]:
    torch.manual_seed(0)
    name = info.module_cls.__name__
    inputs: list[Any] = []
    for training in (True, False):
        try:
            made = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training)
        except TypeError:
            try:
                made = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True)
            except Exception:
                continue
        except Exception:
            continue
        inputs.extend((training, item) for item in _spread(list(made), SAMPLES_PER_MODULE // 2))
    for training, item in inputs:
        program = _module_program(target, name, item, training)
        if program is not None:
            yield SeedProgram(program, f"module_db:{name}", f"torch.nn.{name}")


def _module_program(target: Target, name: str, item: Any, training: bool) -> Program | None:
    for exact in (False, True):
        transcriber = Transcriber(target.language, exact)
        try:
            constructor, forward = item.constructor_input, item.forward_input
            kwargs = {k: v for k, v in constructor.kwargs.items() if k not in ("device", "dtype")}
            made = Call(
                f"torch.nn.{name}",
                tuple(transcriber.expr(_wrap(transcriber, a)) for a in constructor.args),
                tuple((k, transcriber.expr(_wrap(transcriber, v))) for k, v in kwargs.items()),
            )
            if not training:
                made = Call(".eval", (made,))
            called = Call(
                "()",
                (Ref("module"), *(transcriber.expr(_wrap(transcriber, a)) for a in forward.args)),
                tuple((k, transcriber.expr(_wrap(transcriber, v))) for k, v in forward.kwargs.items()),
            )
            program = Program((*transcriber.inputs, Let(("module",), made), Let(("y",), called))).check()
            if _runs(target, program):
                return program
        except (NotAProgram, ProgramError, RuntimeError, TypeError, ValueError, AttributeError, AssertionError, NotImplementedError):
            continue
    return None
