"""Labels are true: given by mechanism and release, to what they mean, and where the library says what they quote."""

from dataclasses import replace

import pytest

from gradfuzz.bugs.bug import bugs_of
from gradfuzz.findings import labels as module
from gradfuzz.findings.inside.documented import documented, undocumented
from gradfuzz.findings.labels import label_for, labels
from gradfuzz.oracles.verdict import Verdict
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.targets.homes import language_for
from tests.bugs.made import made

ROW = {"label": "known", "names": ["torch.sin"], "reason": "It is wrong for some reason or other.", "link": "https://a"}


@pytest.fixture
def rows(monkeypatch):
    """Rows in the place of the target's own."""

    def put(*chosen):
        monkeypatch.setattr(module, "labels", lambda _: list(chosen))

    return put


def given(finding, version="2.0.0", said=None):
    label = label_for("torch", finding.api, finding.rule, finding.verdict, finding.program, version, said)
    return label.label if label else "new"


def test_what_is_said_to_be_mended_and_shows_is_a_regression_and_comes_first(rows):
    rows({**ROW, "fixed": "2.1.0"})
    seen = made()
    assert [given(seen, version) for version in ("2.0.1", "2.1.0", "2.10.0+cpu")] == ["known", "regression", "regression"]
    again = replace(seen, version="2.1.0").relabelled()
    other = made("torch.cos", times=1000)
    bugs = bugs_of([other, again])
    assert bugs[0].leading is not other and bugs[0].severity.grade.name == "regression" and bugs[0].label_name == "regression"


def test_what_leaves_the_range_of_single_precision_is_not_by_design_since_singular_values_may_be_equal():
    text = 'x = tensor((2, 2), "{}", full(1.0))\ny = torch.linalg.svdvals(x)\n'
    seen = [
        given(made("torch.linalg.svdvals", "nonfinite", ("reverse-over-reverse",), "LinalgSvdBackward0", text.format(t)), "2.13.0")
        for t in ("float64", "float32")
    ]
    assert seen == ["by-design", "new"]


def test_a_label_holds_for_its_releases_modes_types_and_arguments(rows):
    rows({**ROW, "releases": "1.12..2.1"})
    assert [given(made(), version) for version in ("1.11.0", "1.12.0", "2.1.0", "2.2.0")] == ["new", "known", "known", "new"]
    rows({**ROW, "again": "f"})
    assert given(made(scenarios=["reverse-over-forward", "forward-over-forward"])) == "known"
    assert given(made(scenarios=["reverse-over-forward-over-reverse"])) == "known"
    assert given(made(scenarios=["forward", "reverse"])) == given(made(scenarios=["forward-over-reverse"])) == "new"
    rows({**ROW, "mode": "f"})
    assert given(made(scenarios=["forward"])) == given(made(scenarios=["forward-over-reverse", "reverse-over-forward"])) == "known"
    assert given(made(scenarios=["forward", "reverse"])) == given(made(scenarios=["reverse-over-reverse"])) == "new"
    rows({**ROW, "word": "prod"})
    words = [given(made(text=f'x = tensor((2,), "float64", full(1.0))\ny = torch.sin(x, "{word}")\n')) for word in ("prod", "sum")]
    assert words == ["known", "new"]
    rows({**ROW, "types": ["complex128"]})
    text = 'x = tensor((2,), "complex128", full(1.0))\ny = torch.sin(x)\n'
    assert given(made()) == "new" and given(made(text=text)) == "known"
    rows({**ROW, "given": "padding_idx"})
    assert given(made()) == "new"
    assert given(made(text='x = tensor((2,), "float64", full(1.0))\ny = torch.sin(x, padding_idx=0)\n')) == "known"


def test_what_is_called_documented_is_said_by_the_release_under_test(rows):
    rows({**ROW, "label": "by-design", "quote": "the gradient is undefined"})
    assert given(made(), said=["torch.sin: Here the gradient is undefined."]) == "by-design"
    assert given(made(), said=["torch.sin: The gradient is fine."]) == given(made(), said=[]) == "new"


def test_words_of_the_page_behind_the_link_are_told_where_no_docstring_has_any(rows):
    rows({**ROW, "label": "by-design", "said": "it is meant to be so"})
    label = label_for("torch", "torch.sin", "", made().verdict, made().program, "2.0.0", [])
    assert label is not None and label.quote == "it is meant to be so"


