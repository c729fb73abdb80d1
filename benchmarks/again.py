"""A store's findings looked at again with this gradfuzz: seen, shrunk, proven and written up anew, into another store.

python benchmarks/again.py STORE NEW [--python PYTHON] [--jobs 1] [--only KINDS] [--ids IDS]

What changed about shrinking, neighbours, labels and scripts can be judged on the same findings, without a campaign. What is not seen
again is counted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.triage import Triage
from gradfuzz.oracles.check import Options
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.store import Records, Store

SHRINK_SECONDS = 20.0


def suspicion_of(finding: Finding) -> Suspicion:
    """As a worker would tell it."""
    ways = tuple(dict.fromkeys(s.way for s in finding.verdict.scenarios if s.way))
    options = Options(max(1, finding.verdict.order), salt=finding.salt, ways=ways)
    return Suspicion(finding.api, finding.program, (), options, finding.verdict, finding.rule)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="kinds, with commas between them")
    parser.add_argument("--ids", default="", help="findings, with commas between them")
    given = parser.parse_args()
    with Records(given.store) as records:
        findings = [f for f in records.findings() if f.verdict.oracle != "process"]
    findings = [f for f in findings if not given.only or f.kind in given.only.split(",")]
    findings = [f for f in findings if not given.ids or f.id in given.ids.split(",")]
    seen: list[Finding] = []
    with Pool(Launch(findings[0].target, given.python), given.jobs) as pool, Store(given.new, create=True) as store:
        campaign = store.begin(findings[0].target, pool.version, {})
        triage = Triage(pool.launch, SHRINK_SECONDS, store, campaign, pool, seen.append)
        for finding in findings:
            triage.suspect(suspicion_of(finding))
        triage.finish()
        while triage.waiting:
            for event in pool.poll():
                triage.handle(event)
            triage.collect()
            print(f"\r{len(findings) - triage.waiting}/{len(findings)}, {len(seen)} seen again", end="", file=sys.stderr, flush=True)
        triage.close()
        store.set_status(campaign, "finished")
    print(f"\n{len(seen)} of {len(findings)} were seen again: {dict(Counter(f.kind for f in seen))}")
    print(f"{sum(f.short is not None for f in seen)} have a short script, {sum(bool(f.ordinary) for f in seen)} show at ordinary numbers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
