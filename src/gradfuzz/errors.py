"""The one family of errors that gradfuzz raises on purpose: each message says what to do."""

from __future__ import annotations


class GradfuzzError(Exception):
    """Something the user can mend. The command line prints it as one line and exits with 2."""


class ProgramError(GradfuzzError):
    """A Program's text or data is outside the language."""

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        self.reason, self.line, self.column = reason, line, column
        where = f"line {line}, column {column}: " if line else ""
        super().__init__(where + reason)


class TargetError(GradfuzzError):
    """The library under test cannot be used here, or lacks what was asked for."""


class StoreError(GradfuzzError):
    """The store file cannot be used."""


class WorkerError(GradfuzzError):
    """A worker could not be started or spoke nonsense."""


class Through(Exception):
    """Raised inside a function under examination to end the examination: it passes through the oracles."""


class Poisoned(SystemExit):
    """A device has failed for good: this process computes nothing any more, and ends so that another takes its place."""

    STATUS = 86

    def __init__(self) -> None:
        super().__init__(self.STATUS)
