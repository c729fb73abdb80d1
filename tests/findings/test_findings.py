"""What happens to a finding after it is found."""

from dataclasses import replace

import numpy as np
import pytest

from gradfuzz.findings.domain import CONDITIONS
from gradfuzz.findings.inside.same import finding_id, finding_key, mark, probable_cause
from gradfuzz.findings.labels import label_for, labels
from gradfuzz.findings.numpy_code import array_code
from gradfuzz.oracles.kinds import KINDS
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import parse
from gradfuzz.program.values import KINDS as DISTRIBUTIONS
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.scenario import FORWARD, REVERSE, Scenario
from gradfuzz.targets.homes import homes, known_targets, language_for
from gradfuzz.targets.torch.refusals import TorchRefusals
from gradfuzz.worker.wire import packed, unpacked

TORCH = language_for("torch")
VALUES = [
    "normal(seed=3)", "normal(1.0, 2.0, seed=3)", "uniform(-2.0, 3.0, seed=4)", "integers(-3, 4, seed=5)",
    "choice([0.0, -0.0, 1e-8], seed=6)",
    "onehot(seed=7)", "full(2.5)", "arange(1.0, 0.5)", "listed([1.0, 2.0, 3.0])", "scaled(normal(seed=1), 1e-100)",
    "planted(normal(seed=1), 0.0, 3)", "rounded(normal(seed=1), 0.5)", "sorted(normal(seed=1))", "close(normal(seed=1), 1e-06)",
    "positive(normal(seed=1))", 'planted(normal(seed=1), float("inf"), 3)',
]  # fmt: skip