@pytest.mark.parametrize("api, number, kind", [
    ("torch.cumprod", 0.0, "gradient"), ("torch.linalg.vander", 0.0, "nonfinite"),
    ("torch.pow", 0.0, "nonfinite"), ("torch.pow", -1.0, "nonfinite"),
])  # fmt: skip
def test_a_label_for_numbers_that_are_zero_is_not_given_to_small_ones(api, number, kind):
    known = [
        label_for("torch", api, "", made(api, kind, ["forward-over-reverse"]).verdict, parse(text, language_for("torch")), "2.13.0")
        is not None
        for text in (f'x = tensor((2,), "float64", full({n}))\ny = {api}(x, 1)\n' for n in (number, 2.2e-16))
    ]
    assert known == [True, False]


@pytest.mark.parametrize(
    "alpha, dtype, known", [(", alpha=2.0", "float32", True), ("", "float32", False), (", alpha=2.0", "float64", False)]
)
def test_what_refuses_a_tangent_of_another_type_is_known_where_a_factor_made_it(alpha, dtype, known):
    text = f'x = tensor((2, 2), "{dtype}", full(1.0))\ny = torch.Tensor.add(x, 1{alpha})\nz = torch.cholesky_inverse(y)\n'
    verdict = replace(made(kind="status", scenarios=["forward"]).verdict, reason="expected m1 and m2 to have the same dtype")
    label = label_for("torch", "torch.cholesky_inverse", "", verdict, parse(text, language_for("torch")), "2.13.0")
    assert (label is not None and label.link.endswith("90065")) == known


def test_the_docstrings_of_siblings_are_read(torch_target):
    said = documented(torch_target, "torch.nn.functional.lp_pool2d")
    assert any("torch.nn.LPPool2d" in sentence and "gradient" in sentence for sentence in said)
    assert any("torch.Tensor.scatter_" in sentence and "not unique" in sentence for sentence in documented(torch_target, "torch.scatter"))
    assert documented(torch_target, "torch.no_such_function") == [] == documented(torch_target, "torch.linalg.pinv")


def hidden(target, api, call):
    return undocumented(target, api, parse(f'x = tensor((2, 2), "float64", full(1.0))\ny = {call}\n', language_for("torch")))


def test_what_a_signature_shows_or_a_form_of_it_describes_is_documented(torch_target):
    assert hidden(torch_target, "torch.nn.functional.instance_norm", "torch.nn.functional.instance_norm(x, bias=x)") == []
    assert hidden(torch_target, "torch.sinc_", "torch.sinc_(x)") == hidden(torch_target, "torch.Tensor.sinc_", "x.sinc_()") == []
    assert hidden(torch_target, "torch.native_norm", "torch.native_norm(x)") == ["native_norm"]
    assert hidden(torch_target, "torch.nn.functional.elu_", "torch.nn.functional.elu_(x, scale=2.0)") == ["scale"]


def test_what_the_class_says_that_a_class_is_made_from_is_documented(torch_target, monkeypatch):
    class Made(torch_target.compiler.resolve("torch.nn.Linear")):
        """A layer of our own, which says nothing of options."""

        def __init__(self, *given, **options):
            super().__init__(*given, **options)

    monkeypatch.setattr("torch.nn.Made", Made, raising=False)
    assert hidden(torch_target, "torch.nn.Made", "torch.nn.Made(2, 2, bias=True)") == []
    assert hidden(torch_target, "torch.nn.Made", "torch.nn.Made(2, 2, no_such_option=True)") == ["no_such_option"]


def test_a_word_that_no_docstring_lists_is_not_documented(torch_target):
    call = 'torch.Tensor.scatter_reduce(x, 0, x, x, "{}")'
    assert [hidden(torch_target, "torch.Tensor.scatter_reduce", call.format(word)) for word in ("max", "amax")] == [["max"], []]
    assert hidden(torch_target, "torch.einsum", 'torch.einsum("abc->cab", x)') == []


def test_every_quote_of_a_label_stands_in_the_docstring_that_it_names(torch_target):
    for row in labels("torch"):
        if "quote" in row:
            api = row["names"][0].replace("*", "x")
            assert any(row["quote"] in sentence for sentence in documented(torch_target, api)), row


