"""PyTorch for people's own functions: the derivatives and the refusals of campaigns, with PyTorch's settings left alone."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Callable

import numpy as np
import torch

from gradfuzz.program.model import Program
from gradfuzz.targets.base.dtypes import dtype_name
from gradfuzz.targets.base.functions import Array, Function, Functions
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.refusals import Refusals
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.torch.derivatives import NoGradient, along, forward, nested, reverse
from gradfuzz.targets.torch.leaks import nothing_left
from gradfuzz.targets.torch.modules import functional_call
from gradfuzz.targets.torch.point import RNG_SEED, TorchPoint
from gradfuzz.targets.torch.refusals import TorchRefusals
from gradfuzz.targets.torch.tensors import to_numpy
from gradfuzz.targets.torch.ways import DERIVATIVES, FUNCTIONS, WAYS

# Two passes over one graph may differ by the order of sums and by nothing else.
SAME = 1e-6


class TorchFunctions(Functions):
    """The installed PyTorch."""

    version = str(torch.__version__).split("+")[0]
    own_integers = True
    marks_inputs = True
    way_names = WAYS

    def read_refusals(self, data: dict[str, Any]) -> Refusals:
        return TorchRefusals(data)

    def session(self) -> AbstractContextManager[Any]:
        # Nothing is recorded but where a tape is asked for; random numbers drawn by the function stay the check's own affair.
        return _Quiet()

    def opened(self, function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """A module's parameters are inputs like any other."""
        if not isinstance(function, torch.nn.Module) or not any(True for _ in function.parameters()):
            return function, inputs
        module = function

        def call(parameters: dict[str, Any], *rest: Any) -> Any:
            return functional_call(module, parameters, rest)

        own = inspect.Parameter("parameters", inspect.Parameter.POSITIONAL_ONLY)
        rest = [p.replace(kind=own.kind, default=own.default) for p in inspect.signature(module.forward).parameters.values()]
        call.__name__ = type(module).__name__
        call.__signature__ = inspect.Signature([own, *rest])  # type: ignore[attr-defined]
        return call, ({name: p.detach() for name, p in module.named_parameters()}, *inputs)

    def owns(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def tensor(self, array: Array, dtype: str) -> Any:
        tensor = torch.from_numpy(np.asarray(array))
        return tensor if dtype_name(array.dtype) == dtype else tensor.to(getattr(torch, dtype))

    def array(self, tensor: Any) -> Array:
        return to_numpy(tensor.detach().cpu())

    def draws(self, call: Callable[[], Any]) -> tuple[Any, bool]:
        before = torch.get_rng_state()
        return call(), not torch.equal(before, torch.get_rng_state())

    def reseed(self) -> None:
        torch.manual_seed(RNG_SEED)

    def derivative(self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        weights = [torch.from_numpy(np.asarray(a)) for a in v]
        if scenario.modes == ("r",):
            return self._reverse(_on_copies(function), xs, us[0], weights)
        directions = [[torch.from_numpy(np.asarray(a)).to(x.dtype) for a, x in zip(u, xs)] for u in us]
        if scenario.modes == ("f",):
            return _undeclared(forward(function, xs, directions[0]))
        return nested(_on_copies(function), xs, scenario.modes, directions, weights)

    def beside(self, function: Function, xs: Sequence[Any], u: list[Array]) -> Outcome:
        # On the tape, as `create_graph=True` leaves it: the value is recorded for reverse mode and carries a tangent.
        leaves = [x.detach().requires_grad_() for x in xs]
        with torch.enable_grad():
            found = forward(_on_copies(function), leaves, [torch.from_numpy(np.asarray(a)).to(x.dtype) for a, x in zip(u, xs)])
        return _undeclared(found)

    def plain(self, tensor: Any) -> bool:
        # A fresh tensor of the same numbers is not the same thing where the class, the layout or the device is another.
        return type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout == torch.strided and tensor.device.type == "cpu"

    def in_way(
        self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array], random: bool
    ) -> Outcome:  # fmt: skip
        point, way, modes = OwnPoint(_on_copies(function), xs, random), scenario.way, scenario.modes
        directions, weights = [Vec(u) for u in us], Vec([np.asarray(a) for a in v])
        with nothing_left():
            if way in FUNCTIONS:
                return point.in_tape(FUNCTIONS[way](point), xs, modes, directions, weights)
            return DERIVATIVES[way](point, xs, modes, directions, weights)

    def _reverse(
        self, function: Function, xs: Sequence[Any], u: list[Array], v: list[Any], taped: list[Any] | None = None, keep: bool = False
    ) -> Outcome:  # fmt: skip
        try:
            return _undeclared(reverse(function, xs, u, v, [] if taped is None else taped, keep))
        except NoGradient:
            outputs = [self.array(o) for o in function(xs)]
            return Outcome(outputs, [np.float64(0.0)], True)

    def recording(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # A force is the gradient of an energy, and so on: `torch.autograd.grad` inside a function wants the tape.
        @functools.wraps(function)
        def call(*args: Any) -> Any:
            with torch.enable_grad():
                return function(*args)

        return call

    def watched(
        self, function: Function, xs: Sequence[Any], names: Sequence[str], scenario: Scenario, us: Sequence[list[Array]], v: list[Array]
    ) -> tuple[Outcome, list[str]]:  # fmt: skip
        weights = [torch.from_numpy(np.asarray(a)) for a in v]
        watch, taped = _Watch(function), []  # type: tuple[_Watch, list[Any]]
        outcome = self._reverse(watch, xs, us[0], weights, taped, keep=True)
        told = watch.changed(names)
        if taped:
            given = [c.to(o.dtype) for o, c in zip(watch.outputs, weights) if o.requires_grad]
            try:
                again = along(torch.autograd.grad(taped, watch.leaves, given, retain_graph=True, allow_unused=True), us[0])
            except RuntimeError as error:
                return outcome, [*told, f"a second backward pass over the same graph raises: {str(error).splitlines()[0][:200]}"]
            first = float(outcome.result[0])
            if abs(again - first) > SAME * max(abs(again), abs(first)):
                told.append("a second backward pass over the same graph gives another gradient")
        return outcome, told

    def training_step(self, call: Function, arrays: Sequence[Array], dtypes: Sequence[str]) -> Callable[[], Any]:
        tensors = [self.tensor(np.array(a), d).requires_grad_() for a, d in zip(arrays, dtypes)]

        def step() -> Any:
            with torch.enable_grad():
                outputs = call(tensors)
                sum(o.sum() for o in outputs if o.requires_grad).backward()
            return outputs

        return step


class OwnPoint(TorchPoint):
    """A person's function where ways want a point: as much of one as they ask for. It has no Program, so no other forms."""

    def __init__(self, function: Function, xs: Sequence[Any], random: bool) -> None:
        self.own, self.leaves, self.random = function, list(xs), random
        self.program, self.steps, self.modules, self.resting = Program(()), [], [], {}
        self.device, self.mutates = "", False
        self.output_dtypes = [o.dtype for o in function(self.leaves)]

    def compile_key(self, texts: Any) -> tuple[Any, ...]:
        return (self,)  # whatever the function closes over may have changed since

    def function(self, xs: Sequence[Any]) -> list[Any]:
        return list(self.own(xs))

    seedless = raw = function

    def of_tensors(self, *tensors: Any) -> tuple[Any, ...]:
        return tuple(self.own(tensors))

    writing = of_tensors

    def given(self, others: Sequence[Any]) -> Any:
        return self


def _on_copies(function: Function) -> Function:
    """A function that writes to its inputs may do so, as it may write to any tensor that is not a leaf."""
    return lambda xs: function([x.clone() for x in xs])


class _Watch:
    """A function on copies of its inputs, with an eye on them."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, xs: Sequence[Any]) -> list[Any]:
        self.leaves, self.given = list(xs), [x.clone() for x in xs]
        self.nodes = [x.grad_fn for x in self.given]
        self.outputs = list(self.function(self.given))
        return self.outputs

    def changed(self, names: Sequence[str]) -> list[str]:
        """Inputs that were written to without autograd's knowledge: what does so in its sight gives them another node."""
        return [
            f"it changes its input {name} behind autograd's back: gradients of whatever else uses that tensor are wrong"
            for name, leaf, seen, node in zip(names, self.leaves, self.given, self.nodes)
            if seen.grad_fn is node and not torch.equal(torch.nan_to_num(leaf.detach()), torch.nan_to_num(seen.detach()))
        ]


def _undeclared(outcome: Outcome) -> Outcome:
    """An output off the tape is no declaration in people's own code: its derivative counts as zero."""
    return Outcome(outcome.outputs, outcome.result, outcome.contracted)


class _Quiet:
    """No recording, and the generator's state put back at the end."""

    def __enter__(self) -> None:
        self._grad, self._state = torch.is_grad_enabled(), torch.get_rng_state()
        torch.set_grad_enabled(False)

    def __exit__(self, *_: object) -> None:
        torch.set_grad_enabled(self._grad)
        torch.set_rng_state(self._state)
