"""Why something that a model wrote is no seed: a class to count by, and a message that can go back to the model."""

from __future__ import annotations

from gradfuzz.errors import ProgramError

# The classes, in the order of the way through the gate.
NO_ANSWER = "no answer"
NOT_JSON = "not the form asked for"
TRUNCATED = "cut short"
NOT_PYTHON = "not Python"
LANGUAGE = "outside the language"
LIMITS = "over the limits"
TYPES = "types that do not fit"
RELEASE = "not in this release"
LIBRARY = "the library raises"
NO_DERIVATIVE = "nothing to differentiate"
DIED = "its process died"
REPEATED = "written before"


class Refused(Exception):
    """One refused item."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


def classified(error: ProgramError) -> Refused:
    """What the gate says, by the class that it belongs to."""
    if error.reason.startswith("not Python"):
        return Refused(NOT_PYTHON, str(error))
    return Refused(LIMITS if "the limit is" in error.reason else LANGUAGE, str(error))
