"""What tests of PyTorch's ways share: Programs with planted bugs, what ran of a way, and their scripts, run by themselves."""

import os
import subprocess
import sys

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import REVERSE
from tests.conftest import PLANTED

X = 'x = tensor((2, 3), "{dtype}", uniform(0.5, 1.5, seed=1))\n'
# The bug's own function, the way it shows in, and the precision that the way needs.
PLANTED_IN = {
    "compiled": ("aot_eager", "float64"),
    "decomposed": ("decompositions", "float64"),
    "batched": ("batched", "float64"),
    "rows": ("jacobian", "float64"),
    "strided": ("strided", "float64"),
    "linear": ("linearized", "float64"),
    "checkpointed": ("checkpointed", "float64"),
    "autocast": ("autocast", "float32"),
    "deterministic": ("deterministic", "float64"),
    "twice": ("twice", "float64"),
    "overwritten": ("overwritten", "float64"),
    "overwritten_output": ("overwritten-output", "float64"),
    "aliased": ("aliased", "float64"),
    "resized": ("compiled-resized", "float64"),
}


def program(target, call, dtype="float64"):
    return parse(X.format(dtype=dtype) + f"y = {call}\n", target.language)


def only(name):
    """A custom operator has a rule for reverse mode, and none for forward mode."""
    return frozenset({REVERSE}) if name == "resized" else None


def ran(seen, way):
    """The scenarios of a way that ran at all."""
    return [s for s, outcome in seen.trial.outcomes.items() if s.way == way and isinstance(outcome, Outcome)]


def status(text, folder):
    (folder / "script.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(PLANTED)}
    return subprocess.run([sys.executable, "script.py"], cwd=folder, env=environment, capture_output=True).returncode


def shown(target, call, way, name, tmp_path, healthy, forward=False):
    """A planted bug shows in its way alone, in `forward` mode too, and its script proves it."""
    made = program(target, call)
    found = examine(target, made, Options(2, ways=(way,))).findings
    assert [v.names for v in found] == [[name], *([[name.replace("reverse", "forward")]] if forward else [])], [v.reason for v in found]
    written = script(Finding("torch", target.version, "planted", found[0], made, True, modules=("planted_ways",)))
    assert status(written, tmp_path) == 1
    if healthy:
        assert status(written.replace(call, healthy), tmp_path) == 0
    assert len(written.strip().splitlines()) <= 25


def written_for(target, name, verdict, made):
    return script(Finding("torch", target.version, "planted_ways." + name, verdict, made, True, modules=("planted_ways",)))


def shows(text, name, twin, folder):
    """A script shows a planted bug, and nothing where its healthy twin is called."""
    environment = {"PYTHONPATH": str(PLANTED), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    for called, status in ((name, 1), (twin, 0)):
        (folder / "script.py").write_text(text.replace(f"planted_ways.{name}(", f"planted_ways.{called}("))
        done = subprocess.run([sys.executable, "script.py"], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == status and ("BUG" in done.stdout) == bool(status), done.stdout + done.stderr
