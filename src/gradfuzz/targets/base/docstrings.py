"""Seeds from the examples in docstrings, read by the safe parser: nothing of their text is executed as it stands.

An example makes arrays from literals and calls the function on them. The arrays become inputs; the call becomes the Program.
"""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.model import DISCRETE, DTYPES, Call, Expr, Let, Program, Ref, Tensor, rebuild, walk
from gradfuzz.program.parse import parse
from gradfuzz.targets.base.dtypes import dtype_name, wide
from gradfuzz.targets.base.evaluate import Compiler
from gradfuzz.targets.base.recipes import values_of

MOST_ELEMENTS = 4096


def examples(docstring: str, compiler: Compiler) -> Iterator[Program]:
    """Programs in the order of the text: of each call first the form whose whole numbers became floating ones."""
    accepted: list[str] = []
    for source in _sources(docstring):
        try:
            statement = parse("\n".join([*accepted, source]), compiler.language).statements[-1]
            statements = parse("\n".join([*accepted, source]), compiler.language).statements
        except ProgramError:
            continue
        if statement.names:
            accepted.append(source)
        if any(isinstance(node, Call) for node in walk(statement.value)):
            for whole in (False, True):
                try:
                    yield _lifted(_needed(statements), compiler, whole)
                except Exception:  # an example may show an error on purpose
                    continue


def _sources(docstring: str) -> Iterator[str]:
    """Statements, with `print(...)` and `with printoptions(...):` taken off."""
    try:
        found = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return
    for example in found:
        try:
            body = ast.parse(example.source).body
        except SyntaxError:
            continue
        queue = list(body)
        while queue:
            node = queue.pop(0)
            if isinstance(node, ast.With):
                queue = [*node.body, *queue]
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "print":
                queue = [ast.Expr(argument) for argument in node.value.args] + queue
            else:
                yield ast.unparse(node)


def _needed(statements: tuple[Let, ...]) -> list[Let]:
    """The last statement and those it depends on."""
    wanted: set[str] = set()
    kept = []
    for position, statement in enumerate(reversed(statements)):
        if position == 0 or wanted & set(statement.names):
            wanted |= {node.name for node in walk(statement.value) if isinstance(node, Ref)}
            kept.append(statement)
    return kept[::-1]


def _lifted(statements: list[Let], compiler: Compiler, whole: bool) -> Program:
    """The statements with every array that is made from literals turned into an input."""
    inputs: list[Let] = []
    renamed: dict[str, Expr] = {}

    def lift(node: Expr) -> Expr:
        if isinstance(node, Ref):
            return renamed.get(node.name, node)
        if isinstance(node, Call) and not any(isinstance(part, Ref) for part in walk(node)):
            recipe = _recipe(compiler.thunk(node)({}), len(inputs), whole)
            if recipe is not None:
                name = f"x{len(inputs)}"
                inputs.append(Let((name,), recipe))
                return Ref(name)
        return rebuild(node, lift)

    body = []
    for statement in statements[:-1]:
        value = lift(statement.value)
        if len(statement.names) == 1 and isinstance(value, Ref):
            renamed[statement.names[0]] = value
        else:
            body.append(replace(statement, value=value))
    body.append(Let(("y",), rebuild(statements[-1].value, lift)))
    return Program((*inputs, *body)).check()


def _recipe(value: Any, seed: int, whole: bool) -> Tensor | None:
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        return None
    if not {dtype_name(getattr(value.dtype, "name", value.dtype)), dtype_name(str(value.dtype))} & set(DTYPES):
        return None
    array = np.asarray(value)
    if array.size > MOST_ELEMENTS:
        return None
    dtype = wide(str(array.dtype))  # rounding comes in with edits
    if dtype in DISCRETE and dtype != "bool" and not whole:
        dtype = "float64"
        array = array.astype(np.float64)
    return Tensor(tuple(array.shape), dtype, values_of(array, seed + 1), dtype not in DISCRETE, structure=_structure(array))


def _structure(array: Any) -> str | None:
    """A symmetric matrix in an example is so for a reason: the function may read one triangle only."""
    square = array.dtype.kind in "fc" and array.ndim == 2 and array.shape[0] == array.shape[1] > 1
    if not square or not np.array_equal(array, array.conj().T) or np.array_equal(array, np.diag(np.diag(array))):
        return None
    return "positive_definite" if np.linalg.eigvalsh(array).min() > 0 else "symmetric"
