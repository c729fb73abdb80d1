"""CI: which bugs make a job fail, and that what docs/ci.md tells people to write works as it stands."""

import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradfuzz.bugs.bug import bugs_of
from gradfuzz.cli.app import app
from gradfuzz.cli.gate import NAMES, failing
from gradfuzz.findings.labels import Label
from gradfuzz.report.baseline import Baseline
from tests.report.stores import KNOWN, ONE, RAISES, store_of

PAGE = (Path(__file__).parent.parent.parent / "docs" / "ci.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)


def apis(*arguments):
    return [bug.leading.api for bug in failing(*arguments)]


def test_grave_enough_means_this_grave_or_graver():
    bugs = bugs_of([ONE, RAISES, KNOWN])
    assert apis(bugs, "silent", None) == ["torch.sin"] and apis(bugs, "loud", None) == ["torch.sin", "torch.polar"]
    assert apis(bugs, None, None) == ["torch.sin", "torch.polar"]  # what is labelled is never new


def test_a_baseline_takes_what_it_has_and_hides_no_neighbour():
    other = replace(ONE, api="torch.Tensor.sin", id="sin-9", verdict=replace(ONE.verdict, order=2, scenarios=ONE.verdict.scenarios * 2))
    bugs = bugs_of([ONE, other])
    assert len(bugs) == 1
    assert apis(bugs, None, Baseline(frozenset({("torch", ONE.key)}))) == ["torch.sin"]  # its second finding is new
    assert apis(bugs, None, Baseline(frozenset({("torch", ONE.key), ("torch", other.key)}))) == []
    assert apis(bugs, None, Baseline(frozenset({("jax", ONE.key)}))) == ["torch.sin"]


def test_a_finding_with_a_label_beside_a_new_one_fails():
    both = bugs_of([replace(ONE, label=Label("known", "r", "l")), replace(ONE, api="torch.Tensor.sin", id="sin-9")])
    assert apis(both, "silent", None)


def test_report_ends_with_the_status(tmp_path):
    store = store_of(tmp_path / "s.db", RAISES)
    arguments = ["report", "--store", str(store), "--format", "json", "--out", str(tmp_path)]
    for severity, status in (("silent", 0), ("loud", 1)):
        assert CliRunner().invoke(app, [*arguments, "--fail-on", severity]).exit_code == status
    again = CliRunner().invoke(app, [*arguments, "--fail-on", "loud", "--baseline", str(tmp_path / "report.json")])
    assert again.exit_code == 0 and "no new bug as grave as loud or graver" in again.output


@pytest.mark.parametrize("command", [("report",), ("run", "torch")])
def test_a_severity_that_is_none_is_one_line_before_anything_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [*command, "--fail-on", "horrible"])
    assert (
        done.exit_code == 2
        and "known, the gravest first: regression, silent, silent-higher, loud" in done.output
        and not list(tmp_path.iterdir())
    )


# docs/ci.md --------------------------------------------------------------------------------------------------------------

OPS = """
import torch
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * FACTOR * x.conj() ** 2
def cube(x):
    return Cube.apply(x)
"""
PROGRAM = 'x = tensor((3,), "float64", normal(seed=1))\ny = myops.cube(x)\n'


def commands(text):
    return [line.strip() for line in text.splitlines() if line.strip().startswith("gradfuzz ")]


def test_the_page_names_every_severity_and_what_it_shows_is_yaml():
    yaml = pytest.importorskip("yaml", reason="the examples are YAML, and nothing here reads it")
    action, hook = (yaml.safe_load(block) for block in BLOCKS)
    assert [step.get("run", step.get("uses")) for step in action["jobs"]["gradfuzz"]["steps"]]
    assert action["permissions"]["security-events"] == "write" and hook["repos"][0]["hooks"][0]["pass_filenames"] is False
    assert all(f"`{name}`" in PAGE for name in NAMES)


def run(command, folder):
    arguments = [sys.executable, "-m", *shlex.split(command)]
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=300)


def test_what_the_page_tells_to_run_runs_and_fails_for_a_new_bug(tmp_path):
    (fuzz,) = re.findall(r"run: (gradfuzz run .*)", BLOCKS[0])
    (tmp_path / "gradients.py").write_text(PROGRAM)
    (tmp_path / "myops.py").write_text(OPS.replace("FACTOR", "2.5"))
    (tmp_path / ".gradfuzz").mkdir()
    (tmp_path / ".gradfuzz" / "baseline.json").write_text('{"form": 1, "findings": []}')
    done = run(f"{fuzz} --mutants 40 --workers 1 --order 1", tmp_path)
    assert done.returncode == 1 and "new bug as grave as loud or graver" in done.stdout, done.stdout + done.stderr
    for command in commands(BLOCKS[0]):
        assert run(command, tmp_path).returncode == 0
    assert {p.name for p in (tmp_path / "gradfuzz-report").iterdir()} == {
        "index.html",
        "report.sarif",
        "report.json",
        "summary.md",
        "findings",
    }
    (tmp_path / "gradfuzz-report" / "report.json").replace(tmp_path / ".gradfuzz" / "baseline.json")
    (tmp_path / "gradfuzz.db").unlink()
    done = run(f"{fuzz} --mutants 40 --workers 1 --order 1", tmp_path)
    assert done.returncode == 0 and "no new bug" in done.stdout, done.stdout + done.stderr


def test_the_hook_of_the_page_passes_for_a_right_gradient(tmp_path):
    (hook,) = re.findall(r"entry: (gradfuzz run .*)", BLOCKS[1])
    (tmp_path / "gradients.py").write_text(PROGRAM)
    (tmp_path / "myops.py").write_text(OPS.replace("FACTOR", "3.0"))
    done = run(hook.replace("--mutants 200", "--mutants 40") + " --order 1", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