MATRIX = 'x = tensor((2, 3), "float64", {})\ny = {}\n'
CTC = """x = tensor((3, 1, {classes}), "float64", full(-1.0))
a = tensor((1, 2), "int64", listed([{labels}]), grad=False)
y = torch.nn.functional.ctc_loss(x, a, [3], [2], blank={blank})
"""
CLAMP = 'x = tensor((), "float64", full(2.0), grad=False)\na = tensor((), "float64", full(6.0))\ny = torch.clamp(x, {low}, a)\n'
OVER = """x = tensor((3, 2, 4), "float64", full(-1.0))
a = tensor((2, 2), "int64", full(1), grad=False)
y0 = torch.Tensor.log_softmax(x, {over})
y1 = torch.nn.functional.ctc_loss(y0, a, [3, 3], [2, 2])
"""
MODULE = """x = tensor((3, 1, 6), "float64", full(-1.0))
a = tensor((1, 2), "int64", listed([{labels}]), grad=False)
m = torch.nn.CTCLoss()
y = m(x, a, [3], [2])
"""
UNARY = 'x = tensor((2,), "float64", full({1}))\nm = torch.nn.{0}()\ny = m(x)\n'
X_LOG = 'x = tensor((2,), "float64", full({2}))\ny = {0}({1}, x)\n'
SCATTER = """x = tensor((3,), "float64", full(2.0))
a = tensor((2,), "int64", listed([{1}]), grad=False)
b = tensor((2,), "float64", arange(1.0, 1.0))
y = torch.Tensor.{0}(x, 0, a, b{2})
"""
UNPOOL = """x = tensor((1, 4), "float64", listed([38.0, -41.0, 23.0, -90.0]))
p = torch.nn.MaxPool1d(2, stride={}, return_indices=True)
m = torch.nn.MaxUnpool1d(2)
o, i = p(x)
y = m(o, i)
"""
CHOLESKY = "torch.linalg.cholesky_ex(x)"
SQUARE = 'x = tensor((2, 2), "float64", listed([{}]))\ny = {}\n'
REFLECTOR = """x = tensor((2, 1), "float64", listed([0.5, 2.0]))
t = tensor((1,), "float64", full({}))
y = torch.linalg.householder_product(x, t)
"""
FACTOR = 'x = tensor((2, 2), "complex128", listed([{first}, 0.5, complex(0.5, 2.0), 2.0]))\ny = torch.cholesky_inverse(x)\n'
MAX_NORM = 'i = tensor((2,), "int64", full(1), grad=False)\nm = torch.nn.EmbeddingBag(4, 3{more})\ny = m(i, i)\n'
LU = """x = tensor((2, 2), "float64", full(1.0))
a = tensor((2,), "int32", full(1), grad=False)
y = torch.lu_unpack(x, a, unpack_data={data})
"""
BAG = """x = tensor((1, 1), "float64", full(2.0))
i = tensor((1,), "int64", full(0), grad=False)
o = tensor(({bags},), "int64", full(0), grad=False)
y = torch.nn.functional.embedding_bag(i, x, offsets=o)
"""
BAGS = BAG.replace("y = torch.nn.functional.embedding_bag(i, x, offsets=o)", "m = torch.nn.EmbeddingBag(4, 3)\ny = m(i, o)")
PAIR = 'x = tensor((2,), "{one}", listed([2.0, 3.0]))\na = tensor((2,), "float64", listed([{numbers}]))\ny = {call}\n'
MASKED = """x = tensor((1, 2, 4), "float64", full(2.0))
b = tensor((2, 2), "bool", listed([1, {last}, 0, 0]), grad=False)
m = torch.nn.TransformerDecoderLayer(4, 2)
y = m(x, x, tgt_mask=b)
"""


