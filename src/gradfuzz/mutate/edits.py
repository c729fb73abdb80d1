"""Edits: the small named changes that make mutants out of seeds.

An Edit is data. `apply` replays it on a Program and is deterministic; where it no longer fits (a shrunk Program has lost the input)
it changes nothing. So a list of edits can be replayed with any of them left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable

from gradfuzz.program.codec import values_from_json
from gradfuzz.program.model import COMPLEXES, DISCRETE, FLOATS, Call, Expr, Let, Program, Tensor, rebuild


@dataclass(frozen=True)
class Edit:
    """`kind` says what is changed, `where` which input or argument, `value` to what."""

    kind: str
    where: Any = None
    value: Any = None

    @property
    def name(self) -> str:
        """What is counted together when a campaign learns which edits an API refuses."""
        if self.kind in ("dtype", "dtypes", "layout"):
            return f"{self.kind}:{self.value}"
        if self.kind in ("set_keyword", "drop_keyword"):
            return f"{self.kind}:{self.value if isinstance(self.value, str) else self.value[0]}"
        return self.kind

    def to_json(self) -> list[Any]:
        return [self.kind, self.where, self.value]

    @staticmethod
    def from_json(data: list[Any]) -> Edit:
        kind, where, value = data
        return Edit(kind, where, value)


def apply_all(program: Program, edits: list[Edit]) -> Program:
    for edit in edits:
        program = apply(program, edit)
    return program


def apply(program: Program, edit: Edit) -> Program:
    """The Program with the edit made; the Program itself where the edit does not fit."""
    changed = APPLY[edit.kind](program, edit.where, edit.value)
    return changed if changed is not None else program


def _on_input(change: Callable[[Tensor, Any], Tensor]) -> Callable[[Program, Any, Any], Program | None]:
    def run(program: Program, where: Any, value: Any) -> Program | None:
        recipe = program.inputs.get(where)
        if recipe is None:
            return None
        return program.with_inputs({where: change(recipe, value)})

    return run


def _values(recipe: Tensor, value: Any) -> Tensor:
    return replace(recipe, values=values_from_json(value))


def _layout(recipe: Tensor, value: str) -> Tensor:
    return replace(recipe, layout=value)


def _grad(recipe: Tensor, value: bool) -> Tensor:
    return replace(recipe, grad=value)


def _shape(recipe: Tensor, value: list[int]) -> Tensor:
    return replace(recipe, shape=tuple(value))


def _one_dtype(recipe: Tensor, value: str) -> Tensor:
    return replace(recipe, dtype=value)


def _all_dtypes(program: Program, where: Any, value: str) -> Program | None:
    """Every floating input becomes `value`; a real type stays real where it becomes complex is asked for discrete ones."""
    changes = {}
    for name, recipe in program.inputs.items():
        if recipe.dtype in DISCRETE:
            continue
        changes[name] = replace(recipe, dtype=_same_kind(recipe.dtype, value))
    return program.with_inputs(changes)


def _same_kind(old: str, new: str) -> str:
    """A complex input keeps being complex when the real ones change precision."""
    if old in COMPLEXES and new in FLOATS:
        return "complex128" if new == "float64" else "complex64"
    return new


def _size(program: Program, where: int, value: int) -> Program | None:
    """Every dimension of the size `where` becomes `value`: sizes that are equal are so for a reason."""
    changes = {}
    for name, recipe in program.inputs.items():
        if where in recipe.shape:
            changes[name] = replace(recipe, shape=tuple(value if n == where else n for n in recipe.shape))
    return program.with_inputs(changes)


def _batch(program: Program, where: Any, value: int) -> Program | None:
    """A new leading dimension on every input."""
    return program.with_inputs({n: replace(r, shape=(value, *r.shape)) for n, r in program.inputs.items() if len(r.shape) < 8})


def _unbatch(program: Program, where: Any, value: Any) -> Program | None:
    return program.with_inputs({n: replace(r, shape=r.shape[1:]) for n, r in program.inputs.items() if r.shape})


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
    statements = list(program.statements)
    statements[statement] = Let(let.names, changed)
    return Program(tuple(statements))


def _replaced(node: Expr, path: list[int], value: Any) -> Any:
    if not path:
        return tuple(value) if isinstance(node, tuple) else value
    position = -1

    def change(child: Expr) -> Expr:
        nonlocal position
        position += 1
        return _replaced(child, path[1:], value) if position == path[0] else child

    return rebuild(node, change)


def _on_call(change: Callable[[Call, Any], Call | None]) -> Callable[[Program, Any, Any], Program | None]:
    """An edit of the outermost call of the statement `where[0]`."""

    def run(program: Program, where: list[Any], value: Any) -> Program | None:
        statement = where[0]
        let = program.statements[statement] if statement < len(program.statements) else None
        if let is None or not isinstance(let.value, Call):
            return None
        changed = change(let.value, value)
        if changed is None:
            return None
        statements = list(program.statements)
        statements[statement] = Let(let.names, changed)
        return Program(tuple(statements))

    return run


def _drop_keyword(call: Call, key: str) -> Call:
    return Call(call.func, call.args, tuple((k, v) for k, v in call.kwargs if k != key))


def _set_keyword(call: Call, value: list[Any]) -> Call:
    key, literal = value
    literal = tuple(literal) if isinstance(literal, list) else literal
    return Call(call.func, call.args, (*((k, v) for k, v in call.kwargs if k != key), (key, literal)))


def _by_name(call: Call, key: str) -> Call | None:
    """The last positional argument is given by its name."""
    if not call.args or any(k == key for k, _ in call.kwargs):
        return None
    return Call(call.func, call.args[:-1], ((key, call.args[-1]), *call.kwargs))


def _by_position(call: Call, key: str) -> Call | None:
    """A keyword argument is given as the next positional one."""
    found = [v for k, v in call.kwargs if k == key]
    return Call(call.func, (*call.args, found[0]), tuple((k, v) for k, v in call.kwargs if k != key)) if found else None


def _same_tensor(program: Program, where: str, value: str) -> Program | None:
    """Uses of the input `value` become uses of the input `where`: one tensor passed twice."""
    from gradfuzz.program.model import Ref

    def change(node: Expr) -> Expr:
        return Ref(where) if isinstance(node, Ref) and node.name == value else rebuild(node, change)

    if where not in program.inputs or value not in program.inputs:
        return None
    kept = [s for s in program.statements if not (isinstance(s.value, Tensor) and s.names == (value,))]
    return Program(tuple(s if isinstance(s.value, Tensor) else Let(s.names, change(s.value)) for s in kept))


APPLY: dict[str, Callable[[Program, Any, Any], Program | None]] = {
    "values": _on_input(_values),
    "layout": _on_input(_layout),
    "grad": _on_input(_grad),
    "shape": _on_input(_shape),
    "dtype": _on_input(_one_dtype),
    "dtypes": _all_dtypes,
    "size": _size,
    "batch": _batch,
    "unbatch": _unbatch,
    "argument": _argument,
    "drop_keyword": _on_call(_drop_keyword),
    "set_keyword": _on_call(_set_keyword),
    "by_name": _on_call(_by_name),
    "by_position": _on_call(_by_position),
    "same_tensor": _same_tensor,
}
