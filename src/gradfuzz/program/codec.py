"""Program to JSON and back. The JSON form is what travels between processes and lies in the store.

Reading is strict: data of any other form than what is written here is refused with a ProgramError, and nothing else is ever raised.
What the names in it mean is for the gate to judge.
"""

from __future__ import annotations

from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.program.limits import MAX_DEPTH, MAX_NODES, MAX_STATEMENTS
from gradfuzz.program.model import Attr, Call, Expr, Item, Let, Name, Program, Ref, Slice, Tensor, Values
from gradfuzz.program.text import number_text
from gradfuzz.program.values import check_values

FORMAT = 1


def to_json(program: Program) -> dict[str, Any]:
    return {"format": FORMAT, "statements": [_let(s) for s in program.statements]}


def from_json(data: Any) -> Program:
    """The Program behind the data; ProgramError if the data is not of our form."""
    if not isinstance(data, dict) or type(data.get("format")) is not int or data["format"] != FORMAT:
        raise ProgramError(f"not a Program of format {FORMAT}")
    rows = _field(data, "statements", list)
    if len(rows) > MAX_STATEMENTS:
        raise ProgramError(f"the Program has {len(rows)} statements; the limit is {MAX_STATEMENTS}")
    reader = _Reader()
    return Program(tuple(reader.let(row) for row in rows)).check()


def values_from_json(data: Any) -> Values:
    """A distribution behind its data; ProgramError if there is none such."""
    return _Reader().values(data, 0)


def _let(statement: Let) -> dict[str, Any]:
    value = statement.value
    body = {"tensor": _tensor(value)} if isinstance(value, Tensor) else {"expr": _expr(value)}
    return {"names": list(statement.names), **body}


def _tensor(recipe: Tensor) -> dict[str, Any]:
    data: dict[str, Any] = {"shape": list(recipe.shape), "dtype": recipe.dtype, "values": values_to_json(recipe.values)}
    if not recipe.grad:
        data["grad"] = False
    if recipe.layout != "contiguous":
        data["layout"] = recipe.layout
    if recipe.structure is not None:
        data["structure"] = recipe.structure
    return data


def values_to_json(values: Values) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": values.kind}
    if values.args:
        data["args"] = [
            {"values": values_to_json(a)} if isinstance(a, Values) else [_number(n) for n in a] if isinstance(a, tuple) else _number(a)
            for a in values.args
        ]
    if values.seed is not None:
        data["seed"] = values.seed
    return data


def _number(number: Any) -> Any:
    """Numbers that JSON has stay as they are; the others are written as tagged text."""
    if isinstance(number, complex):
        return {"complex": [_number(number.real), _number(number.imag)]}
    if isinstance(number, float) and (number != number or number in (float("inf"), float("-inf"))):
        return {"float": number_text(number)[7:-2]}
    return number


def _expr(node: Expr) -> Any:
    if isinstance(node, Ref):
        return {"ref": node.name}
    if isinstance(node, Name):
        return {"name": node.path}
    if isinstance(node, Item):
        return {"item": [_expr(node.base), _expr(node.index)]}
    if isinstance(node, Attr):
        return {"attr": [_expr(node.base), node.name]}
    if isinstance(node, Slice):
        return {"slice": [_expr(node.start), _expr(node.stop), _expr(node.step)]}
    if isinstance(node, Call):
        data: dict[str, Any] = {"call": node.func, "args": [_expr(a) for a in node.args]}
        if node.kwargs:
            data["kwargs"] = [[key, _expr(value)] for key, value in node.kwargs]
        return data
    if isinstance(node, tuple):
        return {"tuple": [_expr(a) for a in node]}
    if isinstance(node, list):
        return [_expr(a) for a in node]
    if node is Ellipsis:
        return {"ellipsis": True}
    if isinstance(node, str):
        return node
    return _number(node)


# Reading ---------------------------------------------------------------------------------------------------------------


def _field(data: dict[str, Any], key: str, *kinds: type) -> Any:
    """A field that must be there and of one of these types, to the letter: JSON's true is not a number here."""
    found = data.get(key)
    if type(found) not in kinds:
        raise ProgramError(f"broken Program data: {key!r} is missing or of the wrong type")
    return found


def _only(data: dict[str, Any], *keys: str) -> None:
    """Nothing but these fields: what is not read is not there."""
    if not data.keys() <= set(keys):
        raise ProgramError(f"broken Program data: a field besides {', '.join(keys)}")


