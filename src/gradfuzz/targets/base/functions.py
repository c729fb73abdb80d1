"""The seam between a person's own function and the library that differentiates it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Callable

from gradfuzz.targets.base.dtypes import as_seen, dtype_name
from gradfuzz.targets.base.protocol import Outcome, Refusal
from gradfuzz.targets.base.refusals import Refusals
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.base.ways import Ways, declared

Array = Any
# Tensors in, the floating tensors among the outputs out.
Function = Callable[[Sequence[Any]], list[Any]]


# The value that comes with a gradient, differentiated itself: `value_and_grad` inside another derivative.
BESIDE = "beside"


class Unsupported(NotImplementedError):
    """The library cannot compute this derivative, and nobody promised that it would."""


class WrongGradientShape(RuntimeError):
    """A gradient that cannot belong to its input."""


class Functions:
    """How one library makes tensors and differentiates functions of them. A target fills in what is its own.

    Derivatives and the reading of errors are those that campaigns use.
    """

    name: str
    version: str
    highest_order = 4
    forward_mode = True
    own_integers = False  # whole numbers among the inputs are made tensors of the library's own
    marks_inputs = False  # tensors say themselves whether they are to be differentiated (`requires_grad`)
    way_names: Sequence[str] = ()  # ways of running that `in_way` knows
    ways: Ways = {}  # noqa: RUF012

    def __init__(self, home: Any) -> None:
        self.name = home.name
        self.ways = declared(home.data("ways"), self.way_names)
        self.refusals = self.read_refusals(home.data("refusals"))

    def read_refusals(self, data: dict[str, Any]) -> Refusals:
        """How errors are read, from the target's own data."""
        return Refusals(data)

    def session(self) -> AbstractContextManager[Any]:
        """Entered around a whole check: settings that the check needs, undone afterwards."""
        return nullcontext()

    def opened(self, function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function with its own parameters among the inputs, if it is an object that has any."""
        return function, inputs

    def home_of(self, function: Any) -> str | None:
        """The module that a function is written in."""
        return getattr(function, "__module__", None)

    def owns(self, value: Any) -> bool:
        """Whether the value is a tensor of this library's."""
        raise NotImplementedError

    def dtype(self, tensor: Any) -> str:
        """The element type by NumPy's name; bfloat16 too."""
        return dtype_name(tensor.dtype)

    def tensor(self, array: Array, dtype: str) -> Any:
        """A tensor of the array's numbers. The array is the tensor's own from now on: it may share the memory."""
        raise NotImplementedError

    def array(self, tensor: Any) -> Array:
        """The tensor's numbers; bfloat16 comes as float32."""
        return as_seen(tensor)

    def draws(self, call: Callable[[], Any]) -> tuple[Any, bool]:
        """What the call returns, and whether it drew random numbers (False where that cannot be known)."""
        return call(), False

    def reseed(self) -> None:
        """Make the generator draw the same numbers again."""

    def derivative(self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        """The scenario at xs along us, contracted with v where reverse mode does that; it has at least one mode."""
        raise NotImplementedError

    def in_way(
        self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array], random: bool
    ) -> Outcome:  # fmt: skip
        """The scenario in a way of running that the library declares; `random`: the function draws random numbers, the same each time."""
        raise Unsupported(f"{self.name} knows no way that is called {scenario.way}")

    def beside(self, function: Function, xs: Sequence[Any], u: list[Array]) -> Outcome:
        """The outputs as reverse mode hands them over beside a gradient, and their own tangents along u in forward mode."""
        raise Unsupported(f"{self.name} does not hand over values beside gradients")

    def plain(self, tensor: Any) -> bool:
        """Whether a tensor is nothing but its numbers, so that a fresh one can stand for it."""
        return True

    def outcome(self, scenario: Scenario, outputs: Any, result: Any) -> Outcome:
        """What the fold gave, as arrays. It leaves out the outputs of nestings: to run the function for them would show nothing."""
        return Outcome([self.array(o) for o in outputs or ()], [self.array(r) for r in result], "r" in scenario.modes)

    def recording(self, function: Callable[..., Any]) -> Callable[..., Any] | None:
        """The function where it may itself differentiate, which a check's session may keep it from; None where nothing does."""
        return None

    def watched(
        self, function: Function, xs: Sequence[Any], names: Sequence[str], scenario: Scenario, us: Sequence[list[Array]], v: list[Array]
    ) -> tuple[Outcome, list[str]]:  # fmt: skip
        """Plain reverse mode, and what is the matter beside a gradient that may well be right: it changes its inputs, it can be had
        once only. This takes no further evaluation of the function."""
        return self.derivative(function, xs, scenario, us, v), []

    def training_step(self, call: Function, arrays: Sequence[Array], dtypes: Sequence[str]) -> Callable[[], Any] | None:
        """Forward and backward on tensors that stay, as parameters do; None where nothing stays between two runs."""
        return None

    def classify(self, error: BaseException) -> Refusal:
        """Read an error of the library's."""
        return self.refusals.classify(error)
