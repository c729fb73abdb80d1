"""Numbers of F's calls as arguments of what is compiled, and sizes as symbols: one piece of compiled code is for all of them.

A compiler that takes a size, an exponent or an index for unknown has other formulas than for a number that it knows. F is what it was; and
so it is after a call with other numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Callable

import torch

from gradfuzz.program.model import Tensor
from gradfuzz.program.unknown import without_numbers
from gradfuzz.targets.base.evaluate import Steps, run_steps
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.torch.compile import AROUND, KEPT, check, outcome, saying
from gradfuzz.targets.torch.derivatives import Function, NestingUnsupported, NoGradient, Tensors, along, needed
from gradfuzz.targets.torch.leaks import let_go
from gradfuzz.targets.torch.tensors import floating, to_numpy
from gradfuzz.targets.torch.transformed import by_transforms
from gradfuzz.targets.torch.transforms import functional

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

Numbers = tuple[Any, ...]


class Unknown:
    """F of its tensors and of the numbers of its calls."""

    def __init__(self, point: TorchPoint) -> None:
        self.point = point
        self.steps: Steps = []
        self.known: dict[str, Any] = {}
        if statements := point.program.statements:  # a person's own function has none: its numbers are its own
            made = set(point.made)
            calls = [s for s in statements if not isinstance(s.value, Tensor) and not made & set(s.names)]
            lifted, self.known = without_numbers(calls, {name for s in statements for name in s.names})
            self.steps = [(s.names, point.compiler.closure(s.value)) for s in lifted]
        self.numbers: Numbers = tuple(self.known.values())

    def function(self, numbers: Sequence[Any], xs: Tensors, others: Tensors) -> tuple[torch.Tensor, ...]:
        if not self.steps:
            return tuple(self.point.given(others).function(xs))
        environment = self.point.environment(xs, others)
        environment.update(zip(self.known, numbers))
        return tuple(floating(run_steps(self.steps, environment)))

    def of_all(self, numbers: Numbers, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        count = len(self.point.leaves)
        return self.function(numbers, tensors[:count], tensors[count:])

    def others(self) -> Iterator[Numbers]:
        """The numbers with the whole ones among them one more, all together or each by itself: the first such that F takes."""
        whole = [index for index, n in enumerate(self.numbers) if type(n) is int]
        for chosen in (whole, *([index] for index in whole)) if whole else ():
            numbers = tuple(n + (index in chosen) for index, n in enumerate(self.numbers))
            try:
                with torch.no_grad():
                    self.function(numbers, self.point.leaves, self.point.others())
            except Exception:
                continue
            yield numbers
            return
        raise NotImplementedError("it takes no other whole numbers")


class _With:
    """F at given numbers, where a derivative needs nothing else of it."""

    def __init__(self, unknown: Unknown, numbers: Numbers, others: Tensors) -> None:
        self.unknown, self.numbers, self.others = unknown, numbers, others

    def function(self, xs: Tensors) -> tuple[torch.Tensor, ...]:
        return self.unknown.function(self.numbers, xs, self.others)


def symbolic(backend: str) -> Callable[[TorchPoint], Function]:
    """Compiled F, to which sizes and the numbers of its calls are unknown."""

    def make(point: TorchPoint) -> Function:
        check(point)
        unknown = Unknown(point)
        function = KEPT.function(
            point, ("symbolic", backend), lambda: torch.compile(unknown.of_all, backend=backend, fullgraph=True, dynamic=True)
        )  # fmt: skip
        return lambda xs: list(saying(function, unknown.numbers, *xs, *point.others()))

    return make


def recounted(point: TorchPoint) -> Function:
    """Compiled F, called with other whole numbers before: from then on the compiler takes them for unknown."""
    check(point)
    unknown = Unknown(point)

    def make() -> Callable[..., Any]:
        made: Callable[..., Any] = torch.compile(unknown.of_all, backend=AROUND, fullgraph=True, dynamic=None)
        for numbers in unknown.others():
            _call(made, numbers, point)
        return made

    function = KEPT.function(point, ("recounted",), make)
    return lambda xs: list(saying(function, unknown.numbers, *xs, *point.others()))


def _call(function: Callable[..., Any], numbers: Numbers, point: TorchPoint) -> None:
    """A call with its backward pass. What fails here is no finding: it is not the call that is asked about."""
    try:
        with torch.enable_grad():
            given = [x.detach().requires_grad_() for x in point.leaves]
            outputs = [o for o in saying(function, numbers, *given, *point.others()) if o.requires_grad]
            if outputs:
                torch.autograd.grad(outputs, given, [torch.ones_like(o) for o in outputs], allow_unused=True)
    except Exception as error:
        raise NotImplementedError(f"the call before this one fails: {str(error).splitlines()[0] if str(error) else error!r}") from None


def symbolic_outside(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
    """The whole derivative by `torch.func` in one compiled function, to which sizes and numbers are unknown."""
    check(point)
    if not modes or v is None:
        raise NotImplementedError("there is no derivative to compile")
    if functional is None:
        raise NestingUnsupported("this release has no torch.func")
    unknown = Unknown(point)

    def whole(xs: Any, us: Any, v: Any, others: Any, numbers: Any) -> Any:
        outputs, result = by_transforms(_With(unknown, numbers, others), xs, modes, us, v)
        return tuple(outputs or ()), tuple(result)

    function = KEPT.function(
        point, ("symbolic outside", modes), lambda: torch.compile(whole, backend=AROUND, fullgraph=True, dynamic=True)
    )  # fmt: skip
    given = (tuple(x.detach() for x in xs), tuple(tuple(point.native(u)) for u in us), tuple(point.native_like(v)), tuple(point.others()))
    with torch.no_grad():
        found = saying(function, *given, unknown.numbers)
    return outcome(found, modes)


# Without compiling: a trace, which every operator can afford ------------------------------------------------------------------------


def traced(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
    """Reverse mode on the tape, traced as a compiler does before it compiles: operator by operator, sizes and numbers being symbols."""
    if modes != ("r",) or v is None:
        raise NotImplementedError("only reverse mode goes over the tape")
    unknown = Unknown(point)

    def pull(numbers: Any, xs: Any, weights: Any, others: Any) -> Any:
        leaves = [x.detach().requires_grad_() for x in xs]
        with torch.enable_grad():
            outputs = unknown.function(numbers, leaves, others)
        live = [(o, w) for o, w in zip(outputs, weights) if o.requires_grad]
        if not live:
            raise NoGradient("no output depends on a differentiable input")
        found = torch.autograd.grad([o for o, _ in live], leaves, [w for _, w in live], allow_unused=True)
        return [o.detach() for o in outputs], [torch.zeros_like(x) if g is None else g for g, x in zip(found, xs)]

    given = (unknown.numbers, [x.detach() for x in xs], point.native_like(v), point.others())
    outputs, grads = _traced(point, "pull", pull, given, lambda: point.in_tape(symbolic(AROUND)(point), xs, modes, us, v))
    return Outcome([to_numpy(o) for o in outputs], [along(grads, us[0].arrays)], True)


def traced_functional(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
    """The same of a derivative by `torch.func`."""
    if not modes or v is None:
        raise NotImplementedError("there is no derivative to trace")
    needed("vjp")
    unknown = Unknown(point)

    def whole(numbers: Any, xs: Any, us: Any, v: Any, others: Any) -> Any:
        outputs, result = by_transforms(_With(unknown, numbers, others), xs, modes, us, v)
        return list(outputs or ()), list(result)

    given = (unknown.numbers, [x.detach() for x in xs], [list(point.native(u)) for u in us], point.native_like(v), point.others())
    return outcome(_traced(point, modes, whole, given, lambda: symbolic_outside(point, xs, modes, us, v)), modes)


def _traced(point: TorchPoint, what: Any, function: Callable[..., Any], given: Any, compiled: Callable[[], object]) -> Any:
    """What the trace gives. It may lack what stands around it in a compiler: where it raises and `compiled` does not, nothing is said."""
    check(point)
    from torch.fx.experimental.proxy_tensor import make_fx

    def trace() -> Any:
        return saying(make_fx(function, tracing_mode="symbolic", _allow_non_fake_inputs=True), *given)

    try:
        with torch.no_grad():
            return KEPT.function(point, ("traced", what), trace)(*given)
    except (NotImplementedError, NoGradient):
        raise
    except Exception as error:
        let_go(error)
        compiled()
        raise NotImplementedError(f"only a trace by itself raises: {str(error).splitlines()[0] if str(error) else error!r}") from None


FUNCTIONS = {
    "compiled-symbolic": symbolic(AROUND), "symbolic-inductor": symbolic("inductor"), "compiled-recounted": recounted,
}  # fmt: skip
DERIVATIVES = {"symbolic": traced, "symbolic-functional": traced_functional, "compiled-outside-symbolic": symbolic_outside}
