"""Public packages, each in an environment of its own: gradfuzz and the libraries' own checkers on the same functions at the same inputs.

    python benchmarks/in_the_wild.py --out wild.json [--only entmax] [--keep FOLDER]

Environments see the libraries of the interpreter that runs this (a .pth file), and have the package beside them, without its
dependencies but for those that packages.json names. What the functions are, and at which inputs, is in packages.json; which of the
disagreements are bugs was judged by hand (docs/found/packages.md).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

OTHERS = ("gradcheck", "check_grads", "compute_gradient")
HERE = Path(__file__).parent / "wild"
SOURCE = Path(__file__).parent.parent / "src"
# One package may take this long, with all its functions under all checkers.
SECONDS = 240


def environment(folder: Path, package: dict[str, Any]) -> Path:
    """An interpreter that has the package, and sees the libraries of this one."""
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        site = next((folder / "lib").glob("python*")) / "site-packages"
        (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
        wanted = [f"{package['package']}=={package['version']}", *package.get("needs", [])]
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), *wanted], check=True)
        ready.touch()
    return python


def compared(package: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """The rows of one package; one that says why, where there are none."""
    try:
        python = environment(folder / package["package"], package)
        done = subprocess.run(
            [str(python), str(HERE / "compare.py")], input=json.dumps(package), capture_output=True, text=True, timeout=SECONDS,
            env={**os.environ, "PYTHONPATH": str(SOURCE), "JAX_PLATFORMS": "cpu"},
        )  # fmt: skip
        sys.stderr.write("".join(line for line in done.stderr.splitlines(True) if line.startswith(package["package"])))
        return list(json.loads(done.stdout.splitlines()[-1]))
    except (subprocess.SubprocessError, IndexError, ValueError) as error:
        return [{"package": package["package"], "function": "", "broken": f"{type(error).__name__}: {str(error)[:300]}"}]


def summary(rows: list[dict[str, Any]]) -> str:
    lines = []
    for checker in ("gradfuzz", *OTHERS):
        told = [row[checker] for row in rows if checker in row]
        if told:
            counts = {outcome: sum(t["outcome"] == outcome for t in told) for outcome in ("right", "wrong", "inconclusive", "raises")}
            spent = sum(t["seconds"] for t in told), sum(t["evaluations"] for t in told)
            said = ", ".join(f"{n} {outcome}" for outcome, n in counts.items() if n)
            lines.append(f"{checker}: {len(told)} functions: {said}; {spent[0]:.1f} s, {spent[1]} evaluations")
    missed = [f"{r['package']}.{r['function']}" for r in rows for other in OTHERS
              if other in r and r[other]["outcome"] == "wrong" and r["gradfuzz"]["outcome"] == "right"]  # fmt: skip
    lines.append(f"called wrong by another and right by gradfuzz: {', '.join(missed) or 'none'}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="only this package; may be given again")
    parser.add_argument("--out", type=Path, default=Path("wild.json"))
    parser.add_argument("--keep", type=Path, help="where environments stay; a temporary folder by default")
    options = parser.parse_args()
    packages = json.loads((HERE / "packages.json").read_text(encoding="utf-8"))
    chosen = [p for p in packages if not options.only or p["package"] in options.only]
    with tempfile.TemporaryDirectory(prefix="wild-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows: list[dict[str, Any]] = []
        for package in chosen:
            rows += compared(package, folder)
            options.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")  # whoever stops it has what was seen so far
    for row in rows:
        if "broken" in row:
            print(f"broken: {row['package']} {row['function']}: {row['broken'].strip().splitlines()[-1]}")
    print(summary(rows))


if __name__ == "__main__":
    main()
