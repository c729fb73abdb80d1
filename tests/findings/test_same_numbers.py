"""Oracle and script compute the same thing: whatever a scenario says in a trial, the finding's script says, too.

A proof that is computed by other code than the suspicion loses real bugs: where the two differ, this fails.
"""

import contextlib
import io
import sys
import types

import numpy as np
import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import DISAGREE, Verdict
from gradfuzz.program import parse
from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Scenario, nestings
from gradfuzz.targets.homes import load_target

X = 'x = tensor((2, 3), "float64", uniform(0.5, 1.5, seed=1))\n'
PROGRAMS = {
    "torch": {
        "plain": X + "y = torch.exp(x) * torch.sin(x)\n",
        "complex": 'x = tensor((2, 2), "complex128", normal(seed=1))\ny = torch.exp(x) * x\n',
        "two inputs, three outputs": X + 'm = tensor((3,), "float64", normal(seed=2))\na, b, c = torch.frexp(x), torch.sin(x * m), x ** 3\n'
        "y = (b, c)\n",
        "a module": X + "layer = torch.nn.Linear(3, 2)\ny = torch.tanh(layer(x))\n",
        "two modules": X + "first = torch.nn.Linear(3, 2)\nsecond = torch.nn.Linear(2, 2)\ny = second(torch.tanh(first(x)))\n",
        "a transform": 'x = tensor((2,), "float64", uniform(0.5, 1.5, seed=1))\ne = tensor((), "float64", full(3.0), grad=False)\n'
        "t = torch.distributions.transforms.PowerTransform(e)\ny = t(x)\n",
        "a symmetric matrix": 'x = tensor((3, 3), "float64", normal(seed=1), structure="symmetric")\ny = torch.linalg.eigvalsh(x)\n',
        "an expanded view": 'x = tensor((3, 2), "float64", normal(seed=1), layout="expanded")\n'
        "y = torch.exp(x) * torch.as_strided(x, (2,), (1,))\n",
        "expanded symmetric matrices": 'x = tensor((2, 3, 3), "float64", normal(seed=1), layout="expanded", structure="symmetric")\n'
        "y = torch.linalg.eigvalsh(x)\n",
        "an infinite input": 'x = tensor((3,), "float64", listed([0.5, float("inf"), 2.0]))\ny = torch.atan(x)\n',
        "random": X + "y = torch.nn.functional.dropout(x, 0.5) * x\n",
        "in place": X + "y = torch.clone(x).mul_(x)\n",
        "names of the script's own": 'inputs = tensor((2,), "float64", normal(seed=1))\n'
        'v = tensor((2,), "float64", normal(seed=2), grad=False)\n'
        "size = torch.sin(inputs)\nflatten = size * v\n",
        "an output without a derivative": X + "y = (torch.sin(x), torch.floor(x).detach())\n",
    },
    "jax": {
        "plain": X + "y = jax.numpy.exp(x) * jax.numpy.sin(x)\n",
        "complex": 'x = tensor((2, 2), "complex128", normal(seed=1))\ny = jax.numpy.exp(x) * x\n',
        "a symmetric matrix": 'x = tensor((3, 3), "float64", normal(seed=1), structure="symmetric")\ny = jax.numpy.linalg.eigvalsh(x)\n',
        "numbers of an expanded view": 'x = tensor((35, 2), "float64", normal(seed=1), layout="expanded")\ny = jax.numpy.exp(x) * x\n',
        "names of the script's own": X + 'v = tensor((3,), "float64", normal(seed=2), grad=False)\nouputs = x * v\n',
        "numbers are needed": X + "y = jax.numpy.extract(x > 1.0, x ** 3)\n",
    },
    "tensorflow": {
        "plain": X + "y = tf.exp(x) * tf.sin(x)\n",
        "complex": 'x = tensor((2, 2), "complex128", normal(seed=1))\ny = tf.exp(x) * x\n',
        "a dead input": X + 'm = tensor((3,), "float64", normal(seed=2))\ny = tf.sin(x) + tf.floor(m)\n',
        "a layer": X + "layer = tf.keras.layers.Dense(2)\ny = layer(x)\n",
        # (a + b) - a at 1e19 is b or nothing, as the sums are ordered: that hangs on what is an operand of the graph.
        "an operand that is not differentiated": 'x = tensor((3,), "float64", full(3e19))\n'
        'm = tensor((3,), "float64", listed([2.0, 3.0, 4.0]), grad=False)\ny = tf.clip_by_global_norm([x, m], 0.5)\n',
        "indices": X + 'i = tensor((2,), "int32", listed([1, 0]))\ny = tf.gather(tf.sin(x), i) ** 3\n',
        "names of the script's own": 'resting = tensor((2,), "float64", normal(seed=1), grad=False)\n'
        'number = tensor((2,), "float64", normal(seed=2))\nindices = tf.sin(number) * resting\n',
    },
}  # fmt: skip
CASES = [(target, name) for target, programs in PROGRAMS.items() for name in programs]


