"""A report of a large store, one million mutants and five thousand findings: seconds, memory, the size of the page, how fast it filters.

    python benchmarks/report_size.py [FORMAT ...]

The store is made up through the store's own interface: findings of 640 functions in several forms and orders, each with a ladder and
what a worker tells of its point's surroundings, a proof here and there, and the script that its Program really gets.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.landscape import DRAWN, Landscape
from gradfuzz.findings.proof import PROVEN, Proof
from gradfuzz.findings.script import script
from gradfuzz.mutate.cover import Cover
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import parse, to_json
from gradfuzz.store import Lesson, Store
from gradfuzz.targets.base.scenario import Scenario, nestings
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.landscape import POINTS

MUTANTS, FINDINGS, PER_BATCH, FUNCTIONS = 1_000_000, 5_000, 20, 640
MOST_SECONDS, MOST_MEMORY, MOST_PAGE, MOST_FILTERING = 60.0, 1 << 30, 15_000_000, 100.0
TYPED = ["t", "to", "grad", "reverse", "nothing like it", "", "wrong", "second", ""]
KINDS = (("gradient", "gradient"), ("gradient", "nonfinite"), ("status", "status"), ("gradient", "accuracy"), ("status", "malformed"))
SCENARIOS = ("reverse", "forward", "forward-over-reverse", "reverse-over-reverse", "reverse-over-forward")
REAL = ("sin", "cos", "exp", "tanh", "sigmoid", "log1p", "sinh", "erf", "atan", "sqrt")


def finding(number: int, chance: random.Random) -> Finding:
    """One of many that differ as real ones do: in API, rule, kind, order, numbers, inputs."""
    function = number % FUNCTIONS
    call = f"torch.{REAL[function % len(REAL)]}"
    low, size = round(chance.uniform(-2, 2), 3), chance.randrange(1, 5)
    text = f'x = tensor(({size},), "float64", uniform({low}, {low + 1.5}, seed={number}))\ny = {call}(x)\n'
    oracle, kind = KINDS[chance.randrange(len(KINDS))]
    scenario = Scenario.named(chance.choice(SCENARIOS))
    truth = chance.gauss(0, 1)
    wrong = float("nan") if kind == "nonfinite" else truth * (1 + 10 ** chance.uniform(-6, 0.5))
    detail = {
        "element": "x[0]", "numbers": {scenario.name: wrong}, "numeric": truth, "numeric_error": abs(truth) * 1e-11, "steps": 11,
        "steps_agreeing_with_ad": 0, "ladder": [[4.0**-k, truth * (1 + 16.0**-k)] for k in range(2, 13)],
        "vote": {"reruns": 4, "checks": 52, "against": 52, "for_ad": 0},
    }  # fmt: skip
    reason = f"{scenario.name} along x[0] differs from the numeric derivative; 52 of 52 finite-difference checks contradict it"
    verdict = Verdict("disagree", oracle, kind, scenario.order, [scenario], reason, truth, wrong, abs(truth) * 1e-10, detail)
    if kind in ("status", "malformed"):
        verdict = replace(verdict, reason=f"RuntimeError: function {function} is not for {number}", symptom=f"function {function} is not")
    proof = None
    if number % 3 == 0 and kind == "gradient" and scenario.order == 1:
        spots = ((0, 0, 0), ((0, 0, 0),))
        proof = Proof(
            PROVEN, "y[0]", ("x[0]",), f"{truth:.20g}", f"[{truth:.20g} +/- 1e-24]", {scenario.name: wrong}, (scenario.name,), spots=spots
        )
    name = f"torch.nn.functional.layer_{function}" if function % 3 else f"torch.function_{function}"
    form = ("", "_", "_copy", "_values")[number // FUNCTIONS % 4]
    made = Finding(
        "torch", "2.13.0", name + form, verdict, parse(text, language_for("torch")), True, f"Function{function}Backward{number % 2}",
        proof=proof, id=f"function_{function}-{number:06x}", times=1 + number % 17, ordinary=bool(number % 5),
    )  # fmt: skip
    return replace(made, landscape=surroundings(verdict, chance)) if kind in DRAWN else made


def surroundings(verdict: Verdict, chance: random.Random) -> Landscape:
    """As many numbers as workers send, no two alike."""

    def line() -> tuple[float, ...]:
        phase, size = chance.uniform(0, 6), chance.uniform(0.1, 10)
        return tuple(float(f"{size * math.sin(phase + k / 16):.4g}") for k in range(POINTS))

    modes = {s.name: chance.gauss(0, 1) for s in nestings(verdict.order)}
    return Landscape(
        modes, dict.fromkeys(modes, 1e-14), {}, "difference quotient", (chance.gauss(0, 1), 1e-11), "y[0]", ("x[0]",) * verdict.order,
        "x[0]", 0.5, 1.0, line(), ("reverse", line()) if verdict.order > 1 else None,
        {name: line() for name in [*modes][:3]}, line(),
    )  # fmt: skip


def make_store(path: Path, mutants: int = MUTANTS, findings: int = FINDINGS, scripts: bool = True) -> Path:
    chance = random.Random(0)
    store = Store(path, create=True)
    campaign = store.begin("torch", "2.13.0", {"seed": 0, "seconds": 3600.0, "profile": "default", "workers": 16})
    store.set_existing_rules(
        campaign, {f"{table}:Function{k}Backward0": "" for table in ("reverse", "forward", "second") for k in range(FUNCTIONS)}
    )
    seed = {"api": "torch.sin", "source": "sample", "program": to_json(finding(0, chance).program)}
    store.keep_corpus(campaign, [{**seed, "api": f"torch.function_{k}"} for k in range(FUNCTIONS)])
    with store.transaction():
        for number in range(mutants // PER_BATCH):
            k = number % FUNCTIONS
            counts = {"agree": 13, "inconclusive": 2, "invalid": 4, "disagree": 1}
            cover = Cover(40, 400, chance.getrandbits(40), 0, chance.getrandbits(400), 0, 0)
            features = [f"Function{k}Backward0|float64,2,contiguous|{order}|agree" for order in range(4)]
            lesson = Lesson(features, {"values": [8, 7]}, [f"key-{number % 7000}"], [1], 0, cover)
            refused = {f"shape: size {number % 50} does not fit": 3, "value: out of range": 1}
            rules = [f"reverse:Function{k}Backward0"]
            store.add_batch(campaign, number, f"torch.function_{k}", counts, {"kink": 1, "noisy": 1}, refused, 0.05, rules, lesson)
        for number in range(findings):
            made = finding(number, chance)
            store.add_finding(
                campaign, f"key-{number}", replace(made, script=script(made) if scripts else "", script_output="numeric  1.0\nBUG\n")
            )
    store.set_status(campaign, "finished")
    store.close()
    return path


def measured(form: str, store: Path, out: Path) -> tuple[float, int, int]:
    """(seconds, bytes of memory, bytes of the page or of all that was written) of one report, in a process of its own."""
    began = time.monotonic()
    command = [sys.executable, "-m", "gradfuzz", "report", "--store", str(store), "--format", form, "--out", str(out)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{form}: the report ended with {status}")
    files = [out / "index.html"] if form == "html" else [f for f in out.rglob("*") if f.is_file()]
    return time.monotonic() - began, usage.ru_maxrss * 1024, sum(f.stat().st_size for f in files)


def filtering(page: Path) -> float | None:
    """Milliseconds that the slowest of some searches takes in the page, until its rows are laid out; None where there is no browser."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.report.browser import CHROMIUM, DRIVER, FILTER_TIME, chromium, open_page

    if CHROMIUM is None or DRIVER is None or find_spec("selenium") is None:
        return None
    with chromium() as driver:
        open_page(driver, page, "#/bugs?list=findings&folded=1")
        return max(driver.execute_script(FILTER_TIME, TYPED))


