"""Who calls whom is evidence: what others call, and show the same as, is the bug; so is a helper that hardly anybody else calls."""

import json
from pathlib import Path

import pytest

from gradfuzz.bugs.bug import bugs_of
from gradfuzz.bugs.severity import FIRST, severity
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.labels import Label
from tests.bugs.made import made

CAMPAIGN = Path(__file__).with_name("jax_campaign.json")
KNOWN = Label("known", "one", "https://a")
RAISES = {"kind": "status", "symptom": "Error division by zero", "rules": ("fft", "mul")}


def calling(name, *functions, kind="gradient", callers=2, **more):
    """A finding of a function that passes through others, each of which so many public functions lead to."""
    return made(f"torch.{name}", kind, calls=((f"lib.{name}", 1), *((f"lib.{function}", callers) for function in functions)), **more)


def ruled(name, helper, rules=3, **more):
    """A finding of a rule that calls a helper, which so many rules call."""
    return made(f"torch.{name}", rule=f"{name.capitalize()}Backward0", helpers=((f"lib.{helper}", rules),), **more)


def looping(function, **more):
    """A finding of a loop that was given a function to do."""
    text = f'x = tensor((2,), "float64", listed([0.5, 2.0]))\ny = jax.lax.scan(jax.numpy.{function}, x, x)\n'
    passed = (("lib.scan", 40), (f"lib.{function}", 3))
    return made("jax.lax.scan", target="jax", text=text, calls=passed, rules=("scan", "mul"), **more)


def composite(name, *functions, **more):
    """A finding of a function of the same library that passes through others."""
    text = f'x = tensor((2,), "float64", listed([0.5, 2.0]))\ny = jax.numpy.{name}(x)\n'
    passed = ((f"lib.{name}", 1), *((f"lib.{function}", 40) for function in functions))
    return made(f"jax.numpy.{name}", target="jax", text=text, calls=passed, rules=("mul", *functions), **more)


def hanging(name, *rules):
    """A finding of a sampler that does not come back, whose seed leads to these operators."""
    text = f'x = tensor((2,), "float64", listed([0.5, 2.0]))\ny = jax.random.{name}(jax.random.PRNGKey(0), x)\n'
    return made(f"jax.random.{name}", "timeout", target="jax", text=text, oracle="process", rules=("add", *rules))


ONE = [
    ("a function, and a loop that was given it", [composite("hypot"), looping("hypot")]),
    ("a loop that was given one function, at two orders", [looping("hypot"), looping("hypot", scenarios=["reverse-over-reverse"])]),
    ("a function and what calls it", [calling("unique"), calling("union", "unique", callers=30)]),
    ("what calls what calls it", [calling("sf", "cdf", "ndtr"), calling("cdf", "ndtr"), calling("ndtr")]),
    ("one function by two names", [
        made("torch.tanh", calls=(("lib.tanh", 3),)), made("torch.nn.hyperbolic", calls=(("lib.tanh", 3),)),
    ]),
    ("a helper that hardly anybody else calls", [calling("binom", "xlog1py"), calling("bernoulli", "xlog1py"), calling("geom", "xlog1py")]),
    ("rules that share a helper which hardly any other rule calls", [ruled("eig", "safe_reciprocal"), ruled("svd", "safe_reciprocal")]),
    ("one message from functions that share a helper, which others call as well", [
        calling("irfft", "core", callers=25, **RAISES), calling("hfft", "core", callers=25, **RAISES),
    ]),
    ("a function that is known to be wrong, and what calls it", [calling("silu", label=KNOWN), calling("swish", "silu")]),
    ("a function that is known to be wrong at ordinary numbers, and is inexact at others", [
        calling("silu", label=KNOWN, ordinary=True), calling("silu", kind="accuracy", ordinary=False),
    ]),
    ("a function that is known to be wrong, and its operator", [
        made("torch.tanh", "tail", label=KNOWN), made("torch.ops.aten.tanh.default", "tail"),
    ]),
    ("a sampler that hangs, of which an operator is all there is, and one that calls that operator", [
        hanging("gamma", "mul"), hanging("chisquare", "mul", "random_gamma"),
    ]),
    ("one message from a function and what calls it", [calling("qdwh", **RAISES), calling("polar", "qdwh", **RAISES)]),
]  # fmt: skip

