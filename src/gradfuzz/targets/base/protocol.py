"""The seam between a library and the oracles: what a target must be able to do.

A target turns a Program into a Point: the function F that the Program is, at the inputs that its recipes give.
A Point computes one thing in many ways: F's derivative along given directions, nested to any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gradfuzz.program.language import Language
from gradfuzz.program.model import Program
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.base.ways import Ways

Array = Any

# The step of the quick central difference: the cube root of a double's unit, where truncation and rounding err alike.
# A target that computes many things at once may have both ends ready when they are asked for.
QUICK_STEP = (2.0**-52) ** (1 / 3)


class Vec:
    """One array per input (or output), with room for the target's own copy of it."""

    __slots__ = ("arrays", "native")

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays
        self.native: Any = None


class Outcome:
    """What one scenario gave: F's outputs as seen under it, and the derivative still to be contracted.

    After an outermost forward mode `result` has one array per output, to be contracted with v;
    after an outermost reverse mode it is one number, contracted already. For the direct run it is the outputs.
    `live` says which outputs the library declares to have a derivative; None: it does not say.
    Nestings may leave the outputs out: what AD does to them shows at order one.
    """

    __slots__ = ("contracted", "live", "outputs", "result")

    def __init__(self, outputs: list[Array], result: list[Any], contracted: bool = False, live: list[bool] | None = None) -> None:
        self.outputs, self.result, self.contracted, self.live = outputs, result, contracted, live


@dataclass(frozen=True)
class Refusal:
    """How a target reads one of its own error messages."""

    kind: str  # unsupported, internal, memory, overwritten, malformed, gauge, invalid, outside, poisoned, error
    message: str
    symptom: str = ""  # the message as far as it tells bugs apart: no numbers, no names of types
    names_fault: bool = False  # the message names the operator at fault, whoever calls it


@dataclass(frozen=True)
class Parameter:
    """One parameter of one way to call an API."""

    name: str
    kind: str  # tensor, tensors, int, ints, float, floats, number, bool, str, type, starred, other
    required: bool
    keyword: bool = False  # to be given by name only
    default: Any = None
    words: tuple[str, ...] = ()  # what a string may be, as far as the documentation says; of a type, its names in the library
    nothing: bool = False  # it is a tensor, and None may stand in its place


Overload = tuple[Parameter, ...]


class Point(Protocol):
    """One Program, bound to a library, at its inputs. Every run leaves the inputs as they were."""

    names: list[str]
    structures: list[str | None]
    scales: list[float]  # how large each input is; see size_of
    random: bool  # F draws random numbers (it is seeded before each run then)
    mutates: bool  # F writes to its inputs (it works on copies then)

    @property
    def made(self) -> list[str]:
        """What the Program makes once, outside F: modules, whose parameters are inputs."""

    @property
    def unit(self) -> float:
        """The coarsest rounding unit at work: of inputs, outputs, and what is computed in between as far as that is known."""

    @property
    def inputs(self) -> list[Array]:
        """The differentiable inputs' numbers."""

    def first(self) -> list[Array]:
        """The direct outputs; called once, before any run. Raises what the library raises."""

    def run(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0) -> Outcome:
        """The scenario at inputs + shift·along, differentiated along us[0], us[1], … (innermost first).

        A way of its own is asked for at the inputs themselves, never shifted. Raises whatever the library raises.
        """

    def run_alone(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None) -> Outcome:
        """The scenario with no other beside it: what dies here has killed itself."""

    def rules(self) -> list[str]:
        """Derivative rules that were reached at this point, as TABLE:RULE; see Target.rules."""

    def fault(self) -> str:
        """The one derivative rule at work here, if there is just one and it can be had; else nothing."""


class Locating(Point, Protocol):
    """A point that knows where in the library its scenarios raised."""

    def raised_at(self, scenario: Scenario) -> str:
        """Where a scenario raised when it did so last; nothing where it did not, or where that says nothing."""


class Narrowing(Point, Protocol):
    """A point that knows what its function rounds its numbers to on the way."""

    narrowest: float  # the coarsest rounding unit of a type that floating numbers are narrowed to; 0 where none are


class Foreseeing(Point, Protocol):
    """A point that knows what its outputs look like before it runs, and answers the first two questions at once."""

    def foreseen(self) -> Sequence[Array]:
        """Arrays like the outputs; nothing is computed for them. Raises what the library raises."""

    def first_along(self, u: Vec, v: Vec) -> list[Array]:
        """In place of `first`, with the directions of the derivatives that are asked for next."""


