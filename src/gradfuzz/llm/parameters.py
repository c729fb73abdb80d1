"""Parameters of a Program: its inputs' recipes and the plain values among its calls' arguments, each with a name to change it by."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Callable

from gradfuzz.errors import ProgramError
from gradfuzz.llm.reading.makers import numbers
from gradfuzz.llm.refused import LANGUAGE, NOT_JSON, TYPES, Refused, classified
from gradfuzz.program import Language, Program, gate, parse
from gradfuzz.program.model import DTYPES, Call, Expr, Let, Name, Tensor, Values, rebuild, walk
from gradfuzz.program.text import expr_text
from gradfuzz.program.values import KINDS, check_values

_WORDS = {"inf": math.inf, "-inf": -math.inf, "+inf": math.inf, "infinity": math.inf, "-infinity": -math.inf, "nan": math.nan}
_PLAIN = (type(None), bool, int, float, complex, str)


@dataclass(frozen=True)
class Place:
    """A plain value in a call: p1, the argument `beta` of the call of softplus, now 2.0."""

    name: str
    func: str
    argument: str
    value: Any

    @property
    def text(self) -> str:
        return expr_text(self.value)


def places(program: Program) -> list[Place]:
    """Every place of a Program in the order of its text."""
    found: list[Place] = []
    _visit(program, lambda place: found.append(place) or place.value)  # type: ignore[func-returns-value]
    return found


def _visit(program: Program, change: Callable[[Place], Any]) -> Program:
    count = 0

    def at(call: Call, argument: str, value: Expr) -> Expr:
        nonlocal count
        if _is_plain(value):
            count += 1
            return change(Place(f"p{count}", call.func, argument, value))
        return inside(value)

    def inside(node: Expr) -> Expr:
        if not isinstance(node, Call):
            return rebuild(node, inside)
        args = tuple(at(node, f"argument {position}", value) for position, value in enumerate(node.args, 1))
        return Call(node.func, args, tuple((key, at(node, key, value)) for key, value in node.kwargs))

    lets = [s if isinstance(s.value, Tensor) else replace(s, value=inside(s.value)) for s in program.statements]
    return Program(tuple(lets))


def _is_plain(node: Expr) -> bool:
    return all(type(part) in (*_PLAIN, tuple, list, Name) or part is Ellipsis for part in walk(node))


def apply_set(program: Program, data: Any, language: Language) -> Program:
    """The Program with a parameter set of a model's in it; it has passed the gate. Refused for a set that says nothing or nonsense."""
    if not isinstance(data, dict):
        raise Refused(NOT_JSON, "a parameter set is an object with inputs and arguments")
    inputs, arguments = _pairs(data.get("inputs")), _pairs(data.get("arguments", data.get("parameters")))
    known = {place.name: place for place in places(program)}
    by_word = {place.argument: place.name for place in reversed(known.values())}
    changes: dict[str, Any] = {}
    recipes: dict[str, Tensor] = {}
    for name, given in [*inputs.items(), *arguments.items()]:
        if name in program.inputs:
            recipes[name] = _recipe(name, program.inputs[name], given)
        elif name in known or name in by_word:
            place = known[by_word.get(name, name)]
            changes[place.name] = _value(place, given, language)
        else:
            raise Refused(
                NOT_JSON, f"there is no {str(name)[:60]!r}; inputs are {', '.join(program.inputs)}, arguments {', '.join(known) or 'none'}"
            )
    if not changes and not recipes:
        raise Refused(NOT_JSON, "a parameter set changes nothing; name inputs or arguments with their new values")
    changed = _visit(program, lambda place: changes.get(place.name, place.value)).with_inputs(recipes)
    try:
        return gate.check(changed, language)
    except ProgramError as error:
        raise classified(error) from None


def _pairs(data: Any) -> dict[str, Any]:
    """[{"name": "x", …}] and {"x": …} say the same."""
    if data is None:
        return {}
    if isinstance(data, dict):
        return {str(key): value for key, value in data.items()}
    if isinstance(data, list) and all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in data):
        return {
            row["name"]: row.get("value") if set(row) <= {"name", "value"} else {k: v for k, v in row.items() if k != "name"}
            for row in data
        }
    raise Refused(NOT_JSON, "inputs and arguments are lists of objects with a name")


