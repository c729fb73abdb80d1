"""What is compiled once serves many questions: F by itself, the derivatives of an order together, and a refusal is not tried again."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.interpreters import mlir

from gradfuzz.mutate.cover import Cover
from gradfuzz.mutate.edits import Edit
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.trial import Trial
from gradfuzz.oracles.verdict import DISAGREE, Verdict
from gradfuzz.program import from_json, parse, to_json
from gradfuzz.targets.base.dtypes import UNITS
from gradfuzz.targets.base.protocol import QUICK_STEP, Refusal
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE, nestings
from gradfuzz.targets.jax import bundle
from gradfuzz.targets.jax.bundle import narrowed
from gradfuzz.targets.jax.contexts import shared
from gradfuzz.worker import batch, drawing
from gradfuzz.worker.depth import Depth

TEXT = 'x = tensor((3,), "float64", uniform(0.5, 2.0, seed=1))\ny = {}(x)\n'


def trial_of(target, function):
    return Trial(target, parse(TEXT.format(function), target.language))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_ends_of_the_quick_difference_are_the_function_at_the_shifted_points(jax_target, sign):
    trial = trial_of(jax_target, "jax.numpy.tanh")
    u = trial.direction(0)
    trial.outcome(REVERSE)
    (here,) = trial.point.run(DIRECT, (), None, u, sign * QUICK_STEP).outputs
    assert np.allclose(here, np.tanh(trial.inputs[0] + sign * QUICK_STEP * u.arrays[0]), rtol=1e-15, atol=0)
    (elsewhere,) = trial.point.run(DIRECT, (), None, trial.direction(1), sign * QUICK_STEP).outputs
    assert np.allclose(elsewhere, np.tanh(trial.inputs[0] + sign * QUICK_STEP * trial.direction(1).arrays[0]), rtol=1e-15, atol=0)


def test_no_copy_of_the_function_is_compiled_with_its_derivatives(jax_target):
    trial = trial_of(jax_target, "jax.numpy.tanh")
    for order, keys in ((1, {"f", "r"}), (2, {"ff", "fr", "rf", "rr"})):
        args = trial.point.args(order, (), None, None, 0.0)
        assert set(trial.point.plan.bundle(order).run(args)) == keys
    outputs = trial.outcome(nestings(2)[0]).outputs
    assert np.array_equal(outputs[0], trial.direct[0])


def test_what_cannot_be_compiled_is_not_tried_again(jax_target, monkeypatch):
    trial = trial_of(jax_target, "planted_jax.healthy_vjp")
    assert isinstance(trial.outcome(FORWARD), Refusal)
    compiled = []
    monkeypatch.setattr(bundle.JaxBundle, "compile", lambda self, args: compiled.append(self.scenarios))
    for salt in range(3):
        again = Trial(jax_target, trial.program, salt)
        assert isinstance(again.outcome(FORWARD), Refusal) and not isinstance(again.outcome(REVERSE), Refusal)
    assert not compiled


class Still:
    def write(self, job, index, counts, swift=False):
        pass

    def note(self, index, fate):
        pass


def test_a_family_that_fails_is_given_up_and_the_next_one_is_tried(jax_target, monkeypatch):
    monkeypatch.setattr(jax_target, "family", 8)
    seed = parse('x = tensor((2, 2), "float64", normal(seed=1))\ny = jax.numpy.linalg.inv(x)\n', jax_target.language)
    not_square = Edit("shape", "x", [2, 3])

    def relative(program, family, shared, own, menu, weights, layouts):
        return [not_square] if family == 1 else []

    monkeypatch.setattr(drawing, "draw_relative", relative)
    job = {"id": 1, "api": "jax.numpy.linalg.inv", "program": to_json(seed), "rng": "0:0", "start": 0, "count": 24, "weights": {}}
    job["depth"] = Depth(salt=1).to_json()
    answer = batch.run_batch(jax_target, job, Still(), lambda finding: None)
    assert answer["edits"]["shape"] == [batch.INVALID_OFTEN, 0]
    assert sum(answer["counts"]) == 8 + batch.INVALID_OFTEN + 8
    assert from_json(job["program"]).inputs["x"].shape == (2, 2)


def test_what_one_change_shows_does_not_hide_what_takes_two(jax_target, monkeypatch):
    """Of a family that shows much the rest is left out, but pairs have a count of their own."""
    shown = [Verdict(DISAGREE, "gradient", "gradient", 1)]
    monkeypatch.setattr(batch, "examine", lambda *asked, **options: batch.Examination(shown))
    monkeypatch.setattr(batch, "TOLD_OFTEN", 100)  # all of them show the same
    text = 'x = tensor((2,), "float64", normal(seed=1))\nw = tensor((2,), "float64", normal(seed=2))\ny = jax.numpy.hypot(x, w)\n'
    seed = parse(text, jax_target.language)
    job = {"id": 1, "api": "jax.numpy.hypot", "program": to_json(seed), "rng": "0:0", "start": 0, "count": 60, "weights": {}}
    told = []
    batch.run_batch(
        jax_target, {**job, "depth": Depth(salt=1, families=(0, 1)).to_json(), "cover": Cover().to_json()}, Still(), told.append
    )
    widths = Counter(len(suspicion.edits) for suspicion in told)
    assert widths[1] == batch.FOUND_OFTEN and widths[2] == batch.FOUND_OFTEN


def test_options_and_their_words_come_from_signatures_and_docstrings(jax_target):
    ((*_, mode),) = [[p for p in overload if p.name == "mode"] for overload in jax_target.parameters("jax.numpy.linalg.qr")]
    assert mode.kind == "str" and {"reduced", "complete"} <= set(mode.words)
    kinds = {p.name: p.kind for overload in jax_target.parameters("jax.numpy.var") for p in overload}
    assert (kinds["a"], kinds["ddof"], kinds["keepdims"]) == ("tensor", "int", "bool")
    assert jax_target.parameters("jax.numpy.no_such_function") == []


def test_rules_out_of_reach_say_why_and_the_others_nothing(jax_target):
    rules = jax_target.rules()
    assert rules["jvp:sin"] == rules["transpose:dot_general"] == rules["batch:and"] == ""
    assert "axis" in rules["transpose:psum"] and "whole numbers" in rules["jvp:and"]
    assert jax_target.language.refusal("jax.checkpoint") is None and jax_target.language.refusal("jax.device_put")


def test_types_that_numbers_are_narrowed_to_are_read_off_the_trace():
    """A factor of single precision that is none of the function's numbers rounds nothing."""
    x = jnp.array(1.5, "float64")

    def unit(function):
        return narrowed(jax.make_jaxpr(function)(x).jaxpr)

    assert unit(jax.jit(lambda x: jnp.sin(x.astype("float32")).astype("float64"))) == 2.0**-23
    assert unit(lambda x: jax.lax.cond(x > 0, lambda y: y.astype("bfloat16").astype("float64"), jnp.sin, x)) == UNITS["bfloat16"]
    assert unit(lambda x: x * (x > 0).astype("float32").astype("float64")) == 0.0