@pytest.mark.parametrize("api, kind, text, link", [
    ("torch.nn.functional.embedding_bag", "crash", BAG.format(bags=0), "175370"),
    ("torch.nn.functional.embedding_bag", "crash", BAG.format(bags=1), ""),
    ("torch.nn.EmbeddingBag", "crash", BAGS.format(bags=0), "175370"), ("torch.nn.EmbeddingBag", "crash", BAGS.format(bags=1), ""),
    ("torch.nn.TransformerDecoderLayer", "value", MASKED.format(last=1), "190486"),
    ("torch.nn.TransformerDecoderLayer", "value", MASKED.format(last=0), ""),
    ("torch.nn.functional.ctc_loss", "crash", CTC.format(classes=2, labels="1, 5", blank=0), "193794"),
    ("torch.nn.functional.ctc_loss", "crash", CTC.format(classes=6, labels="1, 5", blank=0), ""),
    ("torch.nn.functional.ctc_loss", "gradient", CTC.format(classes=2, labels="1, 5", blank=0), "193794"),
    ("torch.nn.functional.ctc_loss", "gradient", CTC.format(classes=6, labels="1, 2", blank=1), "torch.nn.CTCLoss.html"),
    ("torch.nn.functional.ctc_loss", "gradient", CTC.format(classes=6, labels="1, 2", blank=3), "52241"),
    ("torch.linalg.lu_factor", "nonfinite", MATRIX.format("arange(0.0, 1.0)", "torch.linalg.lu_factor(x)"), ""),
    ("torch.linalg.lu_factor", "nonfinite", MATRIX.format("full(1.0)", "torch.linalg.lu_factor(x)"), "torch.linalg.lu_factor.html"),
    ("torch.nn.functional.ctc_loss", "gradient", OVER.format(over="dim=1"), "torch.nn.CTCLoss.html"),
    ("torch.nn.functional.ctc_loss", "gradient", OVER.format(over="1"), "torch.nn.CTCLoss.html"),
    ("torch.nn.functional.ctc_loss", "gradient", OVER.format(over="dim=2"), "52241"),
    ("torch.nn.functional.ctc_loss", "gradient", OVER.format(over="dim=-1"), "52241"),
    ("torch.nn.CTCLoss", "gradient", MODULE.format(labels="0, 2"), "torch.nn.CTCLoss.html"),
    ("torch.nn.CTCLoss", "gradient", MODULE.format(labels="1, 2"), "52241"),
    ("torch.cholesky_inverse", "gradient", FACTOR.format(first="complex(2.0, 2.0)"), "torch.cholesky_inverse.html"),
    ("torch.cholesky_inverse", "gradient", FACTOR.format(first="-2.0"), "torch.cholesky_inverse.html"),
    ("torch.cholesky_inverse", "gradient", FACTOR.format(first="2.0"), ""),
    ("torch.nn.EmbeddingBag", "gradient", MAX_NORM.format(more=", max_norm=1.0"), "torch.nn.Embedding.html"),
    ("torch.nn.EmbeddingBag", "gradient", MAX_NORM.format(more=""), ""),
    ("torch.clamp", "gradient", CLAMP.format(low="a"), "191142"), ("torch.clamp", "gradient", CLAMP.format(low="-1.0"), ""),
    ("torch.nn.EmbeddingBag", "kink", MAX_NORM.format(more=", max_norm=1.0"), "torch.nn.Embedding.html"),
    ("torch.nn.EmbeddingBag", "kink", MAX_NORM.format(more=""), ""),
    ("torch.nn.Sigmoid", "tail", UNARY.format("Sigmoid", 40.0), "195527"), ("torch.nn.Sigmoid", "tail", UNARY.format("Sigmoid", 4.0), ""),
    ("torch.nn.Sigmoid", "tail", UNARY.format("Sigmoid", -40.0), ""), ("torch.nn.Tanh", "tail", UNARY.format("Tanh", -40.0), "195527"),
    ("torch.nn.Tanh", "nonfinite", UNARY.format("Tanh", 40.0), ""), ("torch.nn.SiLU", "tail", UNARY.format("SiLU", 40.0), ""),
    ("torch.xlogy", "nonfinite", X_LOG.format("torch.xlogy", 0.0, 0.0), "82713"),
    ("torch.xlogy", "nonfinite", X_LOG.format("torch.xlogy", 0.0, 2.0), ""),
    ("torch.xlogy", "nonfinite", X_LOG.format("torch.xlogy", 2.0, 0.0), ""),
    ("torch.special.xlog1py", "nonfinite", X_LOG.format("torch.special.xlog1py", 0.0, -1.0), "82713"),
    ("torch.special.xlog1py", "nonfinite", X_LOG.format("torch.special.xlog1py", 0.0, 0.0), ""),
    ("torch.Tensor.scatter", "gradient", SCATTER.format("scatter", "0, 0", ""), "torch.Tensor.scatter_.html"),
    ("torch.Tensor.scatter", "gradient", SCATTER.format("scatter", "0, 1", ""), ""),
    ("torch.Tensor.scatter_reduce", "gradient", SCATTER.format("scatter_reduce", "0, 0", ', "amax", include_self=False'), ""),
    ("torch.nn.MaxUnpool1d", "gradient", UNPOOL.format(1), "torch.nn.MaxUnpool2d.html"),
    ("torch.nn.MaxUnpool1d", "gradient", UNPOOL.format(2), "80204"),
    ("torch.linalg.cholesky_ex", "gradient", SQUARE.format("2.0, 1.0, 1.0, 0.25", CHOLESKY), "torch.linalg.cholesky_ex.html"),
    ("torch.linalg.cholesky_ex", "gradient", SQUARE.format("2.0, 1.0, 1.0, 2.0", CHOLESKY), ""),
    ("torch.linalg.householder_product", "gradient", REFLECTOR.format(0.2), "torch.linalg.householder_product.html"),
    ("torch.linalg.householder_product", "gradient", REFLECTOR.format(0.4), ""),
    ("torch.lu_unpack", "status", LU.format(data=False), "torch.lu_unpack.html"), ("torch.lu_unpack", "status", LU.format(data=True), ""),
])  # fmt: skip
def test_a_label_holds_where_its_inputs_are(api, kind, text, link):
    label = label_for("torch", api, "", made(api, kind).verdict, parse(text, language_for("torch")), "2.13.0")
    assert (label.link if label else "").endswith(link) and bool(label) == bool(link)