TWO = [
    ("a function that does so by design, and what calls it", [
        calling("silu", label=Label("by-design", "one", "https://a")), calling("swish", "silu"),
    ]),
    ("a function that is known to be wrong, and what calls it and overflows", [
        calling("silu", label=KNOWN), calling("swish", "silu", kind="nonfinite"),
    ]),
    ("loops that were given two functions", [looping("hypot"), looping("divmod", kind="accuracy")]),
    ("a loop that was given one function, and what loops over something else", [looping("divmod"), composite("dawsn", "scan")]),
    ("what loops, each over something of its own", [composite("dawsn", "scan"), composite("spence", "scan")]),
    ("functions that share machinery", [calling("binom", "promote", callers=20), calling("bernoulli", "promote", callers=20)]),
    ("a helper that most of the findings that use it show something else with", [
        calling("binom", "mul"), calling("norm", "mul", kind="nonfinite"), calling("sinc", "mul", scenarios=["forward"]),
        calling("sinh", "mul", kind="value"), calling("beta", "mul"),
    ]),
    ("wrong functions, and what calls both", [calling("sin"), calling("cos"), calling("tan", "sin", "cos")]),
    ("wrong functions, each with what calls it, which share a helper", [
        calling("sin"), calling("sinh", "sin", "helper"), calling("cos"), calling("cosh", "cos", "helper"),
    ]),
    ("a caller that shows something else", [calling("unique"), calling("union", "unique", kind="nonfinite")]),
    ("a caller in another mode", [calling("unique"), calling("union", "unique", scenarios=["forward"])]),
    ("a caller in more modes than what it calls", [
        calling("power", scenarios=["forward"]), calling("polyfit", "power", scenarios=["reverse", "forward"]),
    ]),
    ("rules that share what many rules call", [ruled("eig", "broadcast", 20), ruled("svd", "broadcast", 20)]),
    ("rules that share a helper and show other things", [
        ruled("eig", "safe_reciprocal"), ruled("svd", "safe_reciprocal", kind="nonfinite"),
    ]),
    ("rules with helpers of their own", [ruled("eig", "safe_reciprocal"), ruled("svd", "adjoint")]),
    ("rules of their own", [
        calling("sin", "helper", rule="SinBackward0"), calling("cos", "helper", rule="CosBackward0"),
    ]),
    ("labels of their own", [
        calling("sin", "helper", label=Label("known", "one", "https://a")), calling("cos", "helper", label=Label("known", "two", "https://b")),
    ]),
    ("messages of their own", [calling("irfft", "core", **RAISES), calling("hfft", "core", **{**RAISES, "symptom": "Error index out"})]),
    ("a function that is wrong at ordinary numbers, and one in a region", [
        calling("expm1", ordinary=False), calling("boxcox", "expm1"),
    ]),
    ("a function that is known to be wrong in a region, and at ordinary numbers", [
        calling("silu", label=KNOWN, ordinary=False), calling("silu", kind="accuracy", ordinary=True),
    ]),
    ("an operator that is wrong at ordinary numbers, and what calls it and is right there", [
        made("torch.sin", rule="SinBackward0", ordinary=True), made("torch.foo", rules=("SinBackward0",), ordinary=False),
    ]),
    ("nothing known of either", [made("torch.sin"), made("torch.cos")]),
]  # fmt: skip


@pytest.mark.parametrize("findings", [c[1] for c in ONE], ids=[c[0] for c in ONE])
def test_one_cause_is_one_bug(findings):
    assert len(bugs_of(findings)) == 1
    assert len(bugs_of(findings[::-1])) == 1


@pytest.mark.parametrize("findings", [c[1] for c in TWO], ids=[c[0] for c in TWO])
def test_two_causes_are_two(findings):
    assert len(bugs_of(findings)) > 1
    assert len(bugs_of(findings[::-1])) > 1


def test_one_message_through_a_helper_is_one_bug_whatever_others_show_through_it():
    raising = [calling(name, "xlogy", callers=25, **RAISES) for name in ("ppf", "logpdf")]
    others = [calling(name, "xlogy", kind="nonfinite", callers=25) for name in ("sin", "cos", "tan")]
    assert len(bugs_of([*raising, *others])) == 1 + len(others)


def test_what_calls_a_function_that_raises_and_raises_itself_is_one_bug_whatever_each_says():
    raising = [calling("xlogy", **RAISES), calling("ppf", "xlogy", callers=25, **{**RAISES, "symptom": "Error no such type"})]
    assert len(bugs_of(raising)) == 1
    elsewhere = calling("ppf", "xlogy", callers=25, **{**RAISES, "symptom": "Error no such type", "scenarios": ["forward"]})
    assert len(bugs_of([raising[0], elsewhere])) == 2
    assert len(bugs_of([raising[0], calling("ppf", "exp", **{**RAISES, "symptom": "Error no such type"})])) == 2


