"""Findings made by hand, for tests of what is made of findings."""

from dataclasses import replace

from gradfuzz.findings.finding import Finding
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import parse
from gradfuzz.store import Store
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.homes import language_for

ORDINARY = 'x = tensor((2,), "float64", listed([0.5, 2.0]))\ny = torch.sin(x)\n'


def made(
    api="torch.sin", kind="gradient", scenarios=("reverse",), rule="", text=ORDINARY, label=None, target="torch", oracle="", symptom="",
    subject="", actual=2.0, expected=1.0, **more,
):  # fmt: skip
    """A confirmed finding whose id is the one that a campaign gives it."""
    named = [Scenario.named(name) for name in scenarios]
    oracle = oracle or ("status" if kind in ("status", "internal", "malformed", "memory") else "gradient")
    outcome = kind if kind in ("crash", "timeout") else "disagree"
    order = max((s.order for s in named), default=0)
    verdict = Verdict(outcome, oracle, kind, order, named, "differs", expected, actual, 1e-9, symptom=symptom, subject=subject)
    found = Finding(target, "1.0", api, verdict, parse(text, language_for(target)), True, rule, label=label)
    return replace(found.filed(found.key), **more)


def kept(path, *findings):
    """A store with these findings."""
    store = Store(path, create=True)
    number = store.begin("torch", "1.0", {})
    for finding in findings:
        store.add_finding(number, finding.key, finding)
    store.set_status(number, "finished")
    store.close()
    return path
