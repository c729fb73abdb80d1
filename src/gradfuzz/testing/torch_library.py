"""PyTorch for people's own functions: the tape, dual numbers and torch.func, nested as in campaigns."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.autograd.forward_ad as fwd

import gradfuzz.targets.torch as torch_target
from gradfuzz.targets.protocol import Modes, Outcome, Refusal
from gradfuzz.targets.torch.nesting import NestingUnsupported, derivative
from gradfuzz.testing.library import Function, Unsupported, WrongGradientShape, dtype_name

Array = Any
RNG_SEED = 20240229
_REFUSALS = Path(next(iter(torch_target.__path__))) / "refusals.json"


class TorchLibrary:
    """The installed PyTorch, with its settings left alone."""

    name = "torch"
    version = str(torch.__version__).split("+")[0]
    highest_order = 4
    forward_mode = True

    def __init__(self) -> None:
        rows = json.loads(_REFUSALS.read_text(encoding="utf-8"))["refusals"]
        self._refusals = [(re.compile(row["pattern"]), row["kind"]) for row in rows]

    def session(self) -> AbstractContextManager[Any]:
        # Nothing is recorded but where a tape is asked for; random numbers drawn by the function stay the check's own affair.
        return _Quiet()

    def opened(self, function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """A module's parameters are inputs like any other."""
        if not isinstance(function, torch.nn.Module) or not any(True for _ in function.parameters()):
            return function, inputs
        module = function

        def call(parameters: dict[str, Any], *rest: Any) -> Any:
            return torch.func.functional_call(module, parameters, rest)

        own = inspect.Parameter("parameters", inspect.Parameter.POSITIONAL_ONLY)
        rest = [p.replace(kind=own.kind, default=own.default) for p in inspect.signature(module.forward).parameters.values()]
        call.__name__ = type(module).__name__
        call.__signature__ = inspect.Signature([own, *rest])  # type: ignore[attr-defined]
        return call, ({name: p.detach() for name, p in module.named_parameters()}, *inputs)

    def owns(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def dtype(self, tensor: Any) -> str:
        return dtype_name(tensor.dtype)

    def tensor(self, array: Array, dtype: str) -> Any:
        tensor = torch.from_numpy(np.asarray(array))
        return tensor if dtype_name(array.dtype) == dtype else tensor.to(getattr(torch, dtype))

    def array(self, tensor: Any) -> Array:
        plain = tensor.detach().cpu().resolve_conj().resolve_neg()
        return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()

    def draws(self, call: Callable[[], Any]) -> tuple[Any, bool]:
        before = torch.get_rng_state()
        return call(), not torch.equal(before, torch.get_rng_state())

    def reseed(self) -> None:
        torch.manual_seed(RNG_SEED)

    def derivative(self, function: Function, xs: Sequence[Any], modes: Modes, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        if modes == ("r",):
            return self._reverse(function, xs, us[0], v)
        directions = [[torch.from_numpy(a).to(x.dtype) for a, x in zip(u, xs)] for u in us]
        if modes == ("f",):
            return self._forward(function, xs, directions[0])
        weights = [torch.from_numpy(np.asarray(a)) for a in v]
        outputs, result, contracted = derivative(function, xs, modes, directions, weights)
        return Outcome([self.array(o) for o in outputs], [self.array(r) for r in result], contracted)

    def _reverse(self, function: Function, xs: Sequence[Any], u: list[Array], v: list[Array]) -> Outcome:
        leaves = [x.requires_grad_() for x in xs]
        with torch.enable_grad():
            # Copies: a function that writes to its inputs may do so, as it may write to any tensor that is not a leaf.
            outputs = function([x.clone() for x in leaves])
        live = [(o, torch.from_numpy(np.asarray(w)).to(o.dtype)) for o, w in zip(outputs, v) if o.requires_grad]
        total = 0.0
        if live:
            gradients = torch.autograd.grad([o for o, _ in live], leaves, [w for _, w in live], allow_unused=True)
            for position, (gradient, direction) in enumerate(zip(gradients, u)):
                if gradient is None:
                    continue
                array = self.array(gradient)
                if array.shape != direction.shape:
                    raise WrongGradientShape(f"the gradient of input {position} has shape {array.shape}, the input {direction.shape}")
                total += float(np.vdot(array if array.dtype.itemsize >= 8 else array.astype(np.float64), direction).real)
        return Outcome([self.array(o) for o in outputs], [np.float64(total)], True)

    def _forward(self, function: Function, xs: Sequence[Any], u: Sequence[Any]) -> Outcome:
        with fwd.dual_level():
            pairs = [fwd.unpack_dual(o) for o in function([fwd.make_dual(x, d) for x, d in zip(xs, u)])]
            outputs = [self.array(p) for p, _ in pairs]
            return Outcome(outputs, [np.zeros(p.shape) if t is None else self.array(t) for p, t in pairs])

    def classify(self, error: BaseException) -> Refusal:
        message = str(error).split("\nException raised from")[0].strip()
        if isinstance(error, (NestingUnsupported, Unsupported, NotImplementedError)):
            return Refusal("unsupported", message)
        for pattern, kind in self._refusals:
            if pattern.search(message):
                return Refusal(kind, message)
        if "jvp" in message and "implement" in message:  # a torch.autograd.Function that has a backward alone
            return Refusal("unsupported", message)
        return Refusal("error", f"{type(error).__name__}: {message}")


class _Quiet:
    """No recording, and the generator's state put back at the end."""

    def __enter__(self) -> None:
        self._grad, self._state = torch.is_grad_enabled(), torch.get_rng_state()
        torch.set_grad_enabled(False)

    def __exit__(self, *_: object) -> None:
        torch.set_grad_enabled(self._grad)
        torch.set_rng_state(self._state)