@pytest.mark.parametrize("api, kind, modes, one, numbers, link", [
    ("torch.pow", "gradient", "forward-over-reverse", "float64", "0.0, 3.0", "89757"),
    ("torch.pow", "gradient", "forward-over-reverse", "float64", "2.0, 3.0", ""),
    ("torch.pow", "gradient", "forward-over-reverse", "complex128", "2.0, 3.0", "185639"),
    ("torch.pow", "gradient", "reverse-over-reverse", "complex128", "2.0, 3.0", ""),
    ("torch.dist", "nonfinite", "reverse-over-reverse", "float64", "2.0, 3.0", "92075"),
    ("torch.dist", "nonfinite", "reverse-over-reverse", "float64", "2.0, 4.0", ""),
    ("torch.logcumsumexp", "nonfinite", "forward", "complex128", "2.0, 3.0", "196705"),
    ("torch.logcumsumexp", "nonfinite", "reverse", "complex128", "2.0, 3.0", ""),
    ("torch.sparse.mm", "way", "sparse reverse", "float64", "2.0, 3.0", ""),
    ("torch.pow", "gradient", "forward-over-reverse-over-reverse", "float64", "1.0, 3.0", "89757"),
    ("torch.pow", "gradient", "forward-over-reverse", "float64", "1.0, 3.0", ""),
    ("torch.pow", "accuracy", "forward-over-forward-over-reverse", "complex128", "2.0, 3.0", "185639"),
    ("torch.pow", "accuracy", "forward-over-forward-over-reverse", "float64", "2.0, 3.0", ""),
    ("torch.pow", "nonfinite", "reverse-over-reverse", "float64", "2.0, 3.0", ""),
    ("torch.atan2", "accuracy", "reverse", "float32", "2.0, 3.0", "80762"),
    ("torch.atan2", "accuracy", "reverse", "float64", "2.0, 3.0", ""),
    ("torch.logaddexp", "tail", "reverse-over-reverse", "float64", "2.0, 3.0", "196704"),
    ("torch.logaddexp", "tail", "reverse", "float64", "2.0, 3.0", ""),
    ("torch.quantile", "status", "dynamo forward", "float64", "0.2, 0.3", "197090"),
    ("torch.quantile", "status", "forward", "float64", "0.2, 0.3", ""),
    ("torch.quantile", "status", "dynamo reverse", "float64", "0.2, 0.3", ""),
    ("torch.nextafter", "gradient", "reverse", "float64", "2.0, 4.0", "148820"),
    ("torch.nextafter", "gradient", "reverse", "float64", "5.0, 4.0", ""),
])  # fmt: skip
def test_a_label_holds_in_its_modes_and_at_its_numbers(api, kind, modes, one, numbers, link):
    program = parse(PAIR.format(one=one, numbers=numbers, call=f"{api}(x, a)"), language_for("torch"))
    label = label_for("torch", api, "", made(api, kind, [modes]).verdict, program, "2.13.0")
    assert (label.link if label else "").endswith(link) and bool(label) == bool(link)
    methods = parse(PAIR.format(one=one, numbers=numbers, call=f"x.{api.rsplit('.', 1)[-1]}(a)"), language_for("torch"))
    again = label_for("torch", api, "", made(api, kind, [modes]).verdict, methods, "2.13.0")
    assert again == label


