"""Short scripts of TensorFlow's ways: each says what its way says, of a healthy function and of one that is planted."""

import contextlib
import io

import planted_tensorflow
import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import DISAGREE, STATUS, VALUE, WAY, Verdict
from gradfuzz.program import parse
from gradfuzz.targets.base.protocol import Refusal
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.worker.serve import Worker

ONE = 'x = tensor((3,), "float64", uniform(0.5, 1.5, seed=1))\n'
SINE = f"{ONE}y = tf.math.sin(x)"
PICKED = f'{ONE}i = tensor((2,), "int32", listed([2, 0]))\ny = tf.gather(x, i)'
PRODUCT = f'{ONE}a = tensor((3,), "float64", uniform(0.5, 1.5, seed=2))\ny = tf.math.multiply(x, a)'
DENSE = 'x = tensor((2, 3), "float64", uniform(0.5, 1.5, seed=1))\nm = tf.keras.layers.Dense(2)\ny = m(x)'
MIXED = (
    f'{ONE}a = tensor((3,), "float64", uniform(0.5, 1.5, seed=2), grad=False)\n{PICKED[len(ONE) :].replace("(x, i)", "(tf.sin(x) * a, i)")}'
)
MOST_LINES = 25
RELEASED = "2.21.0"  # what is wrong in a release may be mended in another


def written(target, text, scenario, kind=WAY, whole=False):
    named = Scenario.named(scenario)
    verdict = Verdict(DISAGREE, "status" if kind == STATUS else "way", kind, named.order, [named], "", 1.0, 2.0, 1e-9)
    program = parse(text, target.language)
    return script(Finding("tensorflow", target.version, "planted", verdict, program, True, modules=("planted_tensorflow",)), whole)


def run(text):
    """Its exit status, in this process: importing TensorFlow anew takes longer than all the rest."""
    status = 0
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            exec(compile(text, "script", "exec"), {"__name__": "__main__"})
        except SystemExit as ended:
            status = ended.code
    assert ("BUG" in said.getvalue()) == (status != 0)
    return status


@pytest.mark.parametrize(
    "scenario",
    [
        "eager reverse", "eager forward-over-forward", "compiled forward", "compiled-inside reverse", "persistent reverse",
        "symbolic reverse", "symbolic forward",
        "jacobian reverse", "vectorized forward", "vectorized-inside reverse", "recomputed reverse", "looped forward-over-reverse",
        "kept reverse", "switched reverse", "mapped reverse", "shapeless forward", "compiled-shapeless reverse", "again direct",
        "scanned reverse", "compiled-mapped reverse", "compiled-jacobian reverse", "variables reverse",
        "compared reverse", "compiled-compared reverse", "counted reverse",
        "assigned reverse", "rule reverse-over-reverse", "rule-compiled reverse", "rule-looped reverse",
    ],
)  # fmt: skip
def test_a_healthy_function_passes_within_25_lines(tensorflow_target, scenario):
    text = written(tensorflow_target, SINE, scenario)
    assert run(text) == 0, text
    assert len(text.splitlines()) <= MOST_LINES


def scenarios_of(target):
    return [(name, s.in_way(name).name) for name, way in target.ways.items() for s in way.scenarios if s.order < 2]


def test_the_whole_script_of_every_way_says_what_the_oracle_says(tensorflow_target):
    """Of a function with indices and with an operand that is not differentiated."""
    trial = Trial(tensorflow_target, parse(MIXED, tensorflow_target.language))
    for name, scenario in scenarios_of(tensorflow_target):
        outcome = trial.outcome(Scenario.named(scenario))
        if isinstance(outcome, Refusal):
            continue
        text = written(tensorflow_target, MIXED, scenario, whole=True)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            exec(compile(text, "script", "exec"), {"__name__": "__main__"})
        line = next((line for line in said.getvalue().splitlines() if line.startswith(scenario) and " computes " not in line), "")
        number = float(line[len(scenario) :].split()[0])
        assert number == pytest.approx(trial.number(outcome), rel=1e-12), (name, said.getvalue())


def test_what_an_earlier_call_left_behind_shows_in_the_whole_script(tensorflow_target):
    planted_tensorflow._last.clear()
    assert run(written(tensorflow_target, f"{ONE}y = planted_tensorflow.remembers(x)", "again reverse", whole=True)) == 1


