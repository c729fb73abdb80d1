"""Installing into a virtual environment: by uv where it is there, else by pip. What went wrong is one line that names the requirement."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from gradfuzz.envs.pythons import Python
from gradfuzz.errors import GradfuzzError

# What installers write when a requirement is at fault; the first group is the requirement, the text says what is wrong with it.
_NO_RELEASE = "there is no such release for this Python and system"
_FAULTS = (
    (re.compile(r"requirement (\S+).*from versions: (?!none)(.+?)\)"), _NO_RELEASE + "; there are {1}"),
    (re.compile(r"[Nn]o matching distribution found for ([^\s(]+)"), "there is no package of it for this Python and system"),
    (re.compile(r"there (?:is|are) no (?:version|versions) of (\S+?),? "), _NO_RELEASE),
    (re.compile(r"Cannot install (.+?) because these package versions"), "they need different releases of the same package"),
    (re.compile(r"(?:Failed building wheel for|Failed to build|[Cc]ould not build wheels for) '?([\w.=-]+)"), "building it failed"),
)
_SPACE = re.compile(r"[Nn]o space left on device")
# Of a list of releases the last few tell what there is.
LISTED = 6
ENOUGH_LINES = 400


class InstallError(GradfuzzError):
    """A requirement could not be installed."""


class Steps(Protocol):
    """Who is told how it goes."""

    def step(self, text: str) -> None: ...

    def note(self, text: str) -> None: ...

    def say(self, text: str) -> None: ...


def uv() -> str | None:
    """The path of uv, where it is installed."""
    return shutil.which("uv")


def make_venv(python: Python, folder: Path, steps: Steps) -> None:
    """An empty environment with pip in it."""
    status, lines = _run([python.path, "-m", "venv", str(folder)], steps)
    if status:
        raise InstallError(f"{python.path} could not make an environment: {_last(lines)}")


def install(folder: Path, requirements: Sequence[str], python: Python, indexes: Sequence[str], steps: Steps) -> None:
    """Install into an environment. uv need not see every package that pip is set up to see: where it fails, pip is asked."""
    inside = str(folder / "bin" / "python")
    more = [part for index in indexes for part in ("--extra-index-url", index)]
    if (path := uv()) is not None:
        status, lines = _run([path, "pip", "install", "--python", inside, *more, *requirements], steps)
        if not status:
            return
        steps.say(f"uv could not ({fault(lines, requirements)}); asking pip")
    status, lines = _run([inside, "-m", "pip", "install", "--no-input", "--progress-bar", "off", *more, *requirements], steps)
    if status:
        raise InstallError(f"{fault(lines, requirements)} (Python {python.minor})")


def offered(package: str, python: Python, minors: Sequence[str]) -> list[str]:
    """The releases that pip can get for any of these Pythons."""
    found: set[str] = set()
    for minor in minors:
        name = package.partition("[")[0]  # without its extras
        command = [python.path, "-m", "pip", "index", "versions", name, "--python-version", minor, "--only-binary=:all:"]
        done = subprocess.run(command, capture_output=True, text=True, env=_environment())
        match = re.search(r"Available versions: (.+)", done.stdout)
        found.update(match[1].replace(" ", "").split(",") if match else ())
    if not found:
        raise InstallError(f"pip finds no release of {package}; name those to try one by one, as in --versions 1.12.1,2.0.1")
    return sorted(found)


def fault(lines: Sequence[str], requirements: Sequence[str]) -> str:
    """Which requirement failed and why, in one line."""
    text = "\n".join(lines)
    if _SPACE.search(text):
        return "there is no space left on the disk; set GRADFUZZ_ENVS to a folder on another one"
    for pattern, why in _FAULTS:
        if match := pattern.search(text):
            groups = [match[1], *(_shortened(group) for group in match.groups()[1:])]
            return f"{groups[0]} cannot be installed: {why.format(*groups)}"
    return f"{' '.join(r for r in requirements if not r.startswith('-'))} cannot be installed: {_last(lines)}"


def _shortened(releases: str) -> str:
    found = releases.split(", ")
    return ", ".join(found if len(found) <= LISTED else ["…", *found[-LISTED:]])


def _last(lines: Sequence[str]) -> str:
    """The line that says most: the last error, else the last line."""
    told = [line for line in lines if line.strip()]
    errors = [line for line in told if line.lower().startswith("error")]
    return (errors or told or ["nothing was said"])[-1].strip()


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV")}
    return {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}


def _run(command: list[str], steps: Steps) -> tuple[int, list[str]]:
    """Its exit status and last lines; each line is told as it comes. It ends with us, however that happens."""
    lines: list[str] = []
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env=_environment(), start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return 127, [f"{command[0]} cannot be started: {error.strerror}"]
    with _ended(process):
        assert process.stdout is not None
        for line in process.stdout:
            lines = [*lines[-ENOUGH_LINES:], line.rstrip()]
            steps.note(line.strip())
        return process.wait(), lines


@contextlib.contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
