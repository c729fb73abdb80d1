"""The Program while it is being read: its inputs, its lines, and which of them are its output."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradfuzz.llm.reading.idioms import Idioms
from gradfuzz.llm.reading.meanings import (
    Code,
    Inline,
    Known,
    Line,
    Meaning,
    Nothing,
    Path,
    Recipe,
    Seq,
    dotted,
    known_items,
    literal,
    refuse,
)
from gradfuzz.program import gate
from gradfuzz.program.model import Let
from gradfuzz.program.text import statement_text

# Enough for any answer worth having; functions that call each other twice would go on for ever.
MOST_STEPS = 20_000
MOST_LINES = 300


class Draft:
    """Collects inputs and lines, and gives every name once: a variable that is assigned anew is another one."""

    def __init__(self, idioms: Idioms) -> None:
        self.idioms = idioms
        self.inputs: list[Recipe] = []
        self.lines: list[Line] = []
        self.output: str | None = None  # what the text differentiates, where it says so
        self._used: set[str] = set()
        self._steps = 0
        self._seeds = 0

    def step(self, node: ast.AST) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS or len(self.lines) > MOST_LINES:
            refuse(node, f"the program takes more than {MOST_STEPS} steps to read or has more than {MOST_LINES} lines")

    def seed(self) -> int:
        self._seeds += 1
        return self._seeds

    def fresh(self, hint: str, node: ast.AST | None = None) -> str:
        """A name like the hint that nothing else has."""
        name, number = hint, 1
        while name in self._used or gate.variable_refusal(name, self.idioms.language):
            if not gate.is_plain(hint) or hint.startswith("__"):
                refuse(node, gate.variable_refusal(hint, self.idioms.language) or f"{hint} is no name for a variable")
            number += 1
            name = f"{hint}_{number}"
        self._used.add(name)
        return name

    def emit(self, hints: tuple[str, ...], node: ast.expr, where: ast.AST | None = None) -> Line:
        line = Line(tuple(self.fresh(hint, where) for hint in hints), node)
        self.lines.append(line)
        return line

    def named(self, code: Code, hint: str = "t") -> Code:
        """The same with a name of its own."""
        if isinstance(code.node, ast.Name):
            return code
        line = self.emit((hint,), code.node)
        return Code(ast.Name(line.names[0], ast.Load()), line)

    def expression(self, meaning: Meaning, node: ast.AST | None = None, hint: str = "x") -> ast.expr:
        """A meaning as an argument of something computed: recipes become inputs here."""
        meaning = known_items(meaning)
        if isinstance(meaning, Known):
            return literal(meaning.value)
        if isinstance(meaning, Code):
            return meaning.node
        if isinstance(meaning, Path):
            return dotted(self.idioms.language.expand(meaning.name))
        if isinstance(meaning, Recipe):
            if not any(recipe is meaning for recipe in self.inputs):
                meaning.name = self.fresh(meaning.hint or hint, node)
                self.inputs.append(meaning)
            return ast.Name(meaning.name, ast.Load())
        if isinstance(meaning, Seq):
            parts = [self.expression(item, node) for item in meaning.items]
            return ast.List(parts, ast.Load()) if meaning.kind is list else ast.Tuple(parts, ast.Load())
        if isinstance(meaning, Inline):
            refuse(node, "a function of your own cannot be an argument; call it, or write its body out")
        assert isinstance(meaning, Nothing)
        refuse(node, "this has no value that a Program could use (a gradient, a tape, a random state, something printed)")

    def outputs(self, meaning: Meaning) -> None:
        """What is differentiated is the output."""
        if isinstance(meaning, Code):
            code = self.named(meaning, "y")
            assert isinstance(code.node, ast.Name)
            self.output = code.node.id

    def text(self) -> str:
        """The Program's text: inputs first, then the lines that the output needs."""
        if not self.lines:
            refuse(None, "nothing is computed; write at least one call of the API on tensors")
        needed = self._needed()
        used = {name for line in needed for name in _names(line.node)}
        marked = any(recipe.grad for recipe in self.inputs if recipe.name in used)
        asked = not self.idioms.bold and any(recipe.asked for recipe in self.inputs if recipe.name in used)
        rows = []
        for recipe in self.inputs:
            if recipe.name in used:
                grad = recipe.asked if asked else bool(recipe.grad) if marked else recipe.grad is not False
                rows.append(statement_text(Let((recipe.name,), recipe.tensor(grad))))
        for line in needed:
            target = ", ".join(line.names)
            rows.append(f"{target} = {ast.unparse(line.node)}" if target else ast.unparse(line.node))
        if self.output is not None and self.output not in needed[-1].names:
            rows.append(f"{self.fresh('y')} = {self.output}")
        return "\n".join(rows) + "\n"

    def _needed(self) -> list[Line]:
        """The lines that the output depends on; a line without names that mentions what is needed changes it."""
        lines = self.lines
        if self.output is None:
            last = max(index for index, line in enumerate(lines) if line.names or index == len(lines) - 1)
            lines, wanted = lines[: last + 1], set(lines[last].names) | set(_names(lines[last].node))
        else:
            wanted = {self.output}
        kept = []
        for line in reversed(lines):
            mentioned = set(_names(line.node))
            if wanted & set(line.names) or (not line.names and wanted & mentioned):
                wanted |= mentioned
                kept.append(line)
        return kept[::-1]

    def left_out(self) -> Iterator[ast.expr]:
        """What does not become part of the Program."""
        needed = {id(line) for line in self._needed()}
        return (line.node for line in self.lines if id(line) not in needed)


def _names(node: ast.expr) -> Iterator[str]:
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
