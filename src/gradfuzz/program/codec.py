"""Program to JSON and back. The JSON form is what travels between processes and lies in the store."""

from __future__ import annotations

from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import Attr, Call, Expr, Item, Let, Name, Program, Ref, Slice, Tensor, Values
from gradfuzz.program.text import number_text
from gradfuzz.program.values import check_values

FORMAT = 1


def to_json(program: Program) -> dict[str, Any]:
    return {"format": FORMAT, "statements": [_let(s) for s in program.statements]}


def from_json(data: Any) -> Program:
    """The Program behind the data; ProgramError if the data is not of our form."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ProgramError(f"not a Program of format {FORMAT}")
    try:
        return Program(tuple(_unlet(s) for s in data["statements"])).check()
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ProgramError(f"broken Program data: {error!r}") from None


def _let(statement: Let) -> dict[str, Any]:
    value = statement.value
    body = {"tensor": _tensor(value)} if isinstance(value, Tensor) else {"expr": _expr(value)}
    return {"names": list(statement.names), **body}


def _unlet(data: dict[str, Any]) -> Let:
    value = _untensor(data["tensor"]) if "tensor" in data else _unexpr(data["expr"])
    return Let(tuple(map(str, data["names"])), value)


def _tensor(recipe: Tensor) -> dict[str, Any]:
    data: dict[str, Any] = {"shape": list(recipe.shape), "dtype": recipe.dtype, "values": values_to_json(recipe.values)}
    if not recipe.grad:
        data["grad"] = False
    if recipe.layout != "contiguous":
        data["layout"] = recipe.layout
    if recipe.structure is not None:
        data["structure"] = recipe.structure
    return data


def _untensor(data: dict[str, Any]) -> Tensor:
    shape = tuple(int(n) for n in data["shape"])
    values = check_values(values_from_json(data["values"]))
    layout = data.get("layout", "contiguous")
    return Tensor(shape, data["dtype"], values, bool(data.get("grad", True)), layout, data.get("structure"))


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


def values_from_json(data: dict[str, Any]) -> Values:
    args = tuple(
        values_from_json(a["values"]) if isinstance(a, dict) and "values" in a
        else tuple(_unnumber(n) for n in a) if isinstance(a, list) else _unnumber(a)
        for a in data.get("args", [])
    )  # fmt: skip
    seed = data.get("seed")
    return Values(str(data["kind"]), args, None if seed is None else int(seed))


def _number(number: Any) -> Any:
    """Numbers that JSON has stay as they are; the others are written as tagged text."""
    if isinstance(number, complex):
        return {"complex": [_number(number.real), _number(number.imag)]}
    if isinstance(number, float) and (number != number or number in (float("inf"), float("-inf"))):
        return {"float": number_text(number)[7:-2]}
    return number


def _unnumber(data: Any) -> Any:
    if isinstance(data, dict):
        if "complex" in data:
            return complex(*(_unnumber(part) for part in data["complex"]))
        return float(data["float"])
    if data is not None and not isinstance(data, (bool, int, float)):
        raise ProgramError(f"not a number: {data!r}")
    return data


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


def _unexpr(data: Any) -> Expr:
    if isinstance(data, list):
        return [_unexpr(a) for a in data]
    if not isinstance(data, dict):
        return data
    if "ref" in data:
        return Ref(str(data["ref"]))
    if "name" in data:
        return Name(str(data["name"]))
    if "item" in data:
        return Item(*(_unexpr(a) for a in data["item"]))
    if "attr" in data:
        return Attr(_unexpr(data["attr"][0]), str(data["attr"][1]))
    if "slice" in data:
        return Slice(*(_unexpr(a) for a in data["slice"]))
    if "call" in data:
        args = tuple(_unexpr(a) for a in data["args"])
        return Call(str(data["call"]), args, tuple((str(k), _unexpr(v)) for k, v in data.get("kwargs", [])))
    if "tuple" in data:
        return tuple(_unexpr(a) for a in data["tuple"])
    if "ellipsis" in data:
        return ...
    return _unnumber(data)