@pytest.mark.parametrize("call, said, known", [
    ("torch.sum(x, dtype=torch.complex128)", "Expected isFloatingType(grad.scalar_type())", True),
    ("torch.sum(x, dtype=torch.complex128)", "result type ComplexDouble can't be cast to the desired output type Double", True),
    ("torch.sum(x, dtype=torch.int64)", "Autograd not support dtype: Long", False),
    ("torch.sum(x)", "Expected isFloatingType(grad.scalar_type())", False),
])  # fmt: skip
def test_a_label_is_given_by_what_is_said_and_asked_for(call, said, known):
    program = parse(f'x = tensor((2, 2), "float64", full(1.0))\ny = {call}\n', language_for("torch"))
    verdict = replace(made("torch.sum", "status").verdict, reason=f"RuntimeError: {said}")
    label = label_for("torch", "torch.sum", "SumBackward0", verdict, program, "2.13.0")
    assert (label is not None and label.link.endswith("192719")) == known


@pytest.mark.parametrize("api, kind, scenarios", [
    ("torch.detach", "gradient", ["reverse-over-forward"]), ("torch.linalg.solve_triangular", "gradient", ["reverse-over-forward"]),
    ("torch.linalg.pinv", "gradient", ["reverse"]), ("torch.linalg.lstsq", "gradient", ["reverse"]),
    ("torch.nn.CTCLoss", "crash", ["reverse"]),
    ("torch.cholesky_solve", "gradient", ["reverse", "forward"]), ("torch.logcumsumexp", "nonfinite", ["forward"]),
    ("torch.cholesky_inverse", "gradient", ["reverse", "forward"]), ("torch.slogdet", "gradient", ["reverse", "forward"]),
    ("torch.slogdet", "gradient", ["reverse-over-reverse"]), ("torch.scatter_reduce", "gradient", ["forward"]),
])  # fmt: skip
def test_a_label_is_not_given_to_its_neighbours(api, kind, scenarios):
    program = parse('x = tensor((2, 2), "float64", full(1.0))\ny = torch.sin(x)\n', language_for("torch"))
    finding = made(api, kind, scenarios)
    assert label_for("torch", api, "", finding.verdict, program, "2.13.0") is None


@pytest.mark.parametrize(
    "scenario, reason, number",
    [
        ("solved reverse", "TypeError: Error interpreting argument to custom_linear_solve as a JAX value.", "10929"),
        ("integrated-counting reverse", "ValueError: not a valid dtype", "16517"),
        ("rooted-counting forward", "TypeError: Custom JVP rule must produce primal and tangent outputs", "24295"),
    ],
)
def test_what_solvers_raise_is_known_whichever_function_shows_it(scenario, reason, number):
    verdict = Verdict("disagree", "status", "status", 1, [Scenario.named(scenario)], reason)
    found = label_for("jax", "jax.numpy.modf", "", verdict)
    assert found is not None and found.label == "known" and found.link.endswith(number)
    plain = label_for("jax", "jax.numpy.modf", "", replace(verdict, scenarios=[Scenario.named("reverse")], reason="TypeError"))
    assert plain is None or not plain.link.endswith(number)