@pytest.mark.parametrize("shape", ["(3, 4)", "(20, 7)"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("values", VALUES)
def test_numpy_code_makes_the_very_numbers_of_the_recipe(values, dtype, shape):
    recipe = parse(f'x = tensor({shape}, "{dtype}", {values})\ny = torch.sin(x)', TORCH).inputs["x"]
    made = np.asarray(eval(array_code(recipe), {"np": np})).astype(dtype)
    assert np.array_equal(made, materialise(recipe))
    assert np.array_equal(unpacked(packed(made)), made)
    assert not np.isnan(made).any(), "an infinite part makes no NaN of the other"


def test_every_distribution_is_among_them():
    assert {v.split("(")[0] for v in VALUES} == set(DISTRIBUTIONS)


@pytest.mark.parametrize("structure", ["symmetric", "positive_definite", "lower", "upper"])
def test_numpy_code_keeps_structure(structure):
    recipe = parse(f'x = tensor((9, 9), "float64", normal(seed=3), structure="{structure}")\ny = torch.sin(x)', TORCH).inputs["x"]
    assert np.allclose(eval(array_code(recipe), {"np": np}), materialise(recipe))


def verdict(**more):
    return replace(Verdict("disagree", "gradient", "gradient", 1, [REVERSE], "x"), **more)


def test_one_rule_under_many_names_is_one_finding():
    keys = {finding_key(api, "XlogyBackward0", verdict()) for api in ("torch.xlogy", "torch.special.xlogy", "torch.Tensor.xlogy")}
    assert len(keys) == 1


def test_other_numbers_and_types_in_a_message_are_the_same_finding():
    refusals = TorchRefusals(homes()["torch"].data("refusals"))
    messages = [
        "a [torch.DoubleTensor [3]] of Double, not torch.float32",
        "a [torch.FloatTensor [7, 2]] of Float, not c10::Half",
        "a [CPUComplexDoubleType [3]] of Double, not torch.half",
    ]
    keys = {finding_key("torch.add", "", verdict(oracle="status", symptom=refusals.classify(RuntimeError(m)).symptom)) for m in messages}
    assert len(keys) == 1
    other = refusals.classify(RuntimeError("expected a scalar")).symptom
    assert finding_key("torch.add", "", verdict(oracle="status", symptom=other)) not in keys


def test_what_a_compiler_passes_on_is_told_by_what_was_raised_inside():
    refusals = TorchRefusals(homes()["torch"].data("refusals"))
    passed_on = "backend='aot_eager' raised:\n{}\n\nSet TORCHDYNAMO_VERBOSE=1 for the internal stack trace"
    said = [
        refusals.classify(RuntimeError(passed_on.format(m))).symptom
        for m in ("TypeError: no token", "ValueError: no shape", "TypeError: no token")
    ]
    assert said[0] == said[2] != said[1] and said[0].endswith("raised TypeError no token")
    carries = [f"types must be equal, but they differ:\n  * the carry of {name} has another type" for name in ("f", "g")]
    assert len({refusals.classify(TypeError(m)).symptom for m in carries}) == 1


def test_other_kinds_orders_and_scenarios_are_other_findings():
    keys = {
        finding_key("torch.add", "", verdict(kind=k, order=o, scenarios=[s]))
        for k in ("gradient", "value") for o in (1, 2) for s in (REVERSE, FORWARD)
    }  # fmt: skip
    assert len(keys) == 8


def test_the_same_complaint_in_another_scenario_is_the_same_bug():
    errors = [verdict(oracle="status", kind="status", symptom="no such size", order=s.order, scenarios=[s]) for s in (REVERSE, FORWARD)]
    assert len(set(map(mark, errors))) == 1
    assert len({mark(verdict(scenarios=[s])) for s in (REVERSE, FORWARD)}) == 2


def test_what_is_confirmed_is_what_was_suspected():
    """One definition: a verdict that shrinking keeps has the very key that the suspicion was filed under."""
    suspected, other = verdict(scenarios=[REVERSE, FORWARD]), verdict(scenarios=[FORWARD])
    assert mark(suspected) == mark(verdict(scenarios=[REVERSE])) != mark(other)
    assert finding_key("a", "", suspected) != finding_key("a", "", other)


def test_an_error_that_names_its_operator_is_one_bug_for_all_who_call_it():
    refusals = TorchRefusals(homes()["torch"].data("refusals"))
    named = refusals.classify(RuntimeError("one of the variables has been modified by an inplace operation: output 0 of TanhBackward0"))
    assert named.kind == "overwritten" and named.names_fault
    assert not refusals.classify(RuntimeError("a leaf Variable that requires grad is being used")).names_fault


def test_ids_are_readable():
    assert finding_id("torch.nn.functional.kl_div", "k").startswith("kl_div-")


def test_what_is_known_of_libraries_is_labelled():
    assert {target for target in known_targets() if labels(target)} >= {"torch", "jax", "tensorflow"}


FIELDS = {
    "label", "names", "kinds", "orders", "scenarios", "mode", "again", "types", "given", "off", "word", "message", "outside", "releases",
    "fixed", "quote", "quoted", "said", "reason", "link",
}  # fmt: skip


@pytest.mark.parametrize("target", known_targets())
def test_every_label_has_a_reason_and_says_where_to_read_more(target):
    for row in labels(target):
        assert row["label"] in ("known", "by-design") and len(row["reason"]) > 20, row
        assert row["link"].startswith("https://"), row
        assert set(row) <= FIELDS, row
        assert set(row.get("outside", {})) <= CONDITIONS, row
        assert all(kind in KINDS for kind in row.get("kinds", ())), row
        for name in row.get("scenarios", ()):
            Scenario.named(name)


@pytest.mark.parametrize("target", known_targets())
def test_every_label_is_given_to_what_it_describes_and_to_nothing_else(target):
    for row in labels(target):
        name = row["names"][0].replace("*", "x")
        fitting = verdict(
            kind=row.get("kinds", ["gradient"])[0], order=row.get("orders", [1])[0], reason=row.get("message", ""),
            scenarios=[Scenario.named(n) for n in row.get("scenarios", _scenarios(row))],
        )  # fmt: skip
        given = label_for(target, name, "", fitting)
        assert given is not None, row  # an earlier row may fit as well
        assert label_for(target, "", name, fitting) is not None, row
        assert "*" in row["names"] or not _fits_alone(row, "nobody.calls.this", fitting)
        if "kinds" in row:
            assert not _fits_alone(row, name, replace(fitting, kind="no such kind"))
        if "orders" in row:
            assert not _fits_alone(row, name, replace(fitting, order=9))
        if "message" in row:
            assert not _fits_alone(row, name, replace(fitting, reason="something else"))
        if "scenarios" in row:
            assert not _fits_alone(row, name, replace(fitting, scenarios=[Scenario(("f", "f", "f", "f"))]))


def _scenarios(row):
    return ["reverse-over-forward"] if row.get("again") == "f" else ["forward"] if row.get("mode") == "f" else ["reverse"]


def _fits_alone(row, name, found):
    from gradfuzz.findings.labels import _fits

    return _fits(row, name, "", found)


def test_a_function_is_most_likely_wrong_for_one_reason_under_all_its_names():
    function = homes()["jax"].function

    def cause(api):
        return probable_cause(finding_key(api, "", verdict()), function)

    assert cause("jax.lax.tanh") == cause("jax.numpy.tanh") == cause("jax.lax.tanh_p.bind") != cause("jax.numpy.sinh")
    assert cause("jax.scipy.stats.beta.pdf") != cause("jax.scipy.stats.norm.pdf")


def test_other_orders_and_nestings_of_the_same_modes_have_one_probable_cause():
    def cause(**more):
        return probable_cause(finding_key("torch.add", "AddBackward0", verdict(**more)))

    first, second = cause(), cause(order=2, scenarios=[Scenario(("r", "r"))])
    assert first[0] == second[0] and (first[1], second[1]) == (1, 2)
    assert cause(order=2, scenarios=[Scenario(("r", "f"))])[0] == cause(order=2, scenarios=[Scenario(("f", "r"))])[0] != first[0]
    others = {cause(kind="nonfinite")[0], cause(scenarios=[FORWARD])[0], cause(scenarios=[REVERSE.in_way("batched")])[0]}
    assert len(others | {first[0]}) == 4


def test_errors_and_deaths_are_merged_by_their_keys_alone():
    assert probable_cause(finding_key("torch.add", "", verdict(oracle="status", kind="status", symptom="no such size"))) is None
    assert probable_cause("torch.add|SIGSEGV") is None
    assert probable_cause("a|gradient|one|reverse|") is None and probable_cause("a|gradient|1|sideways|") is None


SCATTER = (
    'x = tensor((3, 1), "float64", full(1.0))\ni = tensor((2, 1), "int64", listed([{}]), grad=False)\n'
    'b = tensor((2, 1), "float64", full(1.0))\ny = torch.scatter(x, 0, i, b)\n'
)
BOUNDS = (
    'x = tensor((2,), "float64", full(0.5))\na = tensor((2,), "float64", listed([{}]))\n'
    'b = tensor((2,), "float64", listed([1.0, 3.0]))\ny = jax.scipy.stats.truncnorm.sf(x, a, b)\n'
)
LU = 'x = tensor((2, 3), "float64", listed([{}]))\ny = jax.scipy.linalg.lu(x)\n'
ODE = (
    'x = tensor((), "float64", full(2.0))\nt = tensor((3,), "float64", listed([{}]))\n'
    "y = jax.experimental.ode.odeint(jax.numpy.add, x, t)\n"
)
TRUNCATED = (
    'm = tensor((), "float64", full(1.0){})\nb = tensor((), "float64", full(2.0){})\n'
    "y = tf.random.stateless_parameterized_truncated_normal(shape=[2], seed=[3, 5], means=m, maxvals=b)\n"
)
DOMAINS = [
    ("tensorflow", "tf.random.stateless_parameterized_truncated_normal",
     TRUNCATED.format("", ""), TRUNCATED.format(", grad=False", ""), "gradient"),
    ("jax", "jax.experimental.ode.odeint", ODE.format("0.1, 0.5, 0.9"), ODE.format("0.3, 0.8, 0.3"), "accuracy"),
    ("jax", "jax.scipy.stats.truncnorm.sf", BOUNDS.format("0.0, 2.0"),
     BOUNDS.format("2.0, 0.0"), "nonfinite"),
    ("jax", "jax.scipy.linalg.lu", LU.format("1.0, 2.0, 2.0, 2.0, 4.0, 5.0"), LU.format("1.0, 2.0, 3.0, 2.0, 4.0, 6.0"), "nonfinite"),
    ("tensorflow", "tf.image.rgb_to_hsv", "x = tensor((3,), \"float64\", listed([0.5, 0.0, 1.0]))\ny = tf.image.rgb_to_hsv(x)\n",
     "x = tensor((3,), \"float64\", listed([0.5, 0.0, 1.5]))\ny = tf.image.rgb_to_hsv(x)\n", "gradient"),
    ("jax", "jax.lax.igamma", "a = tensor((), \"float64\", full(0.5))\nx = tensor((), \"float64\", full(0.0))\ny = jax.lax.igamma(a, x)\n",
     "a = tensor((), \"float64\", full(0.0))\nx = tensor((), \"float64\", full(0.5))\ny = jax.lax.igamma(a, x)\n", "nonfinite"),
    ("jax", "jax.lax.clamp", "x = tensor((), \"float64\", full(0.5))\ny = jax.lax.clamp(0.0, x, 1.0)\n",
     "x = tensor((), \"float64\", full(0.5))\ny = jax.lax.clamp(2.0, x, 1.0)\n", "gradient"),
    ("torch", "torch.scatter", SCATTER.format("0, 2"), SCATTER.format("2, 2"), "gradient"),
]  # fmt: skip


def test_scores_beside_which_the_logarithm_of_their_sum_is_lost_are_known():
    api = "torch.nn.functional.scaled_dot_product_attention"
    text = 'q = tensor((1, 1, 1, 4), "float64", full({}))\nv = tensor((1, 1, 1, 4), "float64", full(2.0))\ny = {}(q, v, v)\n'
    programs = [parse(text.format(size, api), language_for("torch")) for size in (2.0, 1e20)]
    given = [label_for("torch", api, "", verdict(kind="gradient"), program) for program in programs]
    assert given[0] is None and given[1] is not None and given[1].label == "known"


@pytest.mark.parametrize("target, api, inside, beyond, kind", DOMAINS, ids=[row[1] for row in DOMAINS])
def test_a_label_about_a_domain_is_given_outside_it_and_not_at_its_edge(target, api, inside, beyond, kind):
    programs = [parse(text, language_for(target)) for text in (inside, beyond)]
    given = [label_for(target, api, "", verdict(kind=kind), program) for program in programs]
    assert given[0] is None and given[1] is not None and given[1].label == "by-design"