class _Reader:
    """Reads one Program's data, and counts its parts."""

    def __init__(self) -> None:
        self.nodes = 0

    def let(self, data: Any) -> Let:
        if not isinstance(data, dict) or ("tensor" in data) == ("expr" in data):
            raise ProgramError("broken Program data: a statement has names and either a tensor or an expression")
        _only(data, "names", "tensor", "expr")
        names = _field(data, "names", list)
        if not all(type(name) is str for name in names) or ("tensor" in data and len(names) != 1):
            raise ProgramError("broken Program data: the names of a statement are a list of strings, a tensor's just one")
        return Let(tuple(names), self.tensor(data["tensor"]) if "tensor" in data else self.expr(data["expr"], 0))

    def tensor(self, data: Any) -> Tensor:
        if not isinstance(data, dict):
            raise ProgramError("broken Program data: a tensor is an object")
        _only(data, "shape", "dtype", "values", "grad", "layout", "structure")
        shape = _field(data, "shape", list)
        if not all(type(n) is int for n in shape):
            raise ProgramError("broken Program data: a shape is a list of whole numbers")
        grad = _field(data, "grad", bool) if "grad" in data else True
        layout = _field(data, "layout", str) if "layout" in data else "contiguous"
        structure = _field(data, "structure", str, type(None)) if "structure" in data else None
        return Tensor(tuple(shape), _field(data, "dtype", str), self.values(data.get("values"), 0), grad, layout, structure)

    def values(self, data: Any, depth: int) -> Values:
        if not isinstance(data, dict) or depth > MAX_DEPTH:
            raise ProgramError("broken Program data: values are an object, nested a few times at most")
        _only(data, "kind", "args", "seed")
        args = tuple(
            self.values(a["values"], depth + 1) if isinstance(a, dict) and a.keys() == {"values"}
            else tuple(_unnumber(n) for n in a) if isinstance(a, list) else _unnumber(a)
            for a in (_field(data, "args", list) if "args" in data else ())
        )  # fmt: skip
        seed = _field(data, "seed", int, type(None)) if "seed" in data else None
        return check_values(Values(_field(data, "kind", str), args, seed))

    def expr(self, data: Any, depth: int) -> Expr:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise ProgramError(f"expressions nest deeper than {MAX_DEPTH} or have more than {MAX_NODES} parts")
        if isinstance(data, list):
            return [self.expr(a, depth + 1) for a in data]
        if data is None or type(data) in (bool, int, float, str):
            return data
        if not isinstance(data, dict):
            raise ProgramError("broken Program data: an expression of an unknown type")
        if "call" in data:
            return self.call(data, depth)
        if len(data) != 1:
            raise ProgramError("broken Program data: an expression of several kinds at once")
        ((kind, inner),) = data.items()
        if kind in ("ref", "name"):
            name = _field(data, kind, str)
            return Ref(name) if kind == "ref" else Name(name)
        if kind == "attr":
            base, name = self.parts(inner, 2)
            if type(name) is not str:
                raise ProgramError("broken Program data: an attribute is a string")
            return Attr(self.expr(base, depth + 1), name)
        if kind == "item":
            base, index = self.parts(inner, 2)
            return Item(self.expr(base, depth + 1), self.expr(index, depth + 1))
        if kind == "slice":
            return Slice(*(self.expr(a, depth + 1) for a in self.parts(inner, 3)))
        if kind == "tuple":
            return tuple(self.expr(a, depth + 1) for a in _field(data, kind, list))
        if kind == "ellipsis" and inner is True:
            return ...
        return _unnumber(data)

    def call(self, data: dict[str, Any], depth: int) -> Call:
        _only(data, "call", "args", "kwargs")
        args = tuple(self.expr(a, depth + 1) for a in _field(data, "args", list))
        pairs = [self.parts(pair, 2) for pair in (_field(data, "kwargs", list) if "kwargs" in data else ())]
        if not all(type(key) is str for key, _ in pairs) or len({key for key, _ in pairs}) != len(pairs):
            raise ProgramError("broken Program data: arguments given by name are pairs of a string and a value, each name once")
        func = _field(data, "call", str)
        if not func:
            raise ProgramError("broken Program data: a call of nothing")
        return Call(func, args, tuple((key, self.expr(value, depth + 1)) for key, value in pairs))

    @staticmethod
    def parts(data: Any, count: int) -> list[Any]:
        if not isinstance(data, list) or len(data) != count:
            raise ProgramError(f"broken Program data: a list of {count} is needed")
        return data


def _unnumber(data: Any) -> Any:
    """A number: as JSON has it, or as tagged text where JSON has none."""
    if isinstance(data, dict) and data.keys() == {"complex"}:
        parts = data["complex"]
        if isinstance(parts, list) and len(parts) == 2:
            real, imaginary = (_unnumber(part) for part in parts)
            if type(real) in (int, float) and type(imaginary) in (int, float):
                try:
                    return complex(real, imaginary)
                except OverflowError:
                    raise ProgramError("broken Program data: a complex number that is too large") from None
    if isinstance(data, dict) and data.keys() == {"float"} and data["float"] in ("nan", "inf", "-inf"):
        return float(data["float"])
    if type(data) not in (bool, int, float):
        raise ProgramError("broken Program data: not a number")
    return data