@pytest.fixture(scope="module")
def library():
    made = {}

    def get(name):
        pytest.importorskip(name)
        if name not in made:
            made[name] = load_target(name)
        return made[name]

    return get


def run(target, source):
    """What a script prints and how it ends, in this process."""
    target.restore_defaults()
    output, status = io.StringIO(), 0
    kept = sys.modules["__main__"]
    try:
        with contextlib.redirect_stdout(output):
            module = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(source, "script.py", "exec"), vars(module))
    except SystemExit as end:
        status = end.code
    finally:
        sys.modules["__main__"] = kept
    return output.getvalue(), status


def told(output, name):
    """The number behind a scenario's name."""
    line = next(line for line in output.splitlines() if line.split("  ")[0] == name)
    return float(line[len(name) :].split()[0])


@pytest.mark.parametrize("target, name", CASES, ids=[f"{t}: {n}" for t, n in CASES])
@pytest.mark.parametrize("salt", [0, 77777])
def test_a_script_computes_what_the_oracle_computes(library, target, name, salt):
    target = library(target)
    program = parse(PROGRAMS[target.name][name], target.language)
    trial = Trial(target, program, salt)
    for order in (1, 2):
        scenarios = [s for s in nestings(order) if isinstance(trial.outcome(s), Outcome)]
        if order == 1:
            assert scenarios
            trial.mute(trial.outcome(scenarios[0]).live)
        if not scenarios:
            continue
        numbers = {s.name: trial.number(trial.outcome(s)) for s in scenarios}
        verdict = Verdict(DISAGREE, "gradient", "gradient", order, scenarios, "differs", 1.0, 2.0)
        point = trial.point
        output, _ = run(target, script(Finding(
            target.name, "0", program.api, verdict, program, True, mutates=point.mutates, random=point.random, salt=salt,
            made=tuple(point.made),
        )))  # fmt: skip
        for scenario, number in numbers.items():
            assert told(output, scenario) == pytest.approx(number, rel=1e-9, abs=1e-12, nan_ok=True), (scenario, output)


ROOTS = {"torch": "torch.sqrt(x)", "jax": "jax.numpy.sqrt(x)", "tensorflow": "tf.sqrt(x)"}


@pytest.mark.parametrize("target", ROOTS)
def test_what_is_not_moved_says_nothing_be_it_nan(library, target):
    """At zero the slope of a root is infinite. Along another element that is of no concern; along the zero itself it is still told."""
    target = library(target)
    program = parse(f'x = tensor((2,), "float64", listed([0.0, 2.0]))\ny = {ROOTS[target.name]}\n', target.language)
    trial = Trial(target, program)
    there, zero = Vec([np.array([0.0, 1.0])]), Vec([np.array([1.0, 0.0])])
    weight = float(trial.v.arrays[0][1])
    (reverse, _) = nestings(1)
    assert trial.number(trial.attempt(reverse, [there])) == pytest.approx(weight * 8**-0.5)
    assert np.isinf(trial.number(trial.attempt(reverse, [zero])))
    for name in ("reverse-over-reverse", "forward-over-reverse"):
        number = trial.number(trial.attempt(Scenario.named(name), [there, there]))
        assert number == pytest.approx(-weight * 128**-0.5), name
    verdict = Verdict(DISAGREE, "gradient", "gradient", 1, [reverse], "differs", 1.0, 2.0, detail={"along": [["x", 1, 1.0, 0.0]]})
    output, status = run(target, script(Finding(target.name, "0", program.api, verdict, program, True)))
    assert told(output, reverse.name) == pytest.approx(weight * 8**-0.5) and status == 0, output


def test_a_direction_is_followed_entry_by_entry(library):
    target = library("torch")
    program = parse(PROGRAMS["torch"]["a module"], target.language)
    trial = Trial(target, program)
    along = [["layer.weight", 4, 0.25, 0.0], ["x", 1, -2.0, 0.0]]
    (scenario, *_) = nestings(1)
    us = [type(trial.v)([a * 0 for a in trial.direction(0).arrays])]
    for name, index, number, _ in along:
        us[0].arrays[trial.point.names.index(name)].reshape(-1)[index] = number
    verdict = Verdict(DISAGREE, "gradient", "gradient", 1, [scenario], "differs", 1.0, 2.0, detail={"along": along})
    output, status = run(target, script(Finding("torch", "0", program.api, verdict, program, True, made=("layer",))))
    assert told(output, scenario.name) == pytest.approx(trial.number(trial.attempt(scenario, us)), rel=1e-12)
    assert status == 0  # Linear is healthy
