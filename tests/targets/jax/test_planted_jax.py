"""Planted bugs in real JAX functions: each is caught and named, and its healthy twin is not."""

import contextlib
import io

import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from gradfuzz.targets.jax.ways import BY_HAND
from tests.targets.broken_ways import sound_ways

TEXT = 'x = tensor((2, 3), "float64", {values})\ny = planted_jax.{name}(x)\n'


def seen(target, name, values="uniform(0.5, 2.0, seed=1)", order=2, thorough=False):
    program = parse(TEXT.format(name=name, values=values), target.language)
    return examine(target, program, Options(order=order, ways=sound_ways(target) if thorough else ()))


HUGE = "listed([3e22, -5e21, 2e20, -7e24, 4e20, 1e21])"


@pytest.mark.parametrize("name, kinds", [("squares", {"precision"}), ("does_not_square", set())])
def test_in_single_precision_a_rule_whose_squares_overflow_is_caught(jax_target, name, kinds):
    text = TEXT.format(values=HUGE, name=name).replace("float64", "float32")
    found = examine(jax_target, parse(text, jax_target.language), Options(order=1))
    assert {f.kind for f in found.findings} == kinds and (kinds or found.outcome == "agree")
    assert all(set(f.names) == {"reverse", "forward"} or len(f.names) == 1 for f in found.findings)


MASKED = "listed([0.5, -0.7, 1.5, 2.0, -1.3, 0.8])"


@pytest.mark.parametrize("name, kind, scenarios", [
    ("masked", None, set()), ("masked_wrongly", "gradient", {"reverse", "forward"}), ("masked_carelessly", "nonfinite", {"reverse"}),
])  # fmt: skip
def test_beside_outputs_that_rest_at_an_infinity_the_others_are_judged(jax_target, name, kind, scenarios):
    found = seen(jax_target, name, MASKED, order=1)
    assert found.outcome == ("disagree" if kind else "agree") and found.trial.resting
    assert {f.kind for f in found.findings} <= {kind} and all(set(f.names) == scenarios for f in found.findings)


def test_a_script_leaves_them_out_as_well(jax_target):
    program = parse(TEXT.format(values=MASKED, name="masked_carelessly"), jax_target.language)
    (finding,) = seen(jax_target, "masked_carelessly", MASKED, order=1).findings
    made = Finding("jax", jax_target.version, "planted", finding, program, True, modules=("planted_jax",))
    for name, status in (("masked_carelessly", 1), ("masked", 0)):
        with contextlib.redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as ended:
            exec(compile(script(made).replace("masked_carelessly", name), "script", "exec"), {"__name__": "__main__"})
        assert ended.value.code == status


CASES = [
    ("wrong_jvp", "gradient", 1, {"reverse", "forward"}),
    ("wrong_vjp", "gradient", 1, {"reverse"}),
    ("wrong_output", "value", 1, {"reverse"}),
    (
        "wrong_second", "gradient", 2,
        {"reverse-over-reverse", "forward-over-reverse", "reverse-over-forward", "forward-over-forward"},
    ),
]  # fmt: skip


@pytest.mark.parametrize("name, kind, order, scenarios", CASES)
def test_a_planted_bug_is_caught_and_named(jax_target, name, kind, order, scenarios):
    (finding,) = seen(jax_target, name).findings
    assert (finding.kind, finding.order, set(finding.names)) == (kind, order, scenarios)


def test_a_rule_that_is_wrong_at_one_point_is_caught_there(jax_target):
    (finding,) = seen(jax_target, "wrong_at_zero", "planted(normal(seed=1), 0.0, 2)", order=1).findings
    assert finding.kind == "gradient"
    assert not seen(jax_target, "wrong_at_zero", order=1).findings


def test_a_derivative_that_is_not_a_number_is_caught(jax_target):
    (finding,) = seen(jax_target, "nan_at_zero", "planted(normal(seed=1), 0.0, 2)", order=1).findings
    assert finding.kind == "nonfinite"


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_healthy_twin_is_not(jax_target, order):
    looked = seen(jax_target, "healthy", order=order, thorough=True)
    assert looked.outcome == "agree" and max(v.order for v in looked.verdicts) == order


def test_a_function_without_forward_mode_says_so_and_is_no_finding(jax_target):
    looked = seen(jax_target, "healthy_vjp", thorough=True)
    assert not looked.findings
    assert any(v.outcome == "unsupported" and v.names == ["forward"] for v in looked.verdicts)


def test_a_wrong_batching_rule_shows_in_the_batched_way(jax_target):
    looked = seen(jax_target, "wrong_batching", thorough=True)
    assert "batched forward" in {s for f in looked.findings for s in f.names}
    assert not seen(jax_target, "healthy_batching", thorough=True).findings


def test_code_that_behaves_differently_when_compiled_shows_in_the_eager_way(jax_target):
    looked = seen(jax_target, "wrong_when_compiled", order=1, thorough=True)
    by_hand = {s.way for f in looked.findings for s in f.scenarios}
    assert "eager" in by_hand and by_hand <= {*BY_HAND}


def test_a_function_that_cannot_be_compiled_runs_op_by_op(jax_target):
    looked = seen(jax_target, "numbers_wanted", order=2)
    assert [(v.oracle, v.outcome, v.order) for v in looked.verdicts] == [("gradient", "agree", 1), ("gradient", "agree", 2)]
    assert looked.trial.point.plan.eager


def test_a_way_that_could_not_be_compared_vouches_for_nothing(jax_target):
    looked = seen(jax_target, "untraceable", order=1, thorough=True)
    assert looked.outcome == "unsupported" and not any(v.outcome == "agree" for v in looked.verdicts)


def test_lower_precision_is_judged_against_double(jax_target):
    text = 'x = tensor((2, 3), "float32", uniform(0.5, 2.0, seed=1))\ny = planted_jax.{}(x)\n'
    good = examine(jax_target, parse(text.format("healthy"), jax_target.language), Options())
    assert good.outcome == "agree" and good.verdicts[-1].oracle in ("precision", "way")


def test_what_a_rule_accepts_and_the_function_refuses_is_caught(jax_target):
    def asked(name):
        program = parse(TEXT.format(name=name, values="normal(seed=1)"), jax_target.language)
        return examine(jax_target, program, Options(order=1, refused=True))

    (finding,) = asked("refuses_directly").findings
    assert (finding.kind, finding.names) == ("status", ["reverse", "forward"]) and "7 rows" in finding.reason
    assert asked("refuses_always").outcome == "invalid"
