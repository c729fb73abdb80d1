"""What the commands share: consoles, exit statuses, and one line for anything the user can mend."""

from __future__ import annotations

import functools
import os
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from rich.console import Console

from gradfuzz.errors import GradfuzzError

NOTHING_NEW, FOUND, WRONG_USE = 0, 1, 2

# A pipe has no width of its own; tables need more than the eighty columns that are assumed then.
out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 180)
err = Console(stderr=True, highlight=False, soft_wrap=True)

Command = TypeVar("Command", bound=Callable[..., Any])


def guarded(command: Command) -> Command:
    """The command with our own errors turned into one line and status 2."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except GradfuzzError as error:
            err.print(f"gradfuzz: {error}", markup=False)
            raise typer.Exit(WRONG_USE) from None
        except BrokenPipeError:
            os._exit(0)  # the reader of our output has left
        except (typer.Exit, typer.Abort):
            raise
        except Exception:
            # Our own mistake: status 1 means findings, so it must not be that.
            traceback.print_exc()
            raise typer.Exit(WRONG_USE) from None

    return run  # type: ignore[return-value]


_TIME = re.compile(r"^\s*(?:(\d+(?:\.\d+)?)h)?\s*(?:(\d+(?:\.\d+)?)m)?\s*(?:(\d+(?:\.\d+)?)s?)?\s*$")


def seconds(text: str) -> float:
    """`90`, `90s`, `5m`, `1h30m` as seconds."""
    match = _TIME.match(text)
    if not match or not any(match.groups()):
        raise GradfuzzError(f"{text!r} is not a time; write 90s, 5m or 1h30m")
    hours, minutes, rest = (float(part) if part else 0.0 for part in match.groups())
    total = 3600 * hours + 60 * minutes + rest
    if total <= 0:
        raise GradfuzzError(f"{text!r} is no time at all; write 90s, 5m or 1h30m")
    return total


def shown_time(value: float) -> str:
    minutes, rest = divmod(int(value), 60)
    return f"{minutes}:{rest:02d}"
