"""A Program as data: tensors made from recipes, then straight-line calls from tensors to tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Callable

from gradfuzz.errors import ProgramError
from gradfuzz.program.limits import MAX_CALLS, MAX_ELEMENTS, MAX_RANK

FLOATS = ("float64", "float32", "float16", "bfloat16")
COMPLEXES = ("complex128", "complex64")
DISCRETE = ("int64", "int32", "int16", "int8", "uint8", "bool")
DTYPES = FLOATS + COMPLEXES + DISCRETE
LAYOUTS = ("contiguous", "transposed", "strided", "offset", "expanded", "channels_last", "conjugated", "negated")
# What the numbers of an input are, whatever edits make of them. Constant ones are not meant to be differentiated: edits leave them alone.
STRUCTURES = ("symmetric", "positive_definite", "lower", "upper", "simplex", "real", "positive", "unit", "sorted", "constant")
# Those that say where numbers lie and leave every direction open. They are real numbers, and stay such.
RANGES = ("real", "positive", "unit", "sorted", "constant")
# The layout whose slices are one in memory: they are one number each, and what moves one moves them all.
EXPANDED = "expanded"


@dataclass(frozen=True)
class Values:
    """Where a tensor's numbers come from: a named, seeded distribution or a wrapper around one.

    `args` are numbers, lists of numbers, or (for wrappers, as the first one) another Values.
    """

    kind: str
    args: tuple[Any, ...] = ()
    seed: int | None = None


@dataclass(frozen=True)
class Tensor:
    """The recipe of one input tensor."""

    shape: tuple[int, ...]
    dtype: str
    values: Values
    grad: bool = True
    layout: str = "contiguous"
    structure: str | None = None

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ProgramError(f"unknown dtype {ascii(self.dtype)[:60]}; use one of {', '.join(DTYPES)}")
        if self.layout not in LAYOUTS:
            raise ProgramError(f"unknown layout {ascii(self.layout)[:60]}; use one of {', '.join(LAYOUTS)}")
        if self.structure is not None and self.structure not in STRUCTURES:
            raise ProgramError(f"unknown structure {ascii(self.structure)[:60]}; use one of {', '.join(STRUCTURES)}")
        if len(self.shape) > MAX_RANK or any(not 0 <= n <= MAX_ELEMENTS for n in self.shape):
            raise ProgramError(f"shape {str(self.shape)[:60]} is not a shape of at most {MAX_RANK} sizes up to {MAX_ELEMENTS}")

    @property
    def elements(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def differentiable(self) -> bool:
        return self.grad and self.dtype not in DISCRETE

    @property
    def discrete(self) -> bool:
        return self.dtype in DISCRETE

    @property
    def expanded(self) -> bool:
        """Whether its slices are one in memory, or would be where a library has no such views: their numbers are the same."""
        return self.layout == EXPANDED and bool(self.shape) and self.shape[0] > 1

    @property
    def kept(self) -> str | None:
        """What directions through the tensor keep, in words that `values.project` knows: its structure, and that slices which are one in
        memory stay one. A library may share out their gradient as it likes: its sum over them is what is defined."""
        if not self.expanded:
            return self.structure
        axes = 1 if self.structure == "simplex" else 2  # of a structure that goes across the slices nothing is left
        return f"{self.structure} {EXPANDED}" if self.structure is not None and len(self.shape) > axes else EXPANDED


@dataclass(frozen=True)
class Ref:
    """A variable that an earlier statement assigned."""

    name: str


@dataclass(frozen=True)
class Name:
    """A constant of the target: a dtype, a memory format."""

    path: str


@dataclass(frozen=True)
class Item:
    """`base[index]`"""

    base: Expr
    index: Expr


@dataclass(frozen=True)
class Attr:
    """`base.name`, for attributes such as mT, real, values"""

    base: Expr
    name: str


@dataclass(frozen=True)
class Slice:
    start: Expr = None
    stop: Expr = None
    step: Expr = None


@dataclass(frozen=True)
class Call:
    """One call. `func` says of what kind:

    - ``library.add``: a function of the target's API;
    - ``.add_``: a method of the first argument;
    - ``+``, ``@``, ``neg``, ``<`` …: a Python operator;
    - ``()``: the first argument itself is called (a module).
    """

    func: str
    args: tuple[Expr, ...] = ()
    kwargs: tuple[tuple[str, Expr], ...] = ()


# None, bool, int, float, complex, str, ..., tuples and lists of these, Ref, Name, Item, Attr, Slice, Call
Expr = Any


@dataclass(frozen=True)
class Let:
    """`names = value`; no names: the value is computed for its effect; several: it is unpacked."""

    names: tuple[str, ...]
    value: Any  # a Tensor or an expression


@dataclass(frozen=True)
class Program:
    """Statements in order. The value of the last one is the output."""

    statements: tuple[Let, ...]
    _cache: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def check(self) -> Program:
        """Raise ProgramError if the Program is larger than the language allows; else return it."""
        elements = sum(recipe.elements for recipe in self.inputs.values())
        if elements > MAX_ELEMENTS:
            raise ProgramError(f"the tensors have {elements} elements together; the limit is {MAX_ELEMENTS}")
        calls = sum(1 for _ in self.calls())
        if calls > MAX_CALLS:
            raise ProgramError(f"the Program has {calls} calls; the limit is {MAX_CALLS}")
        return self

    @property
    def inputs(self) -> dict[str, Tensor]:
        """Recipes by variable name, in order."""
        found: dict[str, Tensor] | None = self._cache.get("inputs")
        if found is None:
            found = {s.names[0]: s.value for s in self.statements if isinstance(s.value, Tensor)}
            self._cache["inputs"] = found
        return found

    def expressions(self) -> Iterator[Expr]:
        """Every expression node, outermost first."""
        for statement in self.statements:
            if not isinstance(statement.value, Tensor):
                yield from walk(statement.value)

    def calls(self) -> Iterator[Call]:
        return (node for node in self.expressions() if isinstance(node, Call))

    @property
    def api(self) -> str:
        """The name the Program is filed under: its first call of a target's function, else of a method, else an operator."""
        found: str | None = self._cache.get("api")
        if found is None:
            found = self._cache["api"] = self._find_api()
        return found

    def _find_api(self) -> str:
        functions = [call.func for call in self.calls() if call.func != "()"]
        for func in functions:
            if "." in func and func[0] != ".":
                return func
        for func in functions:
            if func[0] == ".":
                return "Tensor" + func
        return functions[0] if functions else "none"

    def with_inputs(self, changes: dict[str, Tensor]) -> Program:
        """The same Program with other recipes for some of its inputs."""
        return Program(
            tuple(
                replace(s, value=changes[s.names[0]]) if isinstance(s.value, Tensor) and s.names[0] in changes else s
                for s in self.statements
            )
        )


def walk(node: Expr) -> Iterator[Expr]:
    """The node and all below it, outermost first."""
    yield node
    for child in children(node):
        yield from walk(child)


def children(node: Expr) -> tuple[Expr, ...]:
    if isinstance(node, Call):
        return node.args + tuple(value for _, value in node.kwargs)
    if isinstance(node, (tuple, list)):
        return tuple(node)
    if isinstance(node, Item):
        return (node.base, node.index)
    if isinstance(node, Attr):
        return (node.base,)
    if isinstance(node, Slice):
        return (node.start, node.stop, node.step)
    return ()


def rebuild(node: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The node with `change` applied to each of its direct children."""
    if isinstance(node, Call):
        args = tuple(change(a) for a in node.args)
        return Call(node.func, args, tuple((k, change(v)) for k, v in node.kwargs))
    if isinstance(node, tuple):
        return tuple(change(a) for a in node)
    if isinstance(node, list):
        return [change(a) for a in node]
    if isinstance(node, Item):
        return Item(change(node.base), change(node.index))
    if isinstance(node, Attr):
        return Attr(change(node.base), node.name)
    if isinstance(node, Slice):
        return Slice(change(node.start), change(node.stop), change(node.step))
    return node
