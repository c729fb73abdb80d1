"""Scripts to paste: of a store's wrong numbers, how many have a script of at most 25 lines that shows the bug by itself.

python benchmarks/short_scripts.py STORE [--python PYTHON] [--write FOLDER] [--keep] [--ways]

Every short script is made anew, run in a worker as a campaign does, and then by itself: PYTHON script.py must exit with 1, print what AD
gives, and raise nothing. --keep writes them into the store, --write into a folder. --ways: those of findings of further ways instead,
errors among them, whose own scripts are meant to be short. Wanted: 90 %.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.findings.short import MOST_LINES, WRONG_NUMBERS, shorten, showed
from gradfuzz.findings.shown import Short
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.store import Records, Store

WANTED = 0.9
LIMIT = 120.0
DEATHS = ("crash", "timeout")  # their scripts start a child and wait for it


def alone(python: str, short: Short, folder: Path) -> str:
    """Nothing if the script shows the bug by itself, else what it did."""
    path = folder / "bug.py"
    path.write_text(short.script, encoding="utf-8")
    try:
        ran = subprocess.run([python, str(path)], capture_output=True, text=True, timeout=LIMIT, cwd=folder, env={"PATH": "/usr/bin:/bin"})
    except subprocess.TimeoutExpired:
        return "it did not come back"
    if "Traceback" in ran.stderr or showed(short, ran.returncode, ran.stdout) is None:
        return f"status {ran.returncode}: {(ran.stdout + ran.stderr).strip()[-200:]}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--ways", action="store_true")
    options = parser.parse_args()
    if options.ways:
        return of_ways(options.store, options.python)
    with Records(options.store) as store:
        findings = [f for f in store.findings() if f.kind in WRONG_NUMBERS and not any(s.way for s in f.verdict.scenarios)]
    findings = [f for f in findings if options.only in f.id]
    outcomes: Counter[str] = Counter()
    kept: dict[str, Short] = {}
    with Pool(Launch(findings[0].target, options.python), 1) as pool, tempfile.TemporaryDirectory() as folder:
        for n, finding in enumerate(findings):
            short = shorten(pool, finding, LIMIT)
            trouble = alone(options.python, short, Path(folder)) if short is not None else "no short script shows it"
            outcomes["short" if not trouble else trouble[:40]] += 1
            if trouble:
                print(f"{finding.id} ({finding.kind}, order {finding.verdict.order}): {trouble}", flush=True)
            elif short is not None:
                kept[finding.id] = short
                _write(options.write, finding, short)
            print(f"\r{n + 1}/{len(findings)}", end="", file=sys.stderr, flush=True)
    if options.keep:
        with Store(options.store, create=False) as opened:
            for identity, short in kept.items():
                opened.keep_short(identity, short)
    share = outcomes["short"] / len(findings)
    longest = max((short.lines for short in kept.values()), default=0)
    print(f"\n{outcomes['short']} of {len(findings)} wrong numbers have a script of at most {MOST_LINES} lines (longest {longest})")
    print(f"that exits 1 by itself: {100 * share:.1f} %   (wanted: {100 * WANTED:.0f} %)")
    return 0 if share >= WANTED else 1


def of_ways(store: Path, python: str) -> int:
    """The same for findings of ways, whose scripts end with 1 and say what they saw."""
    with Records(store) as opened:
        findings = [f for f in opened.findings() if any(s.way for s in f.verdict.scenarios) and f.kind not in DEATHS]
    good = 0
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "bug.py"
        for finding in findings:
            path.write_text(text := script(finding), encoding="utf-8")
            lines = len(text.strip().splitlines())
            ran = subprocess.run(
                [python, str(path)], capture_output=True, text=True, timeout=LIMIT, cwd=name, env={"PATH": "/usr/bin:/bin"}
            )
            shows = ran.returncode == 1 and "BUG" in ran.stdout and "Traceback" not in ran.stderr
            good += shows and lines <= MOST_LINES
            print(
                f"{finding.id} ({finding.verdict.names[0]}): {lines} lines{'' if shows else ', does not show it: ' + ran.stderr[-200:]}",
                flush=True,
            )
    share = good / len(findings) if findings else 0.0
    print(f"{good} of {len(findings)} findings of ways have a script of at most {MOST_LINES} lines that exits 1 alone: {100 * share:.1f} %")
    return 0 if share >= WANTED else 1


def _write(folder: Path | None, finding: Finding, short: Short) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{finding.id}.py").write_text(short.script, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
