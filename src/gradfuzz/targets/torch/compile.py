"""Compiled ways: `torch.compile` around F, or around its derivative, with each of the backends that do more and more.

One compilation serves all numbers of the same shapes and types. Dynamo keeps what it compiled by the code that was called, and all Programs
share ours: so what was compiled for one Program is dropped before the next, or it would soon refuse to compile any more.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable, Optional, Protocol

import torch

from gradfuzz.targets.base.nesting import derivative as folded
from gradfuzz.targets.base.plans import Plans
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.torch.derivatives import Function, NestingUnsupported, Tensors
from gradfuzz.targets.torch.leaks import let_go
from gradfuzz.targets.torch.tensors import to_numpy
from gradfuzz.targets.torch.transforms import Transforms, functional

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

# The stages of the compiler by the names of our ways, each doing what the one before it does and something more.
BACKENDS = {"dynamo": "eager", "aot_eager": "aot_eager", "decomposed": "aot_eager_decomp_partition", "inductor": "inductor"}
# A Program is compiled for each way and for each nesting in it.
MOST_COMPILED = 64
AROUND = "aot_eager"  # the backend of compositions: what goes wrong there goes wrong in the transforms

# Exceptions of the compiler's by which it says that it cannot, in any of its stages.
_CANNOT = (
    "Unsupported", "UserError", "DataDependentOutputException", "DynamicOutputShapeException", "UnsupportedOperatorException",
    "GuardOnDataDependentSymNode", "UnsupportedFakeTensorException", "PendingUnbackedSymbolNotFound", "FailOnRecompileLimitHit",
)  # fmt: skip


class HasF(Protocol):
    """All that a derivative needs of a point."""

    def function(self, xs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]: ...


Derivative = Callable[[HasF, Tensors, Modes, Sequence[Tensors], Tensors], tuple[Any, Any]]
Way = Callable[["TorchPoint", Tensors, Modes, Sequence[Vec], Optional[Vec]], Outcome]


class Compiled:
    """What was compiled for the Program at hand."""

    def __init__(self) -> None:
        self.texts: Plans[None] = Plans(1)
        self._key: tuple[Any, ...] = ()
        self._kept: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def function(self, point: TorchPoint, what: tuple[Any, ...], make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        """The compiled function that is called `what`; made where this Program's has not been yet."""
        key = point.compile_key(self.texts)
        if key != self._key:
            self.forget()
            self._key = key
        name = (type(point).__name__, getattr(point, "rule", None), *what)
        if name not in self._kept:
            configure()
            self._kept[name] = make()
        return self._kept[name]

    def forget(self) -> None:
        if self._kept:
            torch._dynamo.reset()
        self._key, self._kept = (), {}


KEPT = Compiled()


@lru_cache(maxsize=1)
def configure() -> None:
    """The compiler's settings for this process."""
    import torch._dynamo
    import torch._inductor.config

    torch._inductor.config.compile_threads = 1  # a pool of processes would outlive the worker
    torch._dynamo.config.recompile_limit = MOST_COMPILED
    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)
    logging.getLogger("torch._inductor").setLevel(logging.CRITICAL)


def prepare(ways: Sequence[str]) -> None:
    """Pay for imports, and for the headers of generated code, before workers are forked. No backward pass: its engine bears no fork."""
    backends = {backend for name, backend in BACKENDS.items() if any(way.endswith(name) for way in ways)} | {
        AROUND for way in ways if "compiled-" in way
    }
    if not backends or not hasattr(torch, "compile"):
        return
    configure()
    if "inductor" in backends:
        from torch._inductor.runtime.cache_dir_utils import cache_dir

        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache_dir()  # the same for all workers, whose temporary folders are their own
    if torch.backends.cuda.is_built():
        return  # compiling asks a device's runtime for its state, which bears no fork either: each worker begins anew
    with torch.no_grad():
        for backend in sorted(backends):
            torch.compile(lambda x: torch.sin(x) + 1, backend=backend, dynamic=False)(torch.ones(2, dtype=torch.float64))
    torch._dynamo.reset()


def compiled(backend: str) -> Way:
    """Reverse mode through compiled F, as training does it; forward mode and nestings of `torch.func` inside the compiled function."""

    def way(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
        check(point)
        if len(modes) > 1 or "f" in modes:
            return _around(point, xs, modes, us, v, backend, _folded)
        return point.in_tape(compiled_function(point, backend), xs, modes, us, v)

    return way


def compiled_function(point: TorchPoint, backend: str = AROUND) -> Function:
    """Compiled F."""
    check(point)
    made = KEPT.function(point, ("F", backend), lambda: torch.compile(point.of_tensors, backend=backend, fullgraph=True, dynamic=False))
    return lambda xs: list(saying(made, *xs, *point.others()))


def compiled_around(derivative: Derivative, backend: str = AROUND) -> Way:
    """The whole derivative in one compiled function."""

    def way(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
        check(point)
        return _around(point, xs, modes, us, v, backend, derivative)

    return way


def _around(
    point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None, backend: str, derivative: Derivative
) -> Outcome:  # fmt: skip
    if not modes or v is None:
        raise NotImplementedError("there is no derivative to compile")
    if functional is None:
        raise NestingUnsupported("this release has no torch.func")

    def whole(xs: Any, us: Any, v: Any, others: Any) -> Any:
        outputs, result = derivative(point.given(others), xs, modes, us, v)
        return tuple(outputs or ()), tuple(result)

    what = (derivative.__name__, modes, backend)
    function = KEPT.function(point, what, lambda: torch.compile(whole, backend=backend, fullgraph=True, dynamic=False))
    directions = tuple(tuple(point.native(u)) for u in us)
    with torch.no_grad():
        found = saying(function, tuple(x.detach() for x in xs), directions, tuple(point.native_like(v)), tuple(point.others()))
    return outcome(found, modes)


def outcome(found: tuple[Any, Any], modes: Modes) -> Outcome:
    """What a derivative found, as the oracles want it."""
    outputs, result = found
    return Outcome([to_numpy(o.detach()) for o in outputs or ()], [to_numpy(r.detach()) for r in result], "r" in modes)


def _folded(point: HasF, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    return folded(Transforms(), lambda inputs: tuple(point.function(inputs)), xs, modes, us, v)


def check(point: TorchPoint) -> None:
    """NotImplementedError where nothing can be compared with a compiled F."""
    if not hasattr(torch, "compile"):
        raise NestingUnsupported("this release has no torch.compile")
    if point.random:
        raise NotImplementedError("a compiler may draw its random numbers in another order")


def saying(function: Callable[..., Any], *args: Any) -> Any:
    """Call it; what the compiler declares that it cannot do is unsupported."""
    try:
        return function(*args)
    except Exception as error:
        let_go(error)
        cause: BaseException | None = error
        while cause is not None:
            if type(cause).__name__ in _CANNOT:
                raise NestingUnsupported(f"it cannot be compiled: {str(cause).splitlines()[0] if str(cause) else cause!r}") from None
            cause = getattr(cause, "inner_exception", None) or cause.__cause__
        raise
