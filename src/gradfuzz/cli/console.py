"""What the commands share: consoles, exit statuses, and one line for anything the user can mend."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from gradfuzz.errors import GradfuzzError
from gradfuzz.store import Records

NOTHING_NEW, FOUND, WRONG_USE = 0, 1, 2
# As shells count what ends by a signal: Ctrl-C before anything could be found, and a reader who has left.
INTERRUPTED, NO_READER = 130, 141


DEFAULT_STORE = Path("gradfuzz.db")
StoreOption = Annotated[Path, typer.Option("--store", help="The file that campaigns and findings are kept in.")]


class Output(Console):
    """A console that leaves it to `guarded` what becomes of a pipe without a reader."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


# A pipe has no width of its own; tables need more than the eighty columns that are assumed then.
out = Output(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 180)
err = Output(stderr=True, highlight=False, soft_wrap=True)

Command = TypeVar("Command", bound=Callable[..., Any])


def guarded(command: Command) -> Command:
    """The command with its ends in order: our own errors are one line and status 2, and status 1 means findings and nothing else."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with _plain_streams(), _ended_like_ctrl_c():
                try:
                    return command(*args, **kwargs)
                finally:
                    sys.stdout.flush()  # here, where what goes wrong can still be told
        except GradfuzzError as error:
            raise _complain(str(error)) from None
        except KeyboardInterrupt:
            raise _complain("stopped", INTERRUPTED) from None
        except BrokenPipeError:
            _write_nowhere()
            raise typer.Exit(NO_READER) from None
        except OSError as error:
            _write_nowhere()
            where = f" {error.filename}" if error.filename else ""
            raise _complain(f"cannot go on:{where} {error.strerror or error}") from None
        except (typer.Exit, typer.Abort):
            raise
        except Exception:
            # Our own mistake: status 1 means findings, so it must not be that.
            traceback.print_exc()
            raise typer.Exit(WRONG_USE) from None

    return run  # type: ignore[return-value]


def _complain(text: str, status: int = WRONG_USE) -> typer.Exit:
    with contextlib.suppress(OSError):
        err.print(visible(f"gradfuzz: {text}"), markup=False)
    return typer.Exit(status)


def _write_nowhere() -> None:
    """Nobody takes our output: what is still to come must not fail again when the interpreter ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _plain_streams() -> Iterator[None]:
    """What a stream's encoding lacks is spelt out rather than raised."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    yield


@contextlib.contextmanager
def _ended_like_ctrl_c() -> Iterator[None]:
    """SIGTERM and SIGHUP stop a command as Ctrl-C does: cleanly, with what was confirmed kept. Whoever ignores them still does (nohup)."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# Text that is not ours -------------------------------------------------------------------------------------------------

# Control characters (but for ends of lines and tabs), what turns the direction of writing, what has no width, halves of characters.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def visible(text: str) -> str:
    """Text from a store or a library as it may reach a terminal: what would move the cursor or hide is spelt out."""
    return _INVISIBLE.sub(lambda match: ascii(match[0])[1:-1], text)


def say(text: str) -> None:
    """A line with text in it that is not ours."""
    out.print(visible(text), markup=False)


# As wide as lists and pages get; a terminal may be narrower.
WIDTH = 80


def lines(text: str, first: str = "", rest: str = "") -> str:
    """Text that is not ours within the width of a page, broken between words: `first` stands before it, `rest` before further lines.

    A word that is longer than a line stays whole.
    """
    width = min(out.width, WIDTH) if out.is_terminal else WIDTH
    found: list[str] = []
    for line in visible(text).splitlines() or [""]:
        margin = line[: len(line) - len(line.lstrip())]
        before = first if not found else rest
        broken = textwrap.wrap(before + line, width, subsequent_indent=rest + margin, break_long_words=False, break_on_hyphens=False)
        found += broken or [before.rstrip()]
    return "\n".join(found)


def say_lines(text: str, first: str = "", rest: str = "", style: str = "") -> None:
    """Print such text; `style` is that of what stands before it."""
    shown = Text(lines(text, first, rest))
    shown.stylize(style, 0, len(first))
    out.print(shown)


def cell(value: object) -> str:
    """Text that is not ours within a table or beside markup."""
    return escape(visible(str(value)))


@contextlib.contextmanager
def records(path: Path) -> Iterator[Records]:
    """A store to read from. What could not be read is said in a line on standard error."""
    with Records(path) as opened:
        yield opened
        lost = opened.unreadable
        if lost:
            err.print(f"gradfuzz: {path} is damaged: {lost} or more of its rows could not be read; the rest is shown", markup=False)


# Times -------------------------------------------------------------------------------------------------------------------

_TIME = re.compile(r"^\s*(?:(\d+(?:\.\d+)?)h)?\s*(?:(\d+(?:\.\d+)?)m)?\s*(?:(\d+(?:\.\d+)?)s?)?\s*$")
LONGEST = 366 * 24 * 3600.0


def seconds(text: str) -> float:
    """`90`, `90s`, `5m`, `1h30m` as seconds."""
    match = _TIME.match(text)
    if not match or not any(match.groups()):
        raise GradfuzzError(f"{text!r} is not a time; write 90s, 5m or 1h30m")
    hours, minutes, rest = (float(part) if part else 0.0 for part in match.groups())
    total = 3600 * hours + 60 * minutes + rest
    if total <= 0:
        raise GradfuzzError(f"{text!r} is no time at all; write 90s, 5m or 1h30m")
    if total > LONGEST:
        raise GradfuzzError(f"{text[:40]!r} is longer than a year; write 90s, 5m or 1h30m")
    return total


def shown_time(value: float) -> str:
    minutes, rest = divmod(int(value), 60)
    return f"{minutes}:{rest:02d}"