@pytest.mark.parametrize("call, number, kind, order, number_of_report", [
    ("jax.numpy.nanstd(x)", 1.0, "nonfinite", 1, "11716"), ("jax.scipy.stats.sem(x)", 1.0, "nonfinite", 1, "11716"),
    ("jax.scipy.stats.expon.cdf(x)", 40.0, "tail", 1, "39794"), ("jax.scipy.special.boxcox1p(x, -3.0)", 1e6, "tail", 1, "39794"),
    ("jax.lax.lgamma(x)", -8.05, "accuracy", 2, "37635"), ("jax.lax.digamma(x)", -417.9, "kink", 1, "37635"),
    ("jax.scipy.stats.norm.cdf(0.5, scale=x)", 0.0, "nonfinite", 1, "20885"),
    ("jax.scipy.stats.norm.cdf(0.5, scale=x)", 0.5, "nonfinite", 1, ""), ("jax.scipy.stats.norm.cdf(x)", 0.0, "nonfinite", 1, ""),
    ("jax.scipy.stats.gamma.logpdf(0.5, x)", -60.0, "gradient", 2, "gamma.html"),
    ("jax.scipy.stats.gamma.logpdf(x, 2.0)", -60.0, "gradient", 2, ""), ("jax.scipy.stats.gamma.logpdf(0.5, x)", 60.0, "gradient", 2, ""),
    ("jax.scipy.stats.bernoulli.logpmf(1, x)", 2.0, "nonfinite", 1, "bernoulli.html"),
    ("jax.scipy.stats.bernoulli.logpmf(1, x)", 1.0, "nonfinite", 1, ""),
    ("jax.scipy.stats.beta.logpdf(0.5, x, x)", 1.5, "gradient", 2, "34353"),
    ("jax.nn.softmax(x)", 40.0, "tail", 1, "40386"), ("jax.nn.softmax(x)", 40.0, "gradient", 1, ""),
    ("jax.nn.log_sigmoid(x)", -40.0, "tail", 2, "40387"), ("jax.nn.log_sigmoid(x)", -40.0, "tail", 1, ""),
    ("jax.scipy.special.betaln(x, x)", 1.0, "gradient", 2, "34353"), ("jax.scipy.special.betaln(x, 3.0)", 1.0, "gradient", 2, ""),
    ("jax.scipy.special.betaln(x, x)", 1.0, "gradient", 1, ""),
    ("jax.scipy.special.logsumexp(2.0, b=x)", 0.0, "gradient", 1, "22398"),
    ("jax.scipy.special.logsumexp(2.0, b=x)", 0.5, "gradient", 1, ""),
    ("jax.scipy.special.logsumexp(x)", 0.0, "gradient", 1, ""),
    ("jax.lax.digamma(x)", 417.9, "tail", 1, ""), ("jax.lax.lgamma(x)", -8.05, "accuracy", 1, ""),
    ("jax.numpy.linalg.eigh(x, symmetrize_input=False)", 1.0, "value", 1, "12795"), ("jax.numpy.linalg.eigh(x)", 1.0, "value", 1, ""),
    ("jax.random.generalized_normal(jax.random.PRNGKey(0), x)", -1.0, "nonfinite", 1, "gamma.html"),
    ("jax.random.generalized_normal(jax.random.PRNGKey(0), x)", 1e4, "nonfinite", 1, ""),
    ("jax.random.generalized_normal(jax.random.PRNGKey(0), x)", 1e4, "gradient", 1, "gamma.html"),
])  # fmt: skip
def test_functions_of_jax_that_a_report_is_about_have_its_label(call, number, kind, order, number_of_report):
    """By what they are made of, where it is at work, and nowhere else."""
    program = parse(f'x = tensor((2,), "float64", full({number}))\ny = {call}\n', language_for("jax"))
    verdict = made(program.api, kind, ["-over-".join(["reverse"] * order)]).verdict
    label = label_for("jax", program.api, "", verdict, program, "0.11.2")
    assert (label is not None and label.link.endswith(number_of_report)) if number_of_report else label is None


HINGE = 'x = tensor((2,), "float64", listed([{}]))\na = tensor((2,), "float64", full(0.5))\nm = tf.keras.losses.Hinge()\ny = m(x, a)\n'
TWO = 'x = tensor((2,), "float64", listed([2.0, {0}]))\na = tensor((2,), "float64", listed([3.0, {1}]))\ny = {2}(x, a)\n'
ONE = 'x = tensor((2,), "float64", listed([2.0, {}]))\ny = {}(x)\n'
STITCH = """i = tensor((2,), "int32", listed([0, 1]), grad=False)
j = tensor((2,), "int32", listed([{}]), grad=False)
x = tensor((2,), "float64", full(1.0))
a = tensor((2,), "float64", full(2.0))
y = tf.raw_ops.ParallelDynamicStitch(indices=[i, j], data=[x, a])
"""
PARALLEL, HYPOT, POWER, LOGADDEXP = (
    "tf.raw_ops.ParallelDynamicStitch",
    "tf.keras.ops.hypot",
    "tf.keras.ops.power",
    "tf.keras.ops.logaddexp2",
)
DIRICHLET = "tf.compat.v1.distributions.Dirichlet"
CONCENTRATED = 'x = tensor((2,), "float64", listed([{}, 2.0]))\nm = tf.compat.v1.distributions.Dirichlet(x)\ny = m.log_prob(x)\n'