def main() -> None:
    forms = sys.argv[1:] or ["html", "json", "sarif", "junit", "markdown", "csv", "png"]
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        store = make_store(Path(folder) / "large.db")
        print(f"a store of {MUTANTS:,} mutants and {FINDINGS:,} findings: {store.stat().st_size / 1e6:.0f} MB,", end=" ")
        print(f"made in {time.monotonic() - began:.0f} s\n{'format':10} {'seconds':>8} {'MiB':>6} {'MB written':>11}")
        for form in forms:
            seconds, memory, size = measured(form, store, Path(folder) / form)
            print(f"{form:10} {seconds:8.1f} {memory / 2**20:6.0f} {size / 1e6:11.1f}", flush=True)
            kept &= seconds < MOST_SECONDS and memory < MOST_MEMORY and (form != "html" or size < MOST_PAGE)
            if form == "html":
                slowest = filtering(Path(folder) / form / "index.html")
                said = "not measured: no Chromium, chromedriver and selenium" if slowest is None else f"{slowest:.0f} ms at most"
                print(f"{'':10} filtering {FINDINGS:,} findings in the page: {said}", flush=True)
                kept &= slowest is None or slowest < MOST_FILTERING
    print("limits: 60 s, 1024 MiB, a page of 15 MB, filtering in 100 ms:", "kept" if kept else "NOT KEPT")
    sys.exit(not kept)


if __name__ == "__main__":
    main()
