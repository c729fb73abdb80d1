"""The worker's side under the oldest Python ≥ 3.9 that is installed: it must compile there, and its unit tests must pass.

Run as a script by `make test`; `--all` takes every Python that is installed (`make pythons`). It says loudly which Python it used, and
when there was none older than its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORKER_SIDE = (
    "program", "mutate", "targets", "numdiff", "oracles", "findings/inside", "chains", "graphs", "worker", "errors.py", "__init__.py",
)  # fmt: skip
UNIT_TESTS = ("tests/worker_side",)


def candidates() -> list[tuple[tuple[int, int], str]]:
    """(version, path) of the Pythons that can be found, oldest first."""
    found: dict[tuple[int, int], str] = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [str(p / "bin" / "python") for p in sorted(pyenv.glob("3.*"))] if pyenv.exists() else []
    places += [path for minor in range(9, 20) if (path := shutil.which(f"python3.{minor}"))]
    for path in places:
        said = subprocess.run([path, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True)
        match = re.match(r"\((\d+), (\d+)\)", said.stdout)
        if match and (version := (int(match[1]), int(match[2]))) >= (3, 9):
            found.setdefault(version, path)
    return sorted(found.items())


def main(everyone: bool) -> int:
    found = candidates() or [((sys.version_info[0], sys.version_info[1]), sys.executable)]
    (version, _), *_ = found
    if version >= sys.version_info[:2]:
        print(f"NOTE: no Python older than {version[0]}.{version[1]} is installed; the worker's side is checked with that one")
    return max(checked(*one) for one in (found if everyone else found[:1]))


def checked(version: tuple[int, int], python: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        subprocess.run([python, "-m", "venv", str(environment)], check=True)
        inside = str(environment / "bin" / "python")
        subprocess.run([inside, "-m", "pip", "install", "--quiet", "numpy", "pytest"], check=True)
        code = "import compileall, sys; sys.exit(not all(compileall.compile_dir(p, quiet=1, force=True) if not p.endswith('.py') " \
            "else compileall.compile_file(p, quiet=1, force=True) for p in sys.argv[1:]))"  # fmt: skip
        paths = [str(ROOT / "src" / "gradfuzz" / part) for part in WORKER_SIDE]
        environ = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONPYCACHEPREFIX": folder}
        subprocess.run([inside, "-c", code, *paths], check=True, env=environ)
        done = subprocess.run([inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", *UNIT_TESTS], cwd=ROOT, env=environ)
    print(f"worker's side: Python {version[0]}.{version[1]} ({'ok' if done.returncode == 0 else 'FAILED'})")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main("--all" in sys.argv[1:]))
