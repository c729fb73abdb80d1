"""What a target has compiled, kept for the mutants that can use it again."""

from __future__ import annotations

from typing import Any, Callable, Generic, TypeVar

from gradfuzz.program.model import Let
from gradfuzz.program.text import statement_text

Kept = TypeVar("Kept")
MOST_TEXTS = 10_000


class Plans(Generic[Kept]):
    """Things by what they depend on: the calls, the shapes and dtypes, and the numbers of discrete inputs.

    They hold memory, so that `most` are kept; `forget` is told when all are dropped.
    """

    def __init__(self, most: int, forget: Callable[[], None] = lambda: None) -> None:
        self._most, self._forget = most, forget
        self._plans: dict[tuple[Any, ...], Kept] = {}
        self._texts: dict[int, tuple[Let, str]] = {}

    def find(self, key: tuple[Any, ...]) -> Kept | None:
        return self._plans.get(key)

    def keep(self, key: tuple[Any, ...], plan: Kept) -> None:
        if len(self._plans) >= self._most:
            self.clear()
        self._plans[key] = plan

    def clear(self) -> None:
        self._plans.clear()
        self._forget()

    def text(self, statement: Let) -> str:
        """A statement's text, remembered: mutants of one seed share their statements."""
        found = self._texts.get(id(statement))
        if found is None or found[0] is not statement:
            if len(self._texts) > MOST_TEXTS:
                self._texts.clear()
            found = self._texts[id(statement)] = (statement, statement_text(statement))
        return found[1]