@pytest.mark.parametrize("api, kind, modes, text, link", [
    ("tf.math.tanh", "tail", "reverse", ONE.format(-20.0, "tf.math.tanh"), "126524"),
    ("tf.math.tanh", "tail", "reverse", ONE.format(1.0, "tf.math.tanh"), ""),
    ("tf.math.tanh", "nonfinite", "reverse", ONE.format(-20.0, "tf.math.tanh"), ""),
    ("tf.keras.activations.hard_tanh", "tail", "reverse", ONE.format(20.0, "tf.keras.activations.hard_tanh"), ""),
    ("tf.nn.sigmoid", "tail", "reverse", ONE.format(40.0, "tf.nn.sigmoid"), "126631"),
    ("tf.nn.sigmoid", "tail", "reverse", ONE.format(-40.0, "tf.nn.sigmoid"), ""),
    ("tf.keras.ops.log_sigmoid", "tail", "reverse", ONE.format(40.0, "tf.keras.ops.log_sigmoid"), ""),
    ("tf.nn.elu", "tail", "reverse", ONE.format(-40.0, "tf.nn.elu"), "124833"),
    ("tf.nn.elu", "tail", "reverse", ONE.format(40.0, "tf.nn.elu"), ""),
    ("tf.nn.selu", "tail", "reverse", ONE.format(-40.0, "tf.nn.selu"), "124834"),
    ("tf.keras.ops.celu", "tail", "reverse", ONE.format(-40.0, "tf.keras.ops.celu"), ""),
    (HYPOT, "gradient", "reverse", TWO.format(4.0, 4.0, HYPOT), "127230"), (HYPOT, "gradient", "reverse", TWO.format(4.0, 5.0, HYPOT), ""),
    (HYPOT, "gradient", "reverse-over-reverse", TWO.format(0.0, 5.0, HYPOT), "127230"),
    (HYPOT, "gradient", "reverse-over-reverse", TWO.format(4.0, 0.0, HYPOT), "127230"),
    (HYPOT, "gradient", "reverse", TWO.format(0.0, 5.0, HYPOT), ""),
    (LOGADDEXP, "gradient", "reverse", TWO.format(4.0, 4.0, LOGADDEXP), "127232"),
    (LOGADDEXP, "gradient", "reverse", TWO.format(4.0, 5.0, LOGADDEXP), ""),
    (LOGADDEXP, "status", "forward-over-forward", TWO.format(4.0, 4.0, LOGADDEXP), ""),
    (POWER, "nonfinite", "forward", TWO.format(0.0, 0.0, POWER), "127227"),
    (POWER, "nonfinite", "forward", TWO.format(0.0, 0.5, POWER), ""),
    ("tf.math.xdivy", "tail", "reverse", TWO.format(0.0, 5.0, "tf.math.xdivy"), "127294"),
    ("tf.math.xdivy", "tail", "reverse", TWO.format(1.0, 5.0, "tf.math.xdivy"), ""),
    ("tf.math.bessel_i0", "gradient", "reverse-over-reverse", ONE.format(0.0, "tf.math.bessel_i0"), "120578"),
    ("tf.math.bessel_i0", "gradient", "reverse-over-reverse", ONE.format(1.0, "tf.math.bessel_i0"), ""),
    ("tf.math.bessel_i0", "gradient", "reverse", ONE.format(0.0, "tf.math.bessel_i0"), ""),
    ("tf.math.cumulative_logsumexp", "nonfinite", "reverse-over-forward", ONE.format(3.0, "tf.math.cumulative_logsumexp"), "127243"),
    ("tf.math.cumulative_logsumexp", "nonfinite", "reverse-over-reverse", ONE.format(3.0, "tf.math.cumulative_logsumexp"), ""),
    (DIRICHLET, "gradient", "reverse", CONCENTRATED.format(1.0), "119476"),
    (DIRICHLET, "gradient", "reverse", CONCENTRATED.format(3.0), ""),
    (PARALLEL, "gradient", "reverse", STITCH.format("0, 1"), "ParallelDynamicStitch"),
    (PARALLEL, "gradient", "reverse", STITCH.format("2, 3"), ""),
    ("tf.keras.losses.Hinge", "gradient", "reverse", HINGE.format("0.0, 1.0"), "losses/Hinge"),
    ("tf.keras.losses.Hinge", "gradient", "reverse", HINGE.format("-1.0, 1.0"), ""),
    ("tf.keras.losses.Hinge", "status", "forward-over-reverse", HINGE.format("0.0, 1.0"), ""),
])  # fmt: skip
def test_a_label_of_tensorflow_holds_where_its_inputs_are(api, kind, modes, text, link):
    label = label_for("tensorflow", api, "", made(api, kind, [modes]).verdict, parse(text, language_for("tensorflow")), "2.21.0")
    assert (label.link if label else "").endswith(link) and bool(label) == bool(link)


def test_what_is_by_design_in_tensorflow_has_words_of_who_says_so():
    silent = [row["names"] for row in labels("tensorflow") if row["label"] == "by-design" and not {"quote", "said"} & set(row)]
    assert silent == [["tf.raw_ops.FusedBatchNormV3"]]  # what its last output holds is said nowhere
