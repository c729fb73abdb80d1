"""The same Program in double precision: the twin that a lower precision is judged against."""

from __future__ import annotations

from dataclasses import replace

from gradfuzz.program.language import Language
from gradfuzz.program.model import Call, Expr, Let, Name, Program, Tensor, rebuild
from gradfuzz.targets.base.dtypes import wide


def widened(program: Program, language: Language) -> Program:
    """Every lower precision replaced by the double one: in the inputs' types, in types that are named, and in calls that convert."""

    def change(node: Expr) -> Expr:
        if isinstance(node, Name):
            head, _, last = node.path.rpartition(".")
            return Name(f"{head}.{wide(last)}")
        if isinstance(node, str):
            return wide(node)
        if isinstance(node, Call) and node.func in language.wider_calls:
            return Call(language.wider_calls[node.func], tuple(change(a) for a in node.args))
        return rebuild(node, change)

    statements = []
    for statement in program.statements:
        value = statement.value
        if isinstance(value, Tensor):
            statements.append(replace(statement, value=replace(value, dtype=wide(value.dtype))))
        else:
            statements.append(Let(statement.names, change(value)))
    return Program(tuple(statements))
