"""JAX's ways of state and of a user's own rules: a planted bug shows in its own way, and its healthy twin does not."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.jax import ways
from tests.targets.broken_ways import BROKEN

RULES = [name for name in ways.WAYS if "-rule" in name and name not in BROKEN["jax"]]


def seen(target, function, way, order=1):
    text = f'x = tensor((3,), "float64", uniform(0.5, 1.5, seed=1))\ny = {function}(x)'
    return examine(target, parse(text, target.language), Options(order, ways=(way,)))


def ran(looked, way):
    return [s for s, outcome in looked.trial.outcomes.items() if s.way == way and isinstance(outcome, Outcome)]


@pytest.mark.parametrize(("function", "way"), [("symbols", "exported"), ("remembers", "again")])
def test_a_planted_bug_is_caught_and_its_healthy_twin_is_not(jax_target, function, way):
    found = seen(jax_target, f"planted_jax.{function}", way).findings
    assert found and {s.way for v in found for s in v.scenarios} == {way}
    healthy = seen(jax_target, "planted_jax.right", way)
    assert healthy.outcome == "agree" and ran(healthy, way)


@pytest.mark.parametrize("way", RULES)
def test_a_rule_is_kept_in_every_way_and_one_that_is_dropped_is_noticed(jax_target, way, monkeypatch):
    healthy = seen(jax_target, "jax.numpy.sin", way, order=2)
    assert healthy.outcome == "agree" and ran(healthy, way)
    inside = ways.WAYS.get(way.split("-rule", 1)[1].strip("-"), ways.derivative)
    monkeypatch.setitem(ways.WAYS, way, ways._ruled(lambda x: x, inside))  # as if the library differentiated through the rule
    jax_target.forget()
    assert {v.kind for v in seen(jax_target, "jax.numpy.cos", way).findings} == {"way"}


def test_zeros_in_coordinate_form_have_a_derivative(jax_target):
    text = 'x = tensor((2, 2), "float64", listed([0.0, 1.0, 2.0, 0.0]))\ny = jax.numpy.matmul(x, x)'
    for way in ("coordinates", "sparse"):
        looked = examine(jax_target, parse(text, jax_target.language), Options(1, ways=(way,)))
        assert looked.outcome == "agree" and ran(looked, way)


@pytest.mark.parametrize(("number", "call", "way"), [
    ('float("inf")', "jax.lax.erf(x)", "coordinates"), ("1e-310", "jax.numpy.linalg.diagonal(x)", "rooted"),
    ("1e-87", "jax.numpy.reciprocal(x)", "integrated"),
])  # fmt: skip
def test_a_way_that_computes_is_not_held_to_numbers_that_it_cannot_compute_with(jax_target, number, call, way):
    text = f'x = tensor((1, 2), "float64", listed([{number}, 2.0]))\ny = {call}'
    looked = examine(jax_target, parse(text, jax_target.language), Options(1, ways=(way,)))
    assert ran(looked, way) and not [v for v in looked.findings if any(s.way for s in v.scenarios)]


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_the_branch_is_taken_whatever_the_numbers_are(jax_target, number):
    text = f'x = tensor((2,), "float64", listed([0.8, float("{number}")]))\ny = jax.numpy.nansum(x)'
    looked = examine(jax_target, parse(text, jax_target.language), Options(1, ways=("switched",)))
    assert ran(looked, "switched") and not [v for v in looked.findings if any(s.way for s in v.scenarios)]


def test_the_script_shows_what_an_earlier_call_left_behind_and_a_healthy_twin_passes(jax_target, tmp_path):
    text = 'x = tensor((3,), "float64", uniform(0.5, 1.5, seed=1))\ny = planted_jax.remembers(x)'
    program = parse(text, jax_target.language)
    verdict = examine(jax_target, program, Options(1, ways=("again",))).findings[0]
    written = script(Finding("jax", jax_target.version, "planted", verdict, program, True, modules=("planted_jax",)))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    for code, text in ((1, written), (0, written.replace("planted_jax.remembers(", "planted_jax.right("))):
        (tmp_path / "script.py").write_text(text)
        done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.parametrize("way", ["branching-rule-batched-inside", "accumulated-checkpointed"])
def test_what_these_releases_raise_for_is_shown_and_is_not_the_operators_fault(jax_target, way, tmp_path):
    """A rule that chooses, in a batch; references that are made inside of a checkpoint."""
    program = parse('x = tensor((3,), "float64", uniform(0.5, 1.5, seed=1))\ny = jax.numpy.sin(x)', jax_target.language)
    found = examine(jax_target, program, Options(1, ways=(way,))).findings
    if not found:
        pytest.skip("this release is mended")
    assert {(v.kind, v.subject, *v.names) for v in found} == {("status", "any", f"{way} reverse")}
    (tmp_path / "script.py").write_text(script(Finding("jax", jax_target.version, "planted", found[0], program, True)))
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "BUG" in done.stdout, done.stdout + done.stderr


_crooked = jax.custom_jvp(lambda x: x)  # the identity, whose derivative is not one
_crooked.defjvp(lambda primals, tangents: (primals[0], 1.001 * tangents[0]))


def _bent(outputs):
    return jax.tree_util.tree_map(lambda o: _crooked(o) if jnp.issubdtype(o.dtype, jnp.inexact) else o, outputs)


class _Bent:
    """A reference that gives derivatives back wrongly."""

    def __init__(self, start):
        self.place = _new(start)

    def __setitem__(self, index, value):
        self.place[index] = value

    def __getitem__(self, index):
        return _bent(self.place[index])


_new, _linearize = getattr(jax, "new_ref", None), jax.linearize


def _pushed_wrongly(function, *xs):
    outputs, push = _linearize(function, *xs)
    return outputs, jax.tree_util.Partial(lambda push, *u: jax.tree_util.tree_map(lambda t: 1.001 * t, push(*u)), push)


def _wrongly(function):
    return functools.wraps(function)(lambda *args, **options: _bent(function(*args, **options)))


@pytest.mark.parametrize(("way", "room", "name", "wrong"), [
    ("scanned-backwards", jax.lax, "scan", _wrongly(jax.lax.scan)),
    ("mapped", jax.lax, "map", _wrongly(jax.lax.map)),
    ("switched-batched", jax.lax, "cond", _wrongly(jax.lax.cond)),
    ("compared", jnp, "where", _wrongly(jnp.where)),
    ("referred", jax, "new_ref", _Bent),
    ("accumulated", jax, "new_ref", _Bent),
    ("outlived", jax, "linearize", _pushed_wrongly),
])  # fmt: skip
def test_what_a_transform_does_to_a_derivative_is_noticed(jax_target, way, room, name, wrong, monkeypatch):
    if not hasattr(room, name):
        pytest.skip("this release has none")
    healthy = seen(jax_target, "jax.numpy.sin", way)
    assert healthy.outcome == "agree" and ran(healthy, way)
    monkeypatch.setattr(room, name, wrong)
    jax_target.forget()
    assert {v.kind for v in seen(jax_target, "jax.numpy.cos", way).findings} == {"way"}
    jax_target.forget()


def test_a_loop_of_whole_numbers_that_is_folded_is_noticed(jax_target, tmp_path):
    looked = seen(jax_target, "jax.numpy.sin", "stepped")
    if not looked.findings:
        pytest.skip("this release is healthy")
    assert [v.names for v in looked.findings] == [["stepped forward"]] and looked.findings[0].subject == "any"


def test_a_rule_for_taylor_series_is_held_against_forward_mode_at_both_orders(jax_target, monkeypatch):
    from jax.experimental import jet

    healthy = seen(jax_target, "jax.numpy.sin", "taylor", order=2)
    assert healthy.outcome == "agree" and {s.order for s in ran(healthy, "taylor")} == {1, 2}
    right = jet.jet_rules[jax.lax.cos_p]
    monkeypatch.setitem(
        jet.jet_rules, jax.lax.cos_p, lambda *a, **k: (lambda out: (out[0], [*out[1][:-1], 1.001 * out[1][-1]]))(right(*a, **k))
    )
    jax_target.forget()
    found = seen(jax_target, "jax.numpy.cos", "taylor", order=2).findings
    assert {v.kind for v in found} == {"way"} and {s.way for v in found for s in v.scenarios} == {"taylor"}


def test_a_function_without_a_rule_for_taylor_series_is_not_asked_about(jax_target):
    looked = seen(jax_target, "jax.numpy.sort", "taylor")
    assert not looked.findings and not ran(looked, "taylor")


def test_a_neighbour_outside_the_domain_is_nobodys_derivative(jax_target):
    """Three quarters of a number that is just inside."""
    text = 'x = tensor((2,), "float64", listed([1.1, 1.2]))\ny = jax.numpy.arccosh(x)'
    for way in ("mapped", "switched-batched"):
        looked = examine(jax_target, parse(text, jax_target.language), Options(1, ways=(way,)))
        assert looked.outcome == "agree" and ran(looked, way)


TWO = 'x = tensor((3,), "float64", uniform(0.5, 1.5, seed=1))\na = tensor((3,), "float64", uniform(0.5, 1.5, seed=2))\ny = {}(x, a)'
INDEXED = 'x = tensor((3,), "float64", uniform(0.5, 1.5, seed=1))\ni = tensor((2,), "int64", listed([2, 0]))\ny = {}(x, i)'


def examined(target, text, function, way):
    return examine(target, parse(text.format(function), target.language), Options(1, ways=(way,)))


@pytest.mark.parametrize(("function", "way"), [("mixed", "batched-first"), ("mixed", "batched-rest"), ("alone", "apart")])
def test_of_several_operands_some_are_batched_or_differentiated(jax_target, function, way):
    found = examined(jax_target, TWO, f"planted_jax.{function}", way).findings
    assert found and {s.way for v in found for s in v.scenarios} == {way}
    healthy = examined(jax_target, TWO, "jax.numpy.multiply", way)
    assert healthy.outcome == "agree" and ran(healthy, way)


@pytest.mark.parametrize("way", ["scanned", "carried", "switched", "checkpointed", "batched", "jitted-inside", "sharded"])
def test_whole_numbers_are_operands_where_they_need_not_be_known(jax_target, way):
    found = examined(jax_target, INDEXED, "planted_jax.picked", way).findings
    assert found and {s.way for v in found for s in v.scenarios} == {way}
    for function in ("picked_rightly", "picked_by_number"):
        healthy = examined(jax_target, INDEXED, f"planted_jax.{function}", way)
        assert healthy.outcome == "agree" and ran(healthy, way)


def test_a_trace_tells_in_which_ways_a_function_raises(jax_target):
    ways_of_all = [way for way, about in jax_target.ways.items() if not about.of_its_own]
    raising = parse(TWO.format("planted_jax.refuses_mixed"), jax_target.language)
    assert jax_target.doubtful(raising, ways_of_all) == ["batched-rest", "batched-first"]
    assert not jax_target.doubtful(parse(TWO.format("jax.numpy.multiply"), jax_target.language), ways_of_all)
    found = examine(jax_target, raising, Options(1, ways=("batched-first",))).findings
    assert {v.kind for v in found} == {"status"}
