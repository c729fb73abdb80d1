"""Runs a Python program in its own interpreter and records its API calls.

run_recorded.py TARGET PACKAGE FOLDER PATH CONTENTS -- program …
"""

import os
import runpy
import sys


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    sys.path.insert(0, here)
    from boot import register  # type: ignore[import-not-found]

    sys.path.remove(here)
    register()
    from pathlib import Path

    from gradfuzz.targets.homes import Home
    from gradfuzz.targets.record import record

    target, package, folder, path, contents, _, *program = sys.argv[1:]
    with record(path, Home(target, package, Path(folder)), contents == "contents") as recording:
        try:
            if program[0] == "-m":
                sys.argv = program[1:]
                sys.path.insert(0, os.getcwd())
                runpy.run_module(program[1], run_name="__main__", alter_sys=True)
            else:
                sys.argv = program
                sys.path.insert(0, os.path.dirname(os.path.abspath(program[0])))
                runpy.run_path(program[0], run_name="__main__")
        finally:
            print(f"gradfuzz: {recording.count} distinct calls recorded", file=sys.stderr)


if __name__ == "__main__":
    main()