def test_what_is_compiled_once_was_differentiated_backwards_before(tensorflow_target):
    """Forward mode of a compiled function raises after its reverse mode, and not by itself."""
    if tensorflow_target.version != RELEASED:
        pytest.skip(f"seen in {RELEASED}")
    text = 'x = tensor((2,), "float64", listed([2.0, 3.0]))\ni = tensor((2,), "int32", listed([0, 1]))\n'
    text += "y = tf.math.unsorted_segment_mean(x, i, 2)"
    assert run(written(tensorflow_target, text, "compiled-inside forward", STATUS)) == 0
    assert run(written(tensorflow_target, text, "compiled-inside forward", STATUS, whole=True)) == 1
    assert run(written(tensorflow_target, SINE, "compiled-inside forward", STATUS, whole=True)) == 0


def test_what_is_confirmed_is_optimised_as_scripts_are(tensorflow_target):
    """A tangent that is lost in graphs that are not optimised, which nobody has."""
    if tensorflow_target.version != RELEASED:
        pytest.skip(f"seen in {RELEASED}")
    text = 'x = tensor((1, 2, 2, 1), "float64", arange(1.0, 1.0))\ny = tf.keras.ops.adaptive_max_pool(x, [4, 4])'
    program, options = parse(text, tensorflow_target.language), Options(order=1, salt=11994)
    seen = examine(tensorflow_target, program, options).findings
    assert seen
    suspicion = Suspicion("tf.keras.ops.adaptive_max_pool", program, (), options, seen[0])
    try:
        told = Worker(tensorflow_target, None, None, []).do_confirm({"suspicion": suspicion.to_json(), "seconds": 0.0})
    finally:
        tensorflow_target._optimised(False)
        tensorflow_target.forget()
    assert told == {"confirmed": None}


@pytest.mark.parametrize(
    "text, scenario", [(PICKED, "symbolic forward"), (PICKED, "rule reverse"), (DENSE, "eager reverse"), (PRODUCT, "apart forward")]
)
def test_whole_numbers_layers_and_several_inputs_are_known_to_scripts(tensorflow_target, text, scenario):
    assert run(written(tensorflow_target, text, scenario)) == 0


def test_what_an_earlier_call_left_behind_shows(tensorflow_target):
    planted_tensorflow._last.clear()  # whatever other tests have left there
    assert run(written(tensorflow_target, f"{ONE}y = planted_tensorflow.remembers(x)", "again reverse")) == 1


def test_an_error_shows(tensorflow_target):
    """A size that must be known is none for a function that knows no sizes."""
    text = 'x = tensor((2, 3), "float64", uniform(0.5, 1.5, seed=1))\ny = tf.experimental.numpy.tril(x)'
    assert run(written(tensorflow_target, text, "shapeless reverse", STATUS)) == 1
    assert run(written(tensorflow_target, SINE, "shapeless reverse", STATUS)) == 0


@pytest.mark.parametrize("scenario", ["compiled reverse", "compiled direct", "compiled-inside forward", "rule-compiled reverse"])
def test_what_is_compiled_is_compiled_and_what_it_is_held_against_is_not(tensorflow_target, scenario):
    text = written(tensorflow_target, SINE, scenario)
    assert text.count("jit_compile=True") == 1 and "jit_compile" not in next(line for line in text.splitlines() if line.startswith("usual"))


@pytest.mark.parametrize("scenario", ["compiled reverse", "compiled-inside forward", "persistent reverse"])
def test_outputs_are_compared_beside_derivatives(tensorflow_target, scenario):
    assert run(written(tensorflow_target, SINE, scenario, VALUE)) == 0


def test_both_scripts_of_a_nested_accumulator_show_what_is_lost(tensorflow_target):
    if tensorflow_target.version != RELEASED:
        pytest.skip(f"seen in {RELEASED}")
    text = f"{ONE}m = tf.identity(x)\ny = (m * m) * m"
    for whole in (False, True):
        assert run(written(tensorflow_target, text, "eager forward-over-forward", whole=whole)) == 1
        assert run(written(tensorflow_target, SINE, "eager forward-over-forward", whole=whole)) == 0