def _recipe(name: str, before: Tensor, given: Any) -> Tensor:
    if not isinstance(given, dict):
        given = {"values": given}
    given = {key: value for key, value in given.items() if value is not None}
    shape, dtype = given.get("shape", list(before.shape)), given.get("dtype", before.dtype)
    shape = [shape] if type(shape) is int else shape
    if not isinstance(shape, (list, tuple)) or not all(type(n) is int for n in shape):
        raise Refused(TYPES, f"the shape of {name} is not a list of whole numbers")
    if not isinstance(dtype, str) or dtype.rpartition(".")[2] not in DTYPES:
        raise Refused(TYPES, f"the type of {name}, {str(dtype)[:40]!r}, is none of {', '.join(DTYPES)}")
    values, listed = before.values, None
    if "values" in given:
        values, listed = _values(name, given["values"])
    if listed is not None and "shape" not in given and math.prod(before.shape) != math.prod(listed):
        shape = listed
    try:
        return replace(
            before,
            shape=tuple(shape),
            dtype=dtype.rpartition(".")[2],
            values=check_values(values),
            layout=given.get("layout", before.layout),
        )
    except ProgramError as error:
        raise Refused(LANGUAGE, f"{name}: {error.reason}") from None


def _values(name: str, given: Any) -> tuple[Values, list[int] | None]:
    """A distribution as text, or numbers; with numbers the shape that they have."""
    if isinstance(given, str):
        word = given.strip()
        if word.lower() in _WORDS:
            return Values("full", (_WORDS[word.lower()],)), None
        if word.partition("(")[0].strip() in KINDS:
            return _distribution(name, word), None
        given = _literal(name, word)
    if isinstance(given, dict) and isinstance(given.get("kind"), str):
        args = given.get("args", [])
        return Values(given["kind"], tuple(args) if isinstance(args, list) else (args,), given.get("seed")), None
    try:
        array = numbers(_spelt(given))
    except ProgramError as error:
        raise Refused(LANGUAGE, f"{name}: {error.reason}") from None
    flat = [x.item() for x in array.ravel()]
    return Values("full", (flat[0],)) if len(flat) == 1 else Values("listed", (tuple(flat),)), list(array.shape)


def _distribution(name: str, text: str) -> Values:
    from gradfuzz.llm.reading.values import distribution

    try:
        return distribution(text)
    except ProgramError as error:
        raise Refused(LANGUAGE, f"the values of {name}: {error.reason}") from None


def _spelt(value: Any) -> Any:
    """Numbers with the words for those that JSON lacks."""
    if isinstance(value, list):
        return [_spelt(part) for part in value]
    return _WORDS.get(value.strip().lower(), value) if isinstance(value, str) else value


def _literal(name: str, text: str) -> Any:
    from gradfuzz.llm.reading.values import plain

    try:
        return plain(text)
    except ProgramError as error:
        raise Refused(LANGUAGE, f"the values of {name}: {error.reason}") from None


def _value(place: Place, given: Any, language: Language) -> Any:
    """An argument's new value, of the kind it had: numbers stay numbers, words stay words."""
    if isinstance(given, dict) and set(given) == {"value"}:
        given = given["value"]
    if isinstance(place.value, str):
        if not isinstance(given, str):
            raise Refused(TYPES, f"{place.name} is a word, not {str(given)[:40]!r}")
        return given.strip().strip("'\"")
    if isinstance(given, str):
        given = _parsed(place, given, language)
    elif isinstance(given, list) and isinstance(place.value, tuple):
        given = tuple(given)
    if isinstance(place.value, bool) != isinstance(given, bool) and given is not None and place.value is not None:
        raise Refused(TYPES, f"{place.name} is {place.text}: {str(given)[:40]!r} is of another kind")
    if isinstance(given, str) and place.value is not None:
        raise Refused(TYPES, f"{place.name} is {place.text}, not a word")
    if not _is_plain(given):
        raise Refused(TYPES, f"{place.name} takes a plain value")
    return given


def _parsed(place: Place, text: str, language: Language) -> Any:
    word = {"true": "True", "false": "False", "null": "None"}.get(text.strip(), text.strip())
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    try:
        statement: Let = parse(f"p = {word}", language).statements[0]
    except ProgramError as error:
        if place.value is None and gate.is_plain(word):
            return word
        raise Refused(LANGUAGE, f"{place.name}: {error.reason}") from None
    if not _is_plain(statement.value):
        raise Refused(TYPES, f"{place.name} takes a plain value, not {word[:40]!r}")
    return statement.value
