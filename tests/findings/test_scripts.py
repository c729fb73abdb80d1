"""Scripts stand alone, and prove no more than what is so: a healthy function's script says that all is well."""

import json
import subprocess
import sys

import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import parse
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import FORWARD, REVERSE, Scenario
from gradfuzz.targets.base.ways import read_ways
from gradfuzz.targets.homes import home_of, language_for, load_target
from tests.conftest import PLANTED


def run(target, text, scenarios, order=1, **detail):
    program = parse(text, language_for(target))
    verdict = Verdict("disagree", "gradient", "gradient", order, scenarios, "differs", 1.0, 2.0, 1e-9, detail)
    source = script(Finding(target, "0", program.api, verdict, program, True))
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)


SYMMETRIC = 'x = tensor((3, 3), "float64", normal(seed=1), structure="{}")\ny = torch.{}(x)\n'


@pytest.mark.parametrize("structure, function", [("positive_definite", "linalg.cholesky"), ("symmetric", "linalg.eigvalsh")])
@pytest.mark.parametrize("element", [None, "x[0, 1]"])
def test_directions_stay_inside_the_structure_of_the_inputs(structure, function, element):
    """These functions read one triangle: a step that leaves the symmetric matrices would accuse them of what they do not promise."""
    done = run("torch", SYMMETRIC.format(structure, function), [REVERSE, FORWARD], element=element)
    assert done.returncode == 0 and "fixed: they agree" in done.stdout, done.stdout + done.stderr


def test_an_element_of_a_module_s_parameter_can_be_at_fault():
    text = 'x = tensor((2, 3), "float64", normal(seed=1))\nm = torch.nn.Linear(3, 2)\ny = m(x)\n'
    done = run("torch", text, [REVERSE], element="m.weight[1, 0]")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_script_whose_own_reference_does_not_settle_accuses_nobody():
    """The derivative of a power below one is infinite at zero, and to the left of it there is none: infinity is right."""
    text = 'x = tensor((1,), "float64", full(0.0))\ny = torch.pow(x, 0.457)\n'
    done = run("torch", text, [FORWARD], element="x[0]")
    assert done.returncode == 0 and "nothing is shown" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    "target, call", [("torch", "torch.sin"), ("jax", "jax.numpy.sin"), ("tensorflow", "tf.sin"), ("paddle", "paddle.sin")]
)
def test_the_clock_of_a_death_starts_behind_the_imports(target, call, tmp_path):
    program = parse(f'x = tensor((2,), "float64", full(0.5))\ny = {call}(x)\n', language_for(target))
    verdict = Verdict("timeout", "process", "timeout", 1, [REVERSE], "timeout", "comes back", "timeout")
    source = script(Finding(target, "0", program.api, verdict, program, True, limit=60.0))
    imported, ready = source.rindex("\nimport "), source.index('print("ready"')
    assert imported < ready and source.index("readline()") < source.index("timeout=")
    if target == "torch":
        path = tmp_path / "death.py"
        path.write_text(source)
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=240)
        assert done.returncode == 0 and "fixed: it runs to its end" in done.stdout, done.stdout + done.stderr


def test_a_way_that_changes_the_output_is_called_that():
    program = parse('x = tensor((2,), "float64", full(0.5))\ny = torch.exp(x)\n', language_for("torch"))
    said = {}
    for kind in ("value", "way"):
        verdict = Verdict("disagree", kind, kind, 0, [Scenario((), "out")], "differs", 1.0, 2.0, 1e-9)
        said[kind] = script(Finding("torch", "2.13.0", program.api, verdict, program, True))
    assert "BUG: another output" in said["value"] and "BUG: another derivative" in said["way"]


@pytest.mark.parametrize("modes", [("r", "r"), ("r", "f"), ("f", "r"), ("f", "f")])
def test_every_nesting_has_its_script(modes):
    done = run("torch", 'x = tensor((3,), "float64", normal(seed=1))\ny = torch.sin(x)\n', [Scenario(modes)], order=2, element="x[1]")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("call", ["torch.exp(x)", "torch.zeros_like(x)"])