class Choosing(Point, Protocol):
    """A point that also tells the outputs which are no floating numbers: indices, permutations, counts."""

    def choices(self, along: Vec, shift: float) -> list[Array]:
        """These at inputs + shift·along. Raises what the library raises."""


class Trying(Protocol):
    """Is told of an API before it is tried out, which may kill the process, and says whether it is to be tried."""

    def __call__(self, api: str, kin: str = "") -> bool:
        """`kin`: what its relatives are called, too (its other forms, its derivative rule), where its last name is not that."""


def anything(api: str, kin: str = "") -> bool:
    """Every API is to be tried."""
    return True


class Target(Protocol):
    """A library at a version in this interpreter."""

    name: str
    version: str
    language: Language
    ways: Ways  # further ways to run a scenario, which must give what the plain one gives, by name
    # Mutants in a row that share everything but their numbers: 1, or, where another shape costs a compilation, as many as take its time.
    family: int
    patience: float  # by how much longer than others its mutants may take
    # Whether Point.rules depends on the Program alone. A library that remembers its traces shows a rule where it is first reached.
    steady_rules: bool

    def point(self, program: Program, arrays: list[Array] | None = None) -> Point:
        """Bind a Program. `arrays` replaces the numbers of the differentiable inputs, in order."""

    def bare(self, program: Program, scenario: Scenario) -> str:
        """A Program of which no number is asked: its calls directly or in one mode of order one, op by op, with nothing run before them.

        Says what came out, floating or not. Raises what the library raises.
        """

    def prepare(self, ways: Sequence[str]) -> None:
        """What these ways need that can be paid for once, before workers are forked: imports, headers. Nothing that bears no fork."""

    def classify(self, error: BaseException) -> Refusal:
        """Read an error of the library's."""

    def forget(self) -> None:
        """Drop what was learnt of Programs so far: a batch begins, and its answer must not depend on those before it."""

    def seeds(self, trying: Trying = anything) -> Iterable[SeedProgram]:
        """Programs that the installed library offers. Several processes may share them out: each tries APIs of its own."""

    def probe(self, api: str, overload: Overload) -> Iterable[SeedProgram]:
        """Programs that call an API, made up from a signature that somebody wrote down. Raises ProgramError for names it may not call."""

    def parameters(self, func: str) -> list[Overload]:
        """What a Program's call takes, as far as the library says: edits of arguments learn from it. A method comes as `.add`."""

    def rules(self) -> dict[str, str]:
        """The derivative rules that exist, as TABLE:RULE, each with why this computer cannot reach it ("" if it can).

        Empty where the library does not say what it has.
        """

    def smoke_test(self) -> str:
        """A tiny Program, as text, that any version of the library can run in every scenario it has."""

    def restore_defaults(self) -> None:
        """Undo what a worker sets for speed, so that a stand-alone script runs as it would by itself."""


class Inferring(Target, Protocol):
    """A target whose library knows what shapes outputs have before anything is computed."""

    def inferred(self, program: Program) -> Iterable[Sequence[int | None]]:
        """The shapes of a Program's floating outputs, None for sizes that hang on numbers. Raises where the library cannot tell."""


class Tracing(Target, Protocol):
    """A target whose library traces a derivative without computing it, for a tenth of what compiling it costs."""

    def doubtful(self, program: Program, ways: Iterable[str]) -> list[str]:
        """Those ways in which tracing a derivative of order one raises something that is not declared. Never raises itself."""

    def takes(self, program: Program) -> bool:
        """Whether a Program can be traced: what cannot is refused. Never raises."""


class Optimising(Target, Protocol):
    """A target whose workers leave out of a search what the library does to a graph before it runs."""

    def optimise(self) -> None:
        """Do it, as scripts will: what a suspicion is confirmed by must be what they compute."""


class Formulating(Target, Protocol):
    """A target whose derivative rules are functions of Python's, which may share others."""

    def helpers(self, rule: str) -> list[tuple[str, int]]:
        """Functions that compute something for a rule, each with how many rules name it. Nothing for what is no rule."""


class Warming(Target, Protocol):
    """A target that has more to import than its first workers are kept waiting for."""

    def warm_up(self) -> None:
        """Import it, in the process that forks workers: the later ones have it then, the first ones import it when they need it."""


@dataclass(frozen=True)
class SeedProgram:
    """A Program and where it came from."""

    program: Program
    source: str
    api: str = field(default="")
    reached: tuple[str, ...] = ()  # derivative rules, as far as they matter for what follows
    spare: bool = False  # wanted only if it reaches a rule that no other seed reaches
