"""JAX through the seam: every scenario gives the same number, and compilations are reused."""

import numpy as np
import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.trial import Trial
from gradfuzz.program import parse
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import REVERSE, nestings
from gradfuzz.targets.jax import bundle
from gradfuzz.targets.jax.rules import existing_rules
from tests.targets.broken_ways import sound_ways

PROGRAMS = {
    "real": 'x = tensor((3,), "float64", normal(seed=1))\ny = jax.numpy.exp(x) * x',
    "complex": 'x = tensor((3,), "complex128", normal(seed=1))\ny = jax.numpy.abs(x * jax.numpy.conj(x)) + jax.numpy.real(x)',
    "indices": 'x = tensor((4,), "float64", normal(seed=1))\ni = tensor((2,), "int64", listed([3, 0]))\ny = jax.numpy.sin(x[i])',
    "functions": 'x = tensor((4,), "float64", normal(seed=1))\ny = jax.lax.map(jax.numpy.sin, x)',
    "update": 'x = tensor((4, 3), "float64", normal(seed=1))\na = tensor((3,), "float64", normal(seed=2))\ny = x.at[1].multiply(a)',
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_nestings_up_to_order_three_agree(jax_target, name):
    trial = Trial(jax_target, parse(PROGRAMS[name], jax_target.language))
    for order in (1, 2, 3):
        numbers = [trial.number(trial.outcome(s)) for s in nestings(order)]
        assert np.allclose(numbers, numbers[0], rtol=1e-9)
    looked = examine(jax_target, parse(PROGRAMS[name], jax_target.language), Options(order=2, ways=sound_ways(jax_target)))
    assert looked.outcome == "agree"


def test_reverse_mode_of_complex_numbers_is_the_real_projection(jax_target):
    """For f(z) = c z the projection is Re(conj(v) c u), whatever the library's convention for gradients."""
    text = 'x = tensor((), "complex128", normal(seed=1))\ny = x * complex(2.0, 3.0)'
    trial = Trial(jax_target, parse(text, jax_target.language))
    wanted = (np.conj(trial.v.arrays[0]) * (2 + 3j) * trial.direction(0).arrays[0]).real
    for scenario in nestings(1):
        assert trial.number(trial.outcome(scenario)) == pytest.approx(float(wanted))


def test_mutants_that_differ_in_numbers_share_one_compilation(jax_target, monkeypatch):
    compiled = []
    original = bundle.JaxBundle.compile
    monkeypatch.setattr(bundle.JaxBundle, "compile", lambda self, args: (compiled.append(1), original(self, args))[1])
    for seed in range(5):
        text = f'x = tensor((7, 2), "float64", normal(seed={seed}))\ny = jax.numpy.tanh(x) / 3.0'
        assert examine(jax_target, parse(text, jax_target.language), Options(order=1, salt=1)).outcome == "agree"
    assert len(compiled) == 1
    text = 'x = tensor((7, 3), "float64", normal(seed=0))\ny = jax.numpy.tanh(x) / 3.0'
    examine(jax_target, parse(text, jax_target.language), Options(order=1, salt=1))
    assert len(compiled) == 2


def test_rules_are_named_by_table_and_primitive_and_exist(jax_target):
    text = 'x = tensor((5, 2), "float64", normal(seed=1))\ny = jax.lax.erf_inv(jax.numpy.tanh(x))'
    reached = set(examine(jax_target, parse(text, jax_target.language), Options(order=1, ways=None), keep_rules=True).rules)
    assert {"jvp:erf_inv", "batch:erf_inv"} <= reached
    assert any(rule.startswith("transpose:") for rule in reached)
    assert reached <= existing_rules().keys()


def test_a_scenario_that_jax_declares_unsupported_is_no_finding(jax_target):
    text = 'x = tensor((3,), "float64", normal(seed=1))\ny = jax.lax.while_loop(jax.numpy.isnan, jax.numpy.sin, x[0])'
    trial = Trial(jax_target, parse(text, jax_target.language))
    assert not isinstance(trial.outcome(REVERSE), Outcome)
    assert not examine(jax_target, parse(text, jax_target.language), Options(order=1)).findings