def test_a_direct_run_in_another_way_differentiates_nothing(call):
    """A function without a derivative has outputs all the same."""
    program = parse(f'x = tensor((2, 3), "float64", uniform(0.5, 1.5, seed=1))\ny = {call}\n', language_for("torch"))
    for oracle in ("status", "value"):
        verdict = Verdict("disagree", oracle, oracle, 0, [Scenario((), "traced")], "differs", 1.0, 2.0, 1e-9)
        source = script(Finding("torch", "2.13.0", program.api, verdict, program, True))
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", source], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr


def test_digits_that_are_lost_are_told_by_the_ladder_where_the_checks_agree_on_no_number():
    """trigamma is right to nine digits."""
    text = 'x = tensor((), "float64", full(0.5635831276337798))\ny = torch.lgamma(x)\n'
    program = parse(text, language_for("torch"))
    detail = {"element": "x[]", "numeric": 1.0, "base": ["r"]}
    verdict = Verdict("disagree", "gradient", "accuracy", 2, [Scenario(("r", "r"))], "lost", None, 1.0 + 3.5e-10, 1e-12, detail)
    source = script(Finding("torch", "0", program.api, verdict, program, True))
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.parametrize("way", ["batched", "batched-inside"])
@pytest.mark.parametrize("function, status", [("planted_ways.other_output_batched", 1), ("planted_ways.healthy", 0)])
def test_another_output_in_a_way_is_shown_by_outputs(way, function, status):
    modules = ("planted_ways",)
    program = parse(f'x = tensor((2,), "float64", listed([2.0, 3.0]))\ny = {function}(x)\n', language_for("torch", modules))
    verdict = Verdict("disagree", "value", "value", 1, [Scenario(("r",)).in_way(way)], "the output changes", 8.0, 9.0, 1e-9)
    source = script(Finding("torch", "2.13.0", program.api, verdict, program, True, modules=modules))
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120, cwd=PLANTED)
    assert done.returncode == status and ("another output" in done.stdout) == bool(status), done.stdout + done.stderr


def scripts_of_all_ways(target, call):
    """The script of every way and mode that the library takes, and whether the oracle says that it is another derivative there."""
    program = parse(f'x = tensor((2, 3), "float64", uniform(0.5, 1.5, seed=1))\ny = {call}\n', language_for(target))
    library = load_target(target)
    sources = []
    for way in read_ways(home_of(target).data("ways")).values():
        if way.name in LEFT_OUT:
            continue
        seen = examine(library, program, Options(2, ways=(way.name,)))
        bad = {scenario for verdict in seen.findings for scenario in verdict.scenarios}
        for scenario in (s.in_way(way.name) for s in way.scenarios if s.modes):
            if isinstance(seen.trial.outcome(scenario), Outcome):
                verdict = Verdict("disagree", "way", "way", scenario.order, [scenario], "differs", 1.0, 2.0, 1e-9)
                source = script(Finding(target, "0", program.api, verdict, program, True))
                sources.append((scenario.name, source, int(scenario in bad)))
    return sources


# A compiler of C++ takes seconds; mixed precision differs by its own; these layouts do not take every function.
LEFT_OUT = ("inductor", "autocast", "autocast-off", "jagged", "sparse", "out", "functionalized")
RUNNER = """
import json, sys, types
for name, source, bad in json.load(sys.stdin):
    status = 0
    try:
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(source, name, "exec"), vars(module))
    except SystemExit as end:
        status = end.code or 0
    except Exception as error:
        status = f"{type(error).__name__}: {error}"
    if status != bad:
        print("FAILED", name, status, "where the oracle says", bad)
"""


@pytest.mark.slow
@pytest.mark.parametrize("target, call", [("torch", "torch.exp(x)"), ("jax", "jax.numpy.sin(x)"), ("tensorflow", "tensorflow.math.sin(x)")])
def test_the_script_of_every_way_says_what_its_oracle_says(target, call):
    pytest.importorskip(target)
    sources = scripts_of_all_ways(target, call)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", RUNNER], input=json.dumps(sources), capture_output=True, text=True)
    assert sources and done.returncode == 0 and "FAILED" not in done.stdout, done.stdout + done.stderr[-3000:]
