"""How many APIs the reference proves: each seed's derivatives are asked for and held against their enclosures.

    python benchmarks/reference_coverage.py TARGET [--api GLOB] [--seeds N]

An API counts if, for one of its seeds at least, every value agrees with the library's and a derivative was proven, right or wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from fnmatch import fnmatchcase

from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.reference.prove import RIGHT, WRONG, answer
from gradfuzz.seeds.library import library_seeds

MOST_ROUNDS = 12  # of asking the library about moves
ENTRIES = 6
SECONDS = 10.0


def asked(pool: Pool, target: str, program: dict, moves: dict) -> dict:
    """The reference's answer on the first derivatives of one seed."""
    event = pool.run("measure", program=program, scenarios=["reverse", "forward"], most=ENTRIES, limit=30.0)
    if event.kind != "done" or "failed" in event.data:
        return {"silent": f"not measured: {event.data.get('failed') or event.data.get('cause')}"}
    for _ in range(MOST_ROUNDS):
        found = answer({"target": target, "program": program, "measured": event.data, "moves": moves, "seconds": SECONDS})
        if "needs" not in found:
            return found
        for key, programs in found["needs"].items():
            told = pool.run("forwards", programs=programs, limit=30.0)
            moves[key] = told.data.get("outputs") or ["the library did not come back"]
    return {"silent": "too many moves"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--api", default="*")
    parser.add_argument("--seeds", type=int, default=4, help="seeds of an API to try until one is proven")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    with Pool(Launch(options.target, sys.executable), 1) as pool:
        seeds = [s for s in library_seeds(pool, print) if fnmatchcase(s.api, options.api)]
        by_api: dict[str, list] = {}
        for seed in seeds:
            by_api.setdefault(seed.api, []).append(seed)
        proven, wrong, reasons, moves = set(), [], {}, {}
        began = time.monotonic()
        for number, (api, its) in enumerate(by_api.items()):
            for seed in its[: options.seeds]:
                found = asked(pool, options.target, seed.program, moves)
                verdicts = Counter(e["verdict"] for e in found.get("entries", ()))
                if verdicts[RIGHT] or verdicts[WRONG]:
                    proven.add(api)
                    if verdicts[WRONG]:
                        wrong.append((api, next(e for e in found["entries"] if e["verdict"] == WRONG)))
                    break
                reasons[api] = found.get("silent") or next((e["reason"] for e in found["entries"]), "no entries")
            if options.verbose and api not in proven:
                print(f"{api}: {reasons.get(api)}", flush=True)
            elif number % 50 == 0:
                print(f"\r{number}/{len(by_api)} APIs, {len(proven)} proven", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(f"{len(proven)} of {len(by_api)} APIs of {options.target} {pool.version} are proven, in {time.monotonic() - began:.0f} s")
    print(f"a derivative is proven wrong in {len(wrong)}:")
    for api, entry in wrong:
        print(f"  {api}: d {entry['output']} / d {', '.join(entry['along'])} is {entry['exact']}, not {entry['got']}")
    rest = sorted(set(by_api) - proven, key=lambda api: -len(by_api[api]))
    print(f"not proven, those with the most seeds first ({len(rest)}):")
    for api in rest:
        print(f"  {len(by_api[api]):3d} {api}: {reasons.get(api, '')[:150]}")


if __name__ == "__main__":
    main()
