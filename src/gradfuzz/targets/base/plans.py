"""What a target has compiled, kept for the mutants that can use it again."""

from __future__ import annotations

from typing import Any, Callable, Generic, TypeVar

from gradfuzz.program.model import Let
from gradfuzz.program.text import statement_text

Kept = TypeVar("Kept")
MOST_TEXTS = 10_000


class Plans(Generic[Kept]):
    """Things by what they depend on: the calls, the shapes and dtypes, and the numbers of discrete inputs.

    They hold memory, of ours and of the library's: after `most` of them all are dropped, and `release` frees what is the library's.
    """

    def __init__(self, most: int, release: Callable[[], None] = lambda: None) -> None:
        self._most, self._release = most, release
        self._made = 0
        self._plans: dict[tuple[Any, ...], Kept] = {}
        self._texts: dict[int, tuple[Let, str]] = {}

    def find(self, key: tuple[Any, ...]) -> Kept | None:
        return self._plans.get(key)

    def keep(self, key: tuple[Any, ...], plan: Kept) -> None:
        if self._made >= self._most:
            self.clear()
        self._plans[key] = plan
        self._made += 1

    def forget(self) -> None:
        """Find none of them again."""
        self._plans.clear()

    def clear(self) -> None:
        """Forget them, and give back their memory."""
        self.forget()
        self._made = 0
        self._release()

    def text(self, statement: Let) -> str:
        """A statement's text, remembered: mutants of one seed share their statements."""
        found = self._texts.get(id(statement))
        if found is None or found[0] is not statement:
            if len(self._texts) > MOST_TEXTS:
                self._texts.clear()
            found = self._texts[id(statement)] = (statement, statement_text(statement))
        return found[1]
