"""Short scripts of JAX's ways: each says what its way says, of a healthy function and of one that is planted."""

import contextlib
import io

import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.verdict import DISAGREE, STATUS, WAY, Verdict
from gradfuzz.program import parse
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.jax.ways import WAYS
from tests.targets.broken_ways import BROKEN

MATRICES = 'x = tensor((2, 2), "float64", uniform(0.5, 1.5, seed=1))\na = tensor((2, 2), "float64", uniform(0.5, 1.5, seed=2))\n'
PRODUCT = f"{MATRICES}y = jax.numpy.matmul(x, a)"
PICKED = 'x = tensor((3,), "float64", uniform(0.5, 1.5, seed=1))\ni = tensor((2,), "int64", listed([2, 0]))\ny = jax.numpy.take(x, i)'
MOST_LINES = 25


def written(target, text, way, modes, kind=WAY):
    scenario = next(s for s in target.ways[way].scenarios if list(s.modes) == modes).in_way(way)
    verdict = Verdict(DISAGREE, "way" if kind == WAY else "status", kind, len(modes), [scenario], "", 1.0, 2.0, 1e-9)
    return script(Finding("jax", target.version, "planted", verdict, parse(text, target.language), True, modules=("planted_jax",)))


def run(text):
    """Its exit status, in this process: importing JAX anew takes longer than all the rest."""
    status = 0
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            exec(compile(text, "script", "exec"), {"__name__": "__main__"})
        except SystemExit as ended:
            status = ended.code
    assert ("BUG" in said.getvalue()) == (status != 0)
    return status


@pytest.mark.parametrize("way", WAYS)
def test_a_healthy_function_passes_in_every_way(jax_target, way):
    program = parse(PRODUCT, jax_target.language)
    looked = examine(jax_target, program, Options(1, ways=(way,)))
    for scenario, outcome in looked.trial.outcomes.items():
        if scenario.way == way and scenario.modes and isinstance(outcome, Outcome):
            text = written(jax_target, PRODUCT, way, list(scenario.modes))
            wrong = any(scenario in verdict.scenarios for verdict in looked.findings)  # a release may break a way itself
            assert run(text) == wrong, text
            assert not looked.findings or way in BROKEN["jax"]
            assert len(text.splitlines()) <= MOST_LINES, text


@pytest.mark.parametrize("way", ["batched", "batched-rest", "scanned", "carried", "switched", "checkpointed", "integrated", "sharded"])
def test_whole_numbers_are_operands_where_the_way_makes_them_so(jax_target, way):
    assert run(written(jax_target, PICKED, way, ["r"])) == 0


@pytest.mark.parametrize("way", ["integrated-counting", "rooted-counting"])
def test_what_a_solver_does_to_whole_numbers_is_shown(jax_target, way):
    """Both raise in the releases that were tried."""
    looked = examine(jax_target, parse(PRODUCT, jax_target.language), Options(1, ways=(way,)))
    if not looked.findings:
        pytest.skip("this release is mended")
    assert {v.kind for v in looked.findings} == {STATUS}
    assert run(written(jax_target, PRODUCT, way, ["r"], STATUS)) == 1
