"""Blind recall: a campaign per old release, told nothing, then compared with a list of bugs that the release is known to show.

    python benchmarks/known_bugs.py LIST torch 1.12.1=ENV/bin/python 2.13.0=.venv/bin/python --time 30m

LIST has one JSON object a line: id, library, api, symptom, shows_in (releases). It is opened only after all campaigns have ended.
A hit is a confirmed finding whose API (or derivative rule) and symptom match the bug's. A release whose store is there already
(in --folder) is compared without another campaign.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from gradfuzz.findings.finding import Finding
from gradfuzz.store import Store

WRONG = {"gradient", "accuracy", "tail", "kink", "nonfinite", "precision", "way", "malformed"}
# Classes of bugs that show in further ways of running alone: counted apart.
APART = {"compiled", "batched", "control-flow", "sparse-nested", "aliasing"}
LIBRARIES = {"torch": "pytorch"}  # the list's own spelling


def words(name: str) -> set[str]:
    """Last parts of dotted names, without case and underscores: torch.nn.PReLU, Tensor.prelu_ and prelu are one."""
    found = set()
    for dotted in re.findall(r"[A-Za-z_][\w.]*", name):
        found.add(dotted.rsplit(".", 1)[-1].replace("_", "").lower())
    return found


def subjects(finding: Finding) -> set[str]:
    """What a finding is about: its API and the derivative rule at fault."""
    return words(finding.api) | words(re.sub(r"Backward\d*$", "", finding.rule))


def symptom_fits(symptom: str, finding: Finding, apart: bool) -> bool:
    """`apart`: it shows in a further way alone, and is one in that mode."""
    kind, order = finding.kind, finding.verdict.order
    scenarios = [(scenario.plain if apart else scenario).name for scenario in finding.verdict.scenarios]
    if symptom == "rev_wrong":
        return kind in WRONG and order <= 1 and "reverse" in scenarios
    if symptom == "fwd_wrong":
        return kind in WRONG and order <= 1 and "forward" in scenarios
    if symptom == "rev_fwd_mismatch":
        return kind in WRONG and order <= 1
    if symptom == "second_order_wrong":
        return kind in WRONG and order >= 2
    if symptom == "nan_gradient":
        return kind == "nonfinite"
    if symptom == "output_mismatch_under_ad":
        return kind == "value"
    if symptom == "crash":
        return kind in ("crash", "internal", "timeout", "memory", "status")
    if symptom == "spurious_error":
        return kind in ("status", "internal")
    return symptom == "other"


def campaign(target: str, python: str, store: Path, time: str, workers: int, seed: int, profile: str) -> None:
    command = [sys.executable, "-m", "gradfuzz", "run", target, "--python", python, "--time", time, "--store", str(store)]
    command += ["--workers", str(workers), "--seed", str(seed), "--profile", profile]
    print("$", " ".join(command), flush=True)
    done = subprocess.run(command, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the campaign ended with {done.returncode}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path)
    parser.add_argument("target")
    parser.add_argument("releases", nargs="+", metavar="VERSION=PYTHON")
    parser.add_argument("--time", default="30m")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--profile", default="default", help="nightly for what needs a further way of running")
    parser.add_argument("--folder", type=Path, default=Path("known_bugs"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    stores: dict[str, Path] = {}
    for release in options.releases:
        version, _, python = release.partition("=")
        stores[version] = options.folder / f"{options.target}-{version}.db"
        if not stores[version].exists():
            campaign(options.target, python, stores[version], options.time, options.workers, options.seed, options.profile)
    # Only now is the list opened.
    bugs = [json.loads(line) for line in options.list.read_text().splitlines() if line.strip()]
    library = LIBRARIES.get(options.target, options.target)
    short = False
    for version, path in stores.items():
        store = Store(path, create=False)
        findings = store.findings()
        cpu = sum(store.totals(c["id"])["cpu"] for c in store.campaigns())
        shown = [b for b in bugs if b["library"] == library and version in b["shows_in"]]
        hits = plain_hits = plain = 0
        print(f"\n{options.target} {version}: {len(findings)} confirmed findings, {cpu:.0f} CPU seconds in batches")
        for bug in shown:
            wanted = words(bug["api"])
            about = [f for f in findings if wanted & subjects(f)]
            apart = bug.get("class") in APART
            found = [f for f in about if symptom_fits(bug["symptom"], f, apart)]
            hits += bool(found)
            plain += not apart
            plain_hits += bool(found) and not apart
            what = "hit   " + found[0].id if found else "missed"
            other = "" if found or not about else "  (other findings there: " + ", ".join(sorted({f.kind for f in about})) + ")"
            print(f"  {what:40} {bug['id']:40} {bug['api']:40} {bug['symptom']}{other}")
        share = hits / len(shown) if shown else 1.0
        short |= share < 0.6
        print(f"  recall {hits} of {len(shown)} = {100 * share:.0f} %; {plain_hits} of {plain} that need no further way of running")
    raise SystemExit(1 if short else 0)


if __name__ == "__main__":
    main()
