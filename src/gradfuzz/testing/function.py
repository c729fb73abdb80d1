"""A person's function as a Point, so that the oracles of campaigns judge it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.program.language import Language
from gradfuzz.program.model import STRUCTURES, Call, Let, Program, Ref, Tensor, Values
from gradfuzz.program.values import materialise, size_of
from gradfuzz.targets.base.dtypes import DOUBLE_UNIT, UNITS, wide
from gradfuzz.targets.base.functions import BESIDE, Functions
from gradfuzz.targets.base.protocol import Outcome, Refusal, Target, Vec
from gradfuzz.targets.base.scenario import FORWARD, REVERSE, Scenario
from gradfuzz.targets.base.ways import Way, Ways
from gradfuzz.testing.domain import OutsideDomain, Within, within
from gradfuzz.testing.library import leaves
from gradfuzz.testing.meter import Meter, Spent

Array = Any


@dataclass(frozen=True)
class Slot:
    """Where a differentiated input goes among the arguments."""

    index: int


@dataclass
class Subject:
    """A function, the library it is written for, its arguments, and which of their numbers are differentiated."""

    function: Callable[..., Any]
    library: Functions
    template: tuple[Any, ...]
    names: list[str]
    arrays: list[Array]
    dtypes: list[str]
    structures: list[str | None]
    moves: list[bool]  # which of the arrays are differentiated; the others are as they are
    domain: Within | None = None
    asides: list[str] | None = None  # what was seen beside the first gradient
    meter: Meter = field(default_factory=Meter)

    @property
    def title(self) -> str:
        owner = getattr(self.function, "__self__", None)
        name = str(getattr(self.function, "__name__", None) or type(self.function).__name__)
        return f"{owner.__name__}.{name}" if inspect.isclass(owner) else name  # Sine.apply, not apply

    @property
    def coarse(self) -> bool:
        """Whether something is differentiated in a lower precision than double."""
        return any(moves and wide(dtype) != dtype for dtype, moves in zip(self.dtypes, self.moves))

    def widened(self) -> Subject:
        """The same in double precision."""
        dtypes = [wide(dtype) for dtype in self.dtypes]
        return replace(self, dtypes=dtypes, arrays=[np.asarray(a).astype(d) for a, d in zip(self.arrays, dtypes)])

    def program(self, listed: bool = False) -> Program:
        """The inputs as recipes; their numbers are listed only where someone is going to change them."""
        statements = []
        for name, array, dtype, structure, moves in zip(self.names, self.arrays, self.dtypes, self.structures, self.moves):
            values = Values("listed", (tuple(array.ravel().tolist()),)) if listed else Values("full", (0.0,))
            statements.append(Let((name,), Tensor(array.shape, dtype, values, moves, structure=structure)))
        call = Call(self.title, tuple(Ref(name) for name in self.names))
        return Program((*statements, Let((), call)))

    def call(self, tensors: Sequence[Any]) -> list[Any]:
        """The floating tensors among what the function returns."""
        result = self.function(*[filled(part, tensors) for part in self.template])
        library = self.library
        return [leaf for leaf in leaves(result) if library.owns(leaf) and library.dtype(leaf) in UNITS]


def subject_of(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    library: Functions,
    structure: str | Sequence[str | None] | None = None,
    wrt: str | int | Sequence[str | int] | None = None,
    domain: Any = None,
) -> Subject:
    """Bind the inputs. Floating arrays and tensors are differentiated; where tensors themselves or `wrt` say which, only those."""
    picky = wrt is None and library.marks_inputs and any(getattr(leaf, "requires_grad", None) is True for leaf in leaves(inputs))
    subject = Subject(function, library, (), [], [], [], [], [])
    arguments = _argument_names(function, len(inputs))
    subject.template = tuple(_slotted(subject, name, value, picky) for name, value in zip(arguments, inputs))
    if wrt is not None:
        subject.moves = _chosen(subject.names, arguments, [wrt] if isinstance(wrt, (str, int)) else list(wrt))
    if not any(subject.moves):
        raise GradfuzzError("no input is a floating array or tensor, so there is nothing to differentiate")
    _impose(subject, structure)
    subject.domain = within(domain, subject.names)
    if subject.domain is not None and not subject.domain(subject.arrays):
        raise GradfuzzError("the inputs themselves are outside the domain that is given")
    return subject


def _chosen(names: list[str], arguments: list[str], wrt: list[str | int]) -> list[bool]:
    """Which inputs `wrt` means: arguments by name or place, or one leaf of an argument by its whole name."""
    wanted = []
    for word in wrt:
        name = arguments[word] if isinstance(word, int) and -len(arguments) <= word < len(arguments) else word
        if not any(_is_of(n, str(name)) for n in names):
            raise GradfuzzError(f"wrt={word!r} is no floating input; those are {', '.join(names) or 'none'}")
        wanted.append(str(name))
    return [any(_is_of(n, name) for name in wanted) for n in names]


def _is_of(leaf: str, argument: str) -> bool:
    return leaf == argument or leaf.startswith(f"{argument}[")


def _impose(subject: Subject, structure: str | Sequence[str | None] | None) -> None:
    moving = [name for name, moves in zip(subject.names, subject.moves) if moves]
    wanted = [structure] * len(moving) if structure is None or isinstance(structure, str) else list(structure)
    if len(wanted) != len(moving):
        raise GradfuzzError(f"structure names {len(wanted)} inputs; {len(moving)} are differentiated: {', '.join(moving)}")
    for text in wanted:
        if text is not None and text not in STRUCTURES:
            raise GradfuzzError(f"unknown structure {text!r}; use one of {', '.join(STRUCTURES)}")
    given = iter(wanted)
    subject.structures = [next(given) if moves else None for moves in subject.moves]


def _argument_names(function: Callable[..., Any], count: int) -> list[str]:
    fallback = [f"input{i}" for i in range(count)] if count > 1 else ["x"]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return fallback
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return names[:count] if len(names) >= count else fallback


def _slotted(subject: Subject, name: str, value: Any, picky: bool) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)([_slotted(subject, f"{name}[{i}]", part, picky) for i, part in enumerate(value)])
    if isinstance(value, dict):
        return {key: _slotted(subject, f"{name}[{key!r}]", part, picky) for key, part in value.items()}
    library = subject.library
    plain = isinstance(value, (np.ndarray, np.floating)) and np.asarray(value).dtype.kind in "fciub"
    dtype = str(value.dtype) if plain else library.dtype(value) if library.owns(value) else ""
    moves = not picky or bool(getattr(value, "requires_grad", False))
    if dtype not in UNITS or not (moves or library.plain(value)):
        # Whole numbers are labels and indices; libraries with tensors of their own want them as such.
        return library.tensor(np.array(value), dtype) if plain and library.own_integers else value
    subject.names.append(name)
    subject.arrays.append(np.array(value if plain else library.array(value)))
    subject.dtypes.append(dtype)
    subject.moves.append(moves)
    return Slot(len(subject.arrays) - 1)


def filled(part: Any, tensors: Sequence[Any]) -> Any:
    """An argument with its floating inputs in their places."""
    if isinstance(part, Slot):
        return tensors[part.index]
    if isinstance(part, (tuple, list)):
        return type(part)([filled(p, tensors) for p in part])
    if isinstance(part, dict):
        return {key: filled(p, tensors) for key, p in part.items()}
    return part


class FunctionTarget:
    """Stands where a library stands in a campaign; its Programs are inputs for the one function."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.ways: Ways = {**subject.library.ways, BESIDE: Way(BESIDE, scenarios=(FORWARD,))}
        self.language = Language(subject.library.name, {}, (), {}, {}, ())  # its Programs are made here, never read
        self.own_program = subject.program()
        self.error: BaseException | None = None
        self.causes: dict[str, BaseException] = {}  # what was raised, by the message that it was read as

    @property
    def as_target(self) -> Target:
        return cast(Target, self)  # the oracles ask a target for points, ways and what its errors mean, nothing else

    def point(self, program: Program, arrays: list[Array] | None = None) -> FunctionPoint:
        recipes = list(program.inputs.values())
        if program is self.own_program and arrays is None:
            return FunctionPoint(self.subject, recipes, self.subject.arrays)
        replaced = iter(arrays) if arrays is not None else None
        numbers = [next(replaced) if replaced is not None and r.differentiable else materialise(r) for r in recipes]
        return FunctionPoint(self.subject, recipes, numbers)

    def classify(self, error: BaseException) -> Refusal:
        if isinstance(error, Spent):
            raise error
        self.error = error
        found = Refusal("memory", "MemoryError") if isinstance(error, MemoryError) else self.subject.library.classify(error)
        self.causes[found.message] = error
        return found


