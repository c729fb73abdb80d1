"""Finds a package's hand-written derivatives in its own interpreter, and hears how a program of the user's calls them.

run_scanned.py TARGET HOME FOLDER PACKAGE PATH CONTENTS -- program …        (the program may be left out)

The file PATH gets a line of JSON for each seed as soon as it is heard, and at the end one with all that was found.
"""

import json
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

    target, home, folder, package, path, contents, _, *program = sys.argv[1:]
    with open(path, "w", encoding="utf-8") as file:

        def write(row: object) -> None:
            file.write(json.dumps(row) + "\n")
            file.flush()

        sys.path.insert(0, os.getcwd())
        scanned = Home(target, home, Path(folder)).part("handwritten")(package, write, contents == "contents")
        scanned.listen()
        failed = scanned.find(hearing=True)
        write({"rules": scanned.told(), "failed": failed, "done": not program})
        status = 0
        try:
            status = _run(program) if program else 0
        finally:
            scanned.try_out()
            write({"rules": scanned.told(), "failed": failed, "done": True})
    sys.exit(status)


def _run(program) -> int:  # type: ignore[no-untyped-def]
    """The program as it would run alone; its status."""
    try:
        if program[0] == "pytest":
            program = ["-m", *program]
        if program[0] == "-m":
            sys.argv = program[1:]
            runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = program
            sys.path.insert(0, os.path.dirname(os.path.abspath(program[0])))
            runpy.run_path(program[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except KeyboardInterrupt:  # its time is up
        return 130
    return 0


if __name__ == "__main__":
    main()
