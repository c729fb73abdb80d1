"""Compiled checks, reused: all scenarios of one order in one compilation per (calls, shapes, types).

Where another shape costs a compilation, a Plan compiles F with all derivatives of an order at once, takes inputs and directions as
arguments, and serves every mutant that differs in its numbers alone. How it is compiled is the target's affair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from gradfuzz.targets.base.scenario import Modes, nestings

Arrays = Sequence[Any]
# By name: outputs under "direct", "ahead" and "behind"; (outputs, derivative) under the name of each scenario's modes.
Answers = dict[str, Any]


class TooDear(NotImplementedError):
    """Our own bound on the time that a compilation may take."""


class Args(NamedTuple):
    """What a compiled check takes: inputs, the other floating inputs, a direction for each differentiation, weights."""

    xs: Arrays
    fixed: Arrays
    us: Sequence[Arrays]
    v: Arrays


def key_of(modes: Modes) -> str:
    """Under which name a scenario's answer is filed."""
    return "".join(modes) or "plain"


class Plan(ABC):
    """F at given shapes and types: a bundle of scenarios for each order and each way, made when it is first asked for."""

    eager = False  # F needs the numbers themselves, and runs op by op, as it does for its users
    unit: float  # the coarsest rounding unit among inputs and outputs

    def __init__(self) -> None:
        self._bundles: dict[int, Bundle] = {}
        self._ways: dict[tuple[str, Modes], Bundle] = {}

    def bundle(self, order: int) -> Bundle:
        """All plain scenarios of an order."""
        found = self._bundles.get(order)
        if found is None:
            if order > 1 and self.bundle(order - 1).size > self.most(order):
                raise TooDear(f"order {order} is not compiled: order {order - 1} is large already")
            found = self._bundles[order] = self.make([s.modes for s in nestings(order)] if order else [], order)
        return found

    def in_way(self, way: str, modes: Modes) -> Bundle:
        """A scenario in a way of the target's: those up to order one together, each of a higher order by itself."""
        key = (way, modes if len(modes) > 1 else ())
        found = self._ways.get(key)
        if found is None:
            found = self._ways[key] = self.make_way(way, [modes] if key[1] else [(), *(s.modes for s in nestings(1))])
        return found

    @abstractmethod
    def most(self, order: int) -> int:
        """How large the order below may be: derivatives of derivatives multiply a computation."""

    @abstractmethod
    def make(self, scenarios: list[Modes], order: int) -> Bundle:
        """A bundle of plain scenarios."""

    @abstractmethod
    def make_way(self, way: str, scenarios: list[Modes]) -> Bundle:
        """A bundle in a way of the target's; TooDear or NotImplementedError where there is none to be had."""


class Bundle(ABC):
    """Some scenarios computed together. One that cannot be compiled keeps its error; the others go on.

    Compiled, all of them cost as much as one; op by op only the wanted one is there.
    """

    def __init__(self, scenarios: Sequence[Modes], eager: bool) -> None:
        self.scenarios, self.eager = list(scenarios), eager
        self.errors: dict[Modes, BaseException] = {}  # for good
        self.failures: dict[Modes, BaseException] = {}  # of the last run: the next may have other numbers
        self.places: dict[Modes, str] = {}  # where in the library each of them was raised, as far as it says
        self.size = 0
        self._compiled: Any = None
        self._parts: list[Bundle] = []

    def run(self, args: Args, wanted: Modes = ()) -> Answers:
        self.failures = {}
        if self.eager:
            return self.op_by_op(args, [m for m in self.scenarios if m == wanted])
        if self._compiled is None and not self._parts:
            try:
                self._compiled = self.compile(args)
            except Exception:
                if len(self.scenarios) < 2:
                    raise
                self._parts = self._split()
        if self._compiled is not None:
            try:
                return self.call(self._compiled, args)
            except Exception:
                if not self.scenarios:
                    raise
                self._parts = self._parts or self._split()
        return self._run_parts(args)

    def compile_now(self, args: Args) -> None:
        """Before it is asked for: what cannot be compiled raises here."""
        self._compiled = self.compile(args)

    def raised(self, modes: Modes) -> BaseException | None:
        """What a scenario raised, whether it was compiled or run."""
        return self.errors.get(modes) or self.failures.get(modes)

    def _split(self) -> list[Bundle]:
        """One of them cannot be compiled, or fails when it runs: each by itself."""
        return [self.alone([modes]) for modes in self.scenarios]

    def _run_parts(self, args: Args) -> Answers:
        found = self.without_scenarios(args)  # where F itself raises, nothing else is of interest
        for part in self._parts:
            (modes,) = part.scenarios
            if modes in self.errors:
                continue  # what cannot be compiled is not tried again
            kept = self.failures if part._compiled is not None else self.errors
            try:
                part._compiled = part._compiled or part.compile(args)
                kept = self.failures
                found.update(part.call(part._compiled, args))
            except Exception as error:
                kept[modes] = error
                self.places[modes] = self.place_of(error)
            self.errors.update(part.errors)
            self.places.update(part.places)
        return found

    @abstractmethod
    def compile(self, args: Args) -> Any:
        """All scenarios as one thing that `call` can run; sets `size`. Scenarios that cannot be traced go into `errors`."""

    @abstractmethod
    def call(self, compiled: Any, args: Args) -> Answers:
        """Run what was compiled."""

    @abstractmethod
    def op_by_op(self, args: Args, scenarios: Sequence[Modes]) -> Answers:
        """Without the compiler."""

    @abstractmethod
    def alone(self, scenarios: list[Modes]) -> Bundle:
        """A bundle like this one with fewer scenarios."""

    @abstractmethod
    def without_scenarios(self, args: Args) -> Answers:
        """What the bundle answers beside its scenarios."""

    def place_of(self, error: BaseException) -> str:
        """Where in the library an error was raised; nothing where that says nothing."""
        return ""
