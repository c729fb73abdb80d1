"""A rule of a user's own: what multiplies gradients by a known number on purpose must do so in every way.

F stays F; its derivative is a power of SCALE times the true one, because a user's rule says so. Whoever drops the rule gives another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Callable, cast

import torch

from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.torch.derivatives import Function, NestingUnsupported, Tensors
from gradfuzz.targets.torch.transforms import functional

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

Way = Callable[["TorchPoint", Tensors, Modes, Sequence[Vec], Any], Outcome]
SCALE = 3.0  # a number that no mistake makes by itself


class Scaled(torch.autograd.Function):  # type: ignore[misc]
    """The identity, with SCALE for its derivative in reverse mode."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """It needs nothing of them."""

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * SCALE


class ScaledByHand(Scaled):
    """With a batching rule of its own, too."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: torch.Tensor) -> Any:
        return ScaledByHand.apply(x), in_dims[0]


class ScaledBothWays(Scaled):
    """And in forward mode, for which a rule is written where it is wanted: compilers refuse it in reverse mode."""

    @staticmethod
    def jvp(ctx: Any, t: torch.Tensor) -> Any:
        return t * SCALE


class Registered:
    """The same as an operator of the user's own whose rule was registered."""

    def __init__(self) -> None:
        if not hasattr(getattr(torch, "library", None), "custom_op"):
            raise NestingUnsupported("this release has no torch.library.custom_op")
        self.apply = torch.library.custom_op("gradfuzz::scaled", torch.clone, mutates_args=(), schema="(Tensor x) -> Tensor")
        self.apply.register_fake(torch.empty_like)
        self.apply.register_autograd(Scaled.backward, setup_context=Scaled.setup_context)


def scaled(modes: Modes) -> Any:
    """The rule for these modes."""
    return ScaledBothWays if "f" in modes else Scaled


@cache
def _registered() -> Registered:
    return Registered()


def registered(modes: Modes) -> Any:
    """The operator, whose rule is for reverse mode: whoever wants a tangent must be told that there is none."""
    return _registered()


def takes_registered(way: Way) -> Way:
    """A rule was registered with all that belongs to it: whoever says that something is missing has lost it."""

    def run(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
        try:
            return way(point, xs, modes, us, v)
        except RuntimeError as error:
            if "setup_context" in str(error):
                raise RuntimeError("a registered rule is taken for one without a context of its own") from error
            raise

    return run


def _ruled(rule: Any, tensors: Tensors) -> list[torch.Tensor]:
    return [rule.apply(t) for t in tensors]


def _scaled(gradient: torch.Tensor) -> torch.Tensor:
    return gradient * SCALE


def _hooked(xs: Tensors) -> None:
    for x in xs:
        if x.requires_grad:
            x.register_hook(_scaled)


class Ruled:
    """A point whose F has the rule before it and behind it: a compiler treats what it is given otherwise than what it has made."""

    def __init__(self, point: Any, rule: Any) -> None:
        self.point, self.rule = point, rule

    def __getattr__(self, name: str) -> Any:
        return getattr(self.point, name)

    def function(self, xs: Tensors) -> list[torch.Tensor]:
        return _ruled(self.rule, self.point.function(_ruled(self.rule, xs)))

    def seedless(self, xs: Tensors) -> list[torch.Tensor]:
        return _ruled(self.rule, self.point.seedless(_ruled(self.rule, xs)))

    def of_tensors(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        count = len(self.point.leaves)
        return tuple(_ruled(self.rule, self.point.of_tensors(*_ruled(self.rule, tensors[:count]), *tensors[count:])))

    @staticmethod
    def scale(order: int) -> float:
        """By how much too large a derivative is: each passes the rule before F, and what it is of has passed the one behind F."""
        return float(SCALE ** (order + 1))

    def given(self, others: Tensors) -> Ruled:
        return Ruled(self.point.given(others), self.rule)


class Hooked(Ruled):
    """A point whose F registers hooks on its inputs."""

    def function(self, xs: Tensors) -> list[torch.Tensor]:
        _hooked(xs)
        return list(self.point.function(xs))

    def of_tensors(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        _hooked(tensors)
        return tuple(self.point.of_tensors(*tensors))

    @staticmethod
    def scale(order: int) -> float:
        return SCALE


class HookedBehind(Ruled):
    """A point whose F registers hooks on its outputs, which are in the middle of what is compiled: numbers are added to them."""

    def function(self, xs: Tensors) -> list[torch.Tensor]:
        return _behind(self.point.function(xs))

    def of_tensors(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(_behind(self.point.of_tensors(*tensors)))

    @staticmethod
    def scale(order: int) -> float:
        return SCALE


def _behind(outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    middle = [o * 1.0 for o in outputs]  # an output may be an input, or another output
    _hooked(middle)
    return [o + 0.0 for o in middle]


def with_rule(way: Way, place: type[Ruled] = Ruled, rule: Callable[[Modes], Any] = scaled) -> Way:
    """The way at F with a rule, its derivative divided by what that makes of it: it must be what it is without either."""

    def run(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
        if functional is None:
            raise NestingUnsupported("this release has no rules that torch.func knows")
        if any(x.clone().stride() != x.stride() for x in xs):
            raise NotImplementedError("behind a rule the inputs would lie otherwise in memory")
        ruled = place(point, rule(modes))
        found = way(cast("TorchPoint", ruled), xs, modes, us, v)
        result = [r / place.scale(len(modes)) for r in found.result] if modes else found.result
        return Outcome(found.outputs, result, found.contracted, found.live)

    return run


def of_kind(kind: Any) -> Callable[[Modes], Any]:
    """A rule of another kind, whatever the modes."""
    return lambda _: kind


def on_tape(make: Callable[[TorchPoint], Function]) -> Way:
    """What stands in F's place, differentiated as F is."""
    return lambda point, xs, modes, us, v: point.in_tape(make(point), xs, modes, us, v)