class FunctionPoint:
    """The function at its inputs. Every run works on fresh tensors."""

    def __init__(self, subject: Subject, recipes: Sequence[Tensor], arrays: Sequence[Array]) -> None:
        self.subject, self.library = subject, subject.library
        self._arrays, self._dtypes = list(arrays), [r.dtype for r in recipes]
        self._moving = [i for i, r in enumerate(recipes) if r.differentiable]
        self.names = [subject.names[i] for i in self._moving]
        self.inputs = [np.asarray(self._arrays[i]) for i in self._moving]
        self.structures: list[str | None] = [recipes[i].structure for i in self._moving]
        self.scales = [size_of(x) for x in self.inputs]
        self.unit = max((UNITS.get(d, DOUBLE_UNIT) for d in self._dtypes), default=DOUBLE_UNIT)
        self.mutates = False  # every run has its own tensors, so nobody would notice
        self.random = False
        self._counted = True

    def first(self) -> list[Array]:
        outputs, self.random = self.library.draws(lambda: self._call(self._tensors(None, 0.0)))
        if self.random:
            outputs = self._call(self._tensors(None, 0.0))
        self.unit = max([self.unit, *(UNITS[self.library.dtype(o)] for o in outputs)])
        return [self.library.array(o) for o in outputs]

    def run(self, scenario: Scenario, us: Sequence[Vec], v: Vec | None, along: Vec | None = None, shift: float = 0.0) -> Outcome:
        xs = self._tensors(along, shift)
        if not scenario.modes and not scenario.way:
            outputs = [self.library.array(o) for o in self._call(xs)]
            return Outcome(outputs, outputs)
        assert v is not None
        # A function that writes to its inputs writes to their tangents, too: the directions are for other runs as well.
        directions = [[np.array(a) for a in u.arrays] for u in us]
        if scenario.way:
            self.subject.meter.tick()
            self._counted = False
            try:
                return self._in_way(xs, scenario, directions, v)
            finally:
                self._counted = True
        if scenario == REVERSE and along is None and self.subject.asides is None:
            outcome, self.subject.asides = self.library.watched(self._call, xs, self.names, scenario, directions, v.arrays)
            return outcome
        return self.library.derivative(self._call, xs, scenario, directions, v.arrays)

    def _in_way(self, xs: Any, scenario: Scenario, directions: list[list[Array]], v: Vec) -> Outcome:
        if scenario.way == BESIDE:
            return self.library.beside(self._call, xs, directions[0])
        return self.library.in_way(self._call, xs, scenario, directions, v.arrays, self.random)

    def rules(self) -> list[str]:
        return []

    def fault(self) -> str:
        return ""

    def _tensors(self, along: Vec | None, shift: float) -> list[Any]:
        """The moving inputs at inputs + shift·along."""
        moved = []
        for place, index in enumerate(self._moving):
            array = self._arrays[index]
            array = np.array(array) if along is None else np.asarray(array + shift * along.arrays[place])
            moved.append(array)
        domain = self.subject.domain
        if domain is not None and along is not None:
            whole = dict(zip(self._moving, moved))
            if not domain([whole.get(i, a) for i, a in enumerate(self._arrays)]):
                raise OutsideDomain("a step would leave the domain")
        return [self.library.tensor(array, self._dtypes[index]) for array, index in zip(moved, self._moving)]

    def _call(self, xs: Sequence[Any]) -> list[Any]:
        if self._counted:  # a compiler that looks into the function would look into the meter, too
            self.subject.meter.tick()
        if self.random:
            self.library.reseed()
        if len(xs) == len(self._arrays):
            return self.subject.call(xs)
        moving = dict(zip(self._moving, xs))
        return self.subject.call(
            [moving[i] if i in moving else self.library.tensor(np.array(a), d) for i, (a, d) in enumerate(zip(self._arrays, self._dtypes))]
        )
