"""How to start a target's interpreter, and what its workers may use."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gradfuzz.errors import TargetError
from gradfuzz.targets.base.ways import Way, declared
from gradfuzz.targets.homes import home_of
from gradfuzz.worker.walls import COMPILER, STRICT

# How names of environment variables end that no library under test needs to see.
SECRET = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")

BOOT = Path(__file__).parent.parent / "worker" / "boot.py"

# Where an API is known to hang, its other mutants have this part of the time limit, and so has each scenario of the one that did: one more
# hang is nothing new, and costs all of it.
HASTE = 0.25


@dataclass(frozen=True)
class Launch:
    """Everything that a worker's process depends on."""

    target: str
    python: str = sys.executable
    modules: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    timeout: float = 10.0  # seconds that one mutant may take
    memory: int = 4096  # megabytes that a worker may grow by
    ways: tuple[str, ...] = ()  # further ways of running that workers are made ready for
    device: str = ""  # another device that they use
    variables: tuple[tuple[str, str], ...] = ()  # of the environment, as the library's release needs them

    @property
    def haste(self) -> float:
        """Seconds that one mutant may take of an API that is known to hang, or if one like it took next to none."""
        return HASTE * self.timeout

    @cached_property
    def walls(self) -> str:
        """The profile of a worker's walls (see worker/walls.py): the target's, and what the ways need; modules may well call a compiler."""
        profile = str(home_of(self.target).about.get("walls", STRICT))
        needed = self.modules or any(way.walls == COMPILER for way in self._ways)
        return COMPILER if needed and profile == STRICT else profile

    @cached_property
    def patience(self) -> float:
        """By how much longer a mutant may take for the sake of the ways."""
        return max((way.patience for way in self._ways), default=1.0)

    @cached_property
    def _ways(self) -> list[Way]:
        return list(declared(home_of(self.target).data("ways"), self.ways).values())

    def command(self, log: Path) -> list[str]:
        home = home_of(self.target)
        command = [self.interpreter(), str(BOOT), "--target", home.name, "--package", home.package, "--folder", str(home.folder)]
        command += ["--log", str(log)]
        for module in self.modules:
            command += ["--module", module]
        for path in self.paths:
            command += ["--path", path]
        for way in self.ways:
            command += ["--way", way]
        return command

    def interpreter(self) -> str:
        found = shutil.which(self.python)
        if found is None:
            raise TargetError(f"--python {self.python}: there is no such interpreter")
        return found

    def environment(self, inherited: dict[str, str]) -> dict[str, str]:
        """One thread a worker; nothing of the campaign's own Python set-up, and no key."""
        kept = {k: v for k, v in inherited.items() if k not in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP") and not k.endswith(SECRET)}
        kept.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", PYTHONUNBUFFERED="1")
        kept.update(self.variables)
        return kept