@pytest.mark.parametrize("key, value", [(3.0, 2.0), (0.0, 3.0)])
def test_noise_of_single_precision_inside_is_no_second_derivative(jax_target, key, value):
    """One key alone: the derivative is zero, and what is left of its terms is as large as their rounding."""
    shape = '(1, 1, 2, 1), "float64"'
    inputs = (
        f"q = tensor({shape}, full({2.0 if key == 0.0 else 1.0}))\nk = tensor({shape}, full({key}))\nv = tensor({shape}, full({value}))\n"
    )
    program = parse(f"{inputs}y = jax.nn.dot_product_attention(q, k, v)\n", jax_target.language)
    for salt in range(3):
        assert not examine(jax_target, program, Options(order=2, salt=salt)).findings


@pytest.mark.parametrize("name, found", [("healthy_single_inside", False), ("wrong_single_inside", True)])
def test_a_derivative_in_single_precision_that_is_off_by_more_is_wrong(jax_target, name, found):
    program = parse(TEXT.format(f"planted_jax.{name}"), jax_target.language)
    assert all(bool(examine(jax_target, program, Options(order=1, salt=salt)).findings) == found for salt in range(3))


def test_a_place_for_what_is_lowered_is_left_after_its_uses():
    made = iter(range(9))
    make = shared(lambda: next(made), uses=3)
    assert [make() for _ in range(7)] == [0, 0, 0, 1, 1, 1, 2]


def test_what_is_compiled_in_a_shared_place_is_what_is_compiled_in_its_own(jax_target):
    functions = [jnp.sin, jnp.cos]
    lowered = [jax.jit(f).lower(1.0).as_text() for f in functions]
    places = [mlir.make_ir_context() for _ in range(3)]
    assert places[0] is places[1] or places[1] is places[2]
    assert "sine" in lowered[0] and "cosine" in lowered[1] and "cosine" not in lowered[0]
    assert [float(jax.jit(f)(2.0)) for f in functions] == pytest.approx([np.sin(2.0), np.cos(2.0)])


def batch_of(target, text, api, families):
    depth = Depth(orders=((10**9, 2),), alone=2, families=families)
    job = {"id": 1, "api": api, "program": to_json(parse(text, target.language)), "rng": "0", "start": 0, "count": 96, "weights": {},
           "cover": Cover().to_json(), "depth": depth.to_json()}  # fmt: skip
    return batch.run_batch(target, job, Still(), lambda suspicion: None)


def test_a_tail_in_which_differences_of_the_first_derivative_are_blind_is_asked_about_at_order_two(jax_target):
    text = 'x = tensor((4,), "float64", normal(seed=1))\ny = jax.nn.softplus(x)\n'
    questions = batch_of(jax_target, text, "jax.nn.softplus", (0, 1))["questions"]
    assert sum(q["far"] == "tail" and "reverse-over-reverse" in q["scenarios"] for q in questions) == 1


def test_a_function_that_is_another_at_one_point_has_no_second_derivative_there(jax_target):
    """Its first derivative is zero there and on both sides; one that does not jump is judged."""
    inputs = 'x = tensor((4,), "float64", full(0.0))\nz = tensor((4,), "float64", full(0.0), grad=False)\n'
    text = inputs + "y = jax.numpy.where(jax.numpy.equal(x, z), {}, z)\n"
    for inner, found in (("jax.numpy.cos(x)", 0), ("jax.numpy.multiply(x, x)", 1)):
        seen = examine(jax_target, parse(text.format(inner), jax_target.language), Options(order=2))
        assert bool(seen.findings) == bool(found), inner
