"""Other arguments: literals, words that the documentation lists, options switched on and off, names and positions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Callable

from gradfuzz.mutate.edit import Edit, Factor, Menu, Sort, on_call, with_statement
from gradfuzz.program.model import Call, Expr, Let, Name, Program, Ref, Tensor, children, rebuild, walk
from gradfuzz.targets.base.protocol import Parameter

INFINITY = float("inf")  # an order of norms, a bound that is none
# What is multiplied by a size and cut off, or kept in single precision, shows at no half; the second leaves small sizes as they are.
FRACTIONS = (0.7, 1.2)
LONGER = 5  # than what samples have
# Of a long list of literals, and of a call with dozens of options, so many are varied systematically.
MOST_LITERALS = 6
MOST_OPTIONS = 8
MOST_GIVEN = 4  # most of what may be None has no derivative
# What keeps a formula away from the end of its domain, or divides: numbers there meet it early.
EAGER = frozenset({repr(0.0)})


def literals(program: Program) -> Iterator[tuple[list[int], Any]]:
    """(path, literal) of every literal argument of a call."""
    for position, statement in enumerate(program.statements):
        if not isinstance(statement.value, Tensor):
            yield from _literals(statement.value, [position])


def _literals(node: Expr, path: list[int]) -> Iterator[tuple[list[int], Any]]:
    for position, child in enumerate(children(node)):
        if isinstance(child, (bool, int, float, str)) and (isinstance(node, (Call, tuple, list))):
            yield [*path, position], child
        else:
            yield from _literals(child, [*path, position])


ENUMERATIONS = (
    ("none", "mean", "sum", "batchmean"), ("zeros", "border", "reflection"), ("bilinear", "nearest", "bicubic"),
    ("nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact"),
    ("constant", "reflect", "replicate", "circular"), ("valid", "same"), ("sum", "prod", "mean", "amax", "amin"),
    ("linear", "lower", "higher", "midpoint", "nearest"), ("fro", "nuc"), ("reduced", "complete", "r"),
    ("backward", "ortho", "forward"), ("floor", "trunc"), ("none", "tanh"), ("sum", "mean", "max"), ("L", "U"),
    ("xy", "ij"), ("left", "right"),
)  # fmt: skip


def other_literals(old: Any, words: tuple[str, ...] = ()) -> list[Any]:
    """Literals of the same kind."""
    if isinstance(old, bool):
        return [not old]
    if isinstance(old, int):
        return [n for n in (old + 1, old - 1, 0, 1, -1, 2, 3, -2) if n != old]
    if isinstance(old, float):
        return [x for x in (0.0, 1.0, -1.0, 0.5, 2.0, -old, old * 10, old / 10, 1e-3, 3.0, *FRACTIONS, INFINITY) if x != old]
    families = [words] if old in words else [family for family in ENUMERATIONS if old in family]
    return [word for family in families for word in family if word != old]


def _argument_factors(program: Program, menu: Menu) -> Iterator[Factor]:
    """Each literal at each of its words and edges."""
    for path, old in list(literals(program))[:MOST_LITERALS]:
        others = other_literals(old, _words(program, path, menu) if isinstance(old, str) else ())
        if others:
            levels = {repr(new): Edit("argument", path, new) for new in others}
            yield Factor(f"argument {'.'.join(map(str, path))}", tuple(levels.items()), eager=EAGER)


def draw_argument(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    """Another literal somewhere."""
    found = list(literals(program))
    if not found:
        return None
    path, old = rng.choice(found)
    others = other_literals(old, _words(program, path, menu) if isinstance(old, str) else ())
    return Edit("argument", path, rng.choice(others)) if others else None


def _words(program: Program, path: list[int], menu: Menu) -> tuple[str, ...]:
    """What the documentation says that a string argument of an outermost call may be."""
    call = program.statements[path[0]].value
    if not isinstance(call, Call) or len(path) != 2:
        return ()
    position = path[1]
    key = call.kwargs[position - len(call.args)][0] if position >= len(call.args) else None
    for overload in menu(call.func):
        for index, parameter in enumerate(overload):
            if parameter.words and (parameter.name == key or (key is None and index == position)):
                return parameter.words
    return ()


def outer_calls(program: Program) -> list[tuple[int, Call]]:
    return [(i, s.value) for i, s in enumerate(program.statements) if isinstance(s.value, Call) and "." in s.value.func]


def draw_option(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    """An optional argument switched on, or given another value than its default."""
    calls = outer_calls(program)
    if not calls:
        return None
    position, call = rng.choice(calls)
    options = _options(call, menu)
    if not options:
        return None
    parameter = rng.choice(options)
    values = _CHOICES[parameter.kind](parameter)
    return Edit(_setting(parameter), [position], [parameter.name, rng.choice(values)]) if values else None


def _setting(parameter: Parameter) -> str:
    """The kind of edit that gives an option a value."""
    return "set_name" if parameter.kind == "type" else "set_keyword"


def _options(call: Call, menu: Menu) -> list[Parameter]:
    """What the call leaves at its default."""
    given = {key for key, _ in call.kwargs}
    overloads = menu(call.func)
    return [p for o in overloads for p in o[len(call.args) :] if not p.required and p.name not in given and p.kind in _CHOICES]


def _option_factors(program: Program, menu: Menu) -> Iterator[Factor]:
    """Each option at each of its words and edges."""
    for position, call in outer_calls(program):
        options = {p.name: p for p in _options(call, menu)}
        for parameter in list(options.values())[:MOST_OPTIONS]:
            kind = _setting(parameter)
            levels = {repr(v): Edit(kind, [position], [parameter.name, v]) for v in _CHOICES[parameter.kind](parameter)}
            if levels:
                yield Factor(f"option {position}.{parameter.name}", tuple(levels.items()), eager=EAGER)


def _an_int(parameter: Parameter) -> list[Any]:
    if isinstance(parameter.default, int):
        return [parameter.default + 1, parameter.default - 1, 0, 1, -1, 2]
    return [0, 1, -1, 2, LONGER]  # most of what has no default counts dimensions, and few tensors have so many


def _a_float(parameter: Parameter) -> list[Any]:
    near = [parameter.default * 10, parameter.default / 10] if isinstance(parameter.default, float) else []
    return [0.0, *near, 0.5, 1.0, 2.0, -1.0, 1e-3, *FRACTIONS, INFINITY]  # at zero formulas fail most often


def _a_bool(parameter: Parameter) -> list[Any]:
    return [not parameter.default]


def _a_word(parameter: Parameter) -> list[Any]:
    return [word for word in parameter.words if word != parameter.default]


def _a_type(parameter: Parameter) -> list[Any]:
    return list(parameter.words)


def _some_ints(parameter: Parameter) -> list[Any]:
    return [[0], [-1], [0, 1], [1], [2, 2]]


_CHOICES: dict[str, Callable[[Parameter], list[Any]]] = {
    "int": _an_int, "float": _a_float, "number": _a_float, "bool": _a_bool, "str": _a_word, "ints": _some_ints, "type": _a_type,
}  # fmt: skip


def draw_naming(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    """The same argument by name instead of by position, or the other way round."""
    calls = [(i, c) for i, c in outer_calls(program) if c.func[0] != "."]
    if not calls:
        return None
    position, call = rng.choice(calls)
    ways = menu(call.func)
    names = [p.name for p in rng.choice(ways)] if ways else []
    if call.kwargs and rng.random() < 0.5:
        return Edit("by_position", [position], call.kwargs[0][0])
    if len(call.args) > 1 and len(names) >= len(call.args):
        return Edit("by_name", [position], names[len(call.args) - 1])
    return None


def _droppable(program: Program, menu: Menu) -> list[tuple[list[int], str]]:
    """(path, name) of every input that None may stand in the place of."""
    found = []
    for position, call in outer_calls(program):
        names = {p.name for overload in menu(call.func) for p in overload if p.nothing}
        given = [{o[i].name for o in menu(call.func) if i < len(o)} for i in range(len(call.args))] + [{key} for key, _ in call.kwargs]
        for child, (node, called) in enumerate(zip(children(call), given)):
            if isinstance(node, Ref) and node.name in program.inputs and called & names:
                found.append(([position, child], node.name))
    return found


def draw_nothing(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    places = _droppable(program, menu)
    return Edit("nothing", *rng.choice(places)) if places else None


def _nothing_factors(program: Program, menu: Menu) -> Iterator[Factor]:
    """Each tensor that need not be given left out, while the others are there."""
    places = _droppable(program, menu)
    if places:
        yield Factor("nothing", tuple((f"{name} at {path[1]}", Edit("nothing", path, name)) for path, name in places))


def _giveable(program: Program, menu: Menu) -> list[tuple[list[int], list[str]]]:
    """(statement, [parameter, tensor]) of every tensor that a call leaves at None: its first one may stand there as well."""
    found = {}
    for position, call in outer_calls(program):
        tensor = next((node.name for node in call.args if isinstance(node, Ref)), None)
        given = {key for key, _ in call.kwargs}
        for parameter in (p for overload in menu(call.func) for p in overload[len(call.args) :]):
            if tensor is not None and parameter.nothing and not parameter.required and parameter.name not in given:
                found[position, parameter.name] = ([position], [parameter.name, tensor])
    return list(found.values())


def draw_given(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    places = _giveable(program, menu)
    return Edit("set_tensor", *rng.choice(places)) if places else None


def _given_factors(program: Program, menu: Menu) -> Iterator[Factor]:
    """Each tensor that need not be given in its place, one at a time: weights and masks that samples do without."""
    places = _giveable(program, menu)[:MOST_GIVEN]
    if places:
        yield Factor("given", tuple((f"{key} at {where[0]}", Edit("set_tensor", where, [key, name])) for where, (key, name) in places))


def draw_dropped(program: Program, rng: random.Random, menu: Menu) -> Edit | None:
    places = [(position, key) for position, s in enumerate(program.statements) if isinstance(s.value, Call) for key, _ in s.value.kwargs]
    if not places:
        return None
    position, key = rng.choice(places)
    return Edit("drop_keyword", [position], key)


# How they are made ---------------------------------------------------------------------------------------------------


def _argument(program: Program, where: list[Any], value: Any) -> Program | None:
    """The literal at a path of the expressions becomes `value`. A path: statement, then child positions."""
    statement, *path = where
    if statement >= len(program.statements):
        return None
    let = program.statements[statement]
    if isinstance(let.value, Tensor):
        return None
    changed = _replaced(let.value, path, value)
    if changed is None:
        return None
    return with_statement(program, statement, Let(let.names, changed))


def _replaced(node: Expr, path: list[int], value: Any) -> Any:
    if not path:
        return tuple(value) if isinstance(node, tuple) else value
    position = -1

    def change(child: Expr) -> Expr:
        nonlocal position
        position += 1
        return _replaced(child, path[1:], value) if position == path[0] else child

    return rebuild(node, change)


def _nothing(program: Program, where: list[Any], value: str) -> Program | None:
    """None in the place of the input `value`, which goes where nobody else uses it."""
    return instead(program, where, value, None)


def instead(program: Program, where: list[Any], name: str, literal: Any) -> Program | None:
    """A literal in the place of the input `name`, which goes where nobody else uses it."""
    changed = _argument(program, where, literal)
    if changed is None or name not in program.inputs or changed == program:
        return None
    used = {node.name for s in changed.statements if not isinstance(s.value, Tensor) for node in walk(s.value) if isinstance(node, Ref)}
    return changed if name in used else Program(tuple(s for s in changed.statements if s.names != (name,)))


def _drop_keyword(call: Call, key: str) -> Call:
    return Call(call.func, call.args, tuple((k, v) for k, v in call.kwargs if k != key))


def _set_keyword(call: Call, value: list[Any]) -> Call:
    key, literal = value
    literal = tuple(literal) if isinstance(literal, list) else literal
    return Call(call.func, call.args, (*((k, v) for k, v in call.kwargs if k != key), (key, literal)))


def _set_name(call: Call, value: list[Any]) -> Call:
    """An argument that is a constant of the library: an element type."""
    key, path = value
    return Call(call.func, call.args, (*((k, v) for k, v in call.kwargs if k != key), (key, Name(path))))


def _set_tensor(call: Call, value: list[Any]) -> Call:
    """An argument that is a tensor of the Program."""
    key, name = value
    return Call(call.func, call.args, (*((k, v) for k, v in call.kwargs if k != key), (key, Ref(name))))


def _by_name(call: Call, key: str) -> Call | None:
    """The last positional argument is given by its name."""
    if not call.args or any(k == key for k, _ in call.kwargs):
        return None
    return Call(call.func, call.args[:-1], ((key, call.args[-1]), *call.kwargs))


def _by_position(call: Call, key: str) -> Call | None:
    """A keyword argument is given as the next positional one."""
    found = [v for k, v in call.kwargs if k == key]
    return Call(call.func, (*call.args, found[0]), tuple((k, v) for k, v in call.kwargs if k != key)) if found else None


_SET = {"set_keyword": on_call(_set_keyword), "set_name": on_call(_set_name)}
SORTS = [
    Sort("argument", 7, draw_argument, {"argument": _argument}, factors=_argument_factors),
    Sort("dropped", 2, draw_dropped, {"drop_keyword": on_call(_drop_keyword)}, counted=str),
    Sort("option", 5, draw_option, _SET, counted=lambda value: str(value[0]), factors=_option_factors),
    Sort("nothing", 1, draw_nothing, {"nothing": _nothing}, counted=str, factors=_nothing_factors, shortens=True),
    Sort("given", 1, draw_given, {"set_tensor": on_call(_set_tensor)}, counted=lambda value: str(value[0]), factors=_given_factors),
    Sort("naming", 1, draw_naming, {"by_name": on_call(_by_name), "by_position": on_call(_by_position)}),
]