def test_what_is_by_design_of_a_function_says_nothing_of_its_helper():
    label = Label("by-design", "There is no such number.", "https://a")
    wrong = [calling(name, "igamma", callers=5, kind="nonfinite") for name in ("cdf", "sf")]
    others = [calling(name, "igamma", callers=5, kind="nonfinite", label=label, scenarios=["forward"]) for name in ("sin", "cos", "tan")]
    assert len(bugs_of([*wrong, *others])) - len(bugs_of(others)) == 1


def test_two_wrong_functions_stay_two_however_many_call_them():
    found = bugs_of(
        [calling("sin"), calling("cos"), *(calling(f"f{n}", "sin") for n in range(5)), *(calling(f"g{n}", "cos") for n in range(5))]
    )
    assert sorted(len(bug.findings) for bug in found) == [6, 6]


def test_the_function_that_others_call_stands_for_the_bug():
    """However often the others were met: they are consequences."""
    (bug,) = bugs_of([calling("union", "unique", times=9), calling("values", "unique", "union"), calling("unique")])
    assert bug.leading.api == "torch.unique" and bug.id.startswith("bug-unique-")


def test_those_that_call_an_operator_and_show_something_else_speak_for_it():
    operator, caller = made("torch.sin", rule="SinBackward0"), made("torch.foo", rules=("SinBackward0", "MulBackward0"))
    others = [made(f"torch.{name}", "nonfinite", rules=("SinBackward0", "MulBackward0")) for name in ("bar", "baz", "qux")]
    together = [{f.api for f in bug.findings} for bug in bugs_of([operator, caller, *others])]
    assert {operator.api, caller.api} not in together and len(bugs_of([operator, caller])) == 1


def test_a_public_name_stands_for_the_bug_before_an_internal_one():
    internal = made("torch.ops.aten.sin.default", "value", ["inductor direct"], rule="SinBackward0", ordinary=True)
    public = made("torch.sin", "value", ["inductor reverse"], rule="SinBackward0", ordinary=True)
    assert [severity(f).grade for f in (internal, public)] == [FIRST, FIRST]
    (bug,) = bugs_of([internal, public])
    assert bug.leading.api == "torch.sin"


def test_what_a_loop_was_given_stands_for_the_bug():
    (bug,) = bugs_of([looping("hypot", times=9), composite("hypot")])
    assert bug.leading.api == "jax.numpy.hypot" and bug.id.startswith("bug-hypot-")


def test_calls_are_kept_and_a_store_without_them_is_read():
    finding = calling("union", "unique")
    stored = json.loads(json.dumps(finding.to_json()))
    assert Finding.from_json(stored).calls == (("lib.union", 1), ("lib.unique", 2))
    del stored["calls"]
    assert Finding.from_json(stored).calls == ()


def test_a_campaign_on_jax():
    """Findings of a campaign, as they were stored; each line of functions has one cause, found by reading their text."""
    bugs = bugs_of([Finding.from_json(data) for data in json.loads(CAMPAIGN.read_text(encoding="utf-8"))])
    together = [sorted({api.split("jax.", 1)[1] for api in bug.apis}) for bug in bugs]
    for cause in [
        ["numpy.setdiff1d", "numpy.setxor1d", "numpy.union1d", "numpy.unique", "numpy.unique_all",
         "numpy.unique_inverse", "numpy.unique_values"],
        ["scipy.special.beta", "scipy.special.betaln"],
        ["scipy.stats.gamma.logsf", "scipy.stats.gamma.sf"],
        ["scipy.stats.bernoulli.logpmf", "scipy.stats.bernoulli.pmf", "scipy.stats.binom.logpmf", "scipy.stats.binom.pmf"],
        ["lax.linalg.qdwh", "numpy.piecewise", "scipy.linalg.polar", "scipy.sparse.linalg.gmres", "scipy.special.bessel_jn",
         "scipy.special.hyp1f1", "scipy.special.hyp2f1"],
        ["lax.tanh", "nn.tanh", "numpy.tanh"],
        ["scipy.special.log_ndtr", "scipy.stats.norm.logcdf", "scipy.stats.norm.logsf"],
        ["scipy.special.expit", "scipy.stats.logistic.cdf", "scipy.stats.logistic.sf"],
        ["numpy.fft.hfft", "numpy.fft.irfft", "numpy.fft.irfft2"],
        ["lax.select_n"], ["lax.clamp"], ["lax.pad"], ["lax.sign"], ["nn.soft_sign"],
        ["scipy.stats.gumbel_l.ppf"], ["scipy.stats.gumbel_r.ppf"], ["scipy.stats.gumbel_l.sf"], ["scipy.stats.gumbel_l.cdf"],
    ]:  # fmt: skip
        assert cause in together
