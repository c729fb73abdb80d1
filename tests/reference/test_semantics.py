"""Every family of functions against the library's own values and derivatives, at random numbers."""

import json

import pytest

from gradfuzz.reference.semantics import __path__ as SEMANTICS
from gradfuzz.reference.semantics import meanings
from gradfuzz.reference.spell import book_of
from gradfuzz.targets.homes import home_of
from tests.reference.asking import ask, scaled, verdicts

GOOD = 9.0  # digits
X = 'x = tensor((2, 3), "float64", {})\n'
ORDINARY, POSITIVE, INSIDE = "normal(seed={seed})", "uniform(0.2, 2.5, seed={seed})", "uniform(-0.8, 0.8, seed={seed})"
A = 'a = tensor((3, 3), "float64", normal(seed={seed}))\n'
IMAGE = 'x = tensor((1, 2, 6, 6), "float64", normal(seed={seed}))\nw = tensor((2, 2, 3, 3), "float64", normal(seed=1{seed}))\n'

FAMILIES = {
    "elementary": (
        *[
            (ORDINARY, f"torch.{f}(x)")
            for f in ("sin", "cos", "exp", "expm1", "sinh", "cosh", "tanh", "atan", "asinh", "sinc", "exp2", "square")
        ],
        *[(POSITIVE, f"torch.{f}(x)") for f in ("log", "log1p", "log2", "sqrt", "rsqrt", "reciprocal")],
        *[(INSIDE, f"torch.{f}(x)") for f in ("asin", "acos", "atanh", "tan")],
        (POSITIVE, "torch.pow(x, x)"),
        (ORDINARY, "torch.pow(x, 3)"),
        (ORDINARY, "torch.atan2(x, x * x - 0.3)"),
        (ORDINARY, "torch.logaddexp(x, 2 * x)"),
    ),
    "special": (
        *[
            (POSITIVE, f"torch.{f}(x)")
            for f in ("lgamma", "erf", "erfc", "i0", "special.i1", "special.i0e", "special.i1e", "special.erfcx")
        ],
        (INSIDE, "torch.erfinv(x)"),
        (POSITIVE, "torch.special.entr(x)"),
        (POSITIVE, "torch.xlogy(x, x)"),
        (ORDINARY, "torch.special.log_ndtr(x)"),
    ),
    "choice": (
        *[
            (ORDINARY, f"torch.{f}")
            for f in ("abs(x)", "clamp(x, -0.5, 0.5)", "maximum(x, 0.3 * x)", "amax(x, 1)", "sort(x, 1)", "median(x)", "frac(x)")
        ],
        (ORDINARY, "torch.where(x > 0.1, x * x, x)"),
        (ORDINARY, "torch.fmod(x, 0.7)"),
        (ORDINARY, "torch.cummax(x, 1)"),
        (ORDINARY, "torch.quantile(x, 0.3)"),
    ),
    "reduction": (
        *[
            (ORDINARY, f"torch.{f}")
            for f in (
                "sum(x, 0)",
                "mean(x)",
                "prod(x, 1)",
                "var(x, 1)",
                "std(x)",
                "logsumexp(x, 1)",
                "norm(x, 3, 1)",
                "cumsum(x, 1)",
                "cumprod(x, 0)",
                "logcumsumexp(x, 1)",
                "diff(x)",
                "trapezoid(x)",
                "cov(x)",
                "cdist(x, 2 * x)",
            )
        ],
    ),
    "products": (
        *[
            (ORDINARY, f"torch.{f}")
            for f in (
                "matmul(x, x.T)",
                'einsum("ij,kj->ik", x, x)',
                "tensordot(x, x, 2)",
                "kron(x, x)",
                "outer(x[0], x[1])",
                "inner(x, x)",
                "cross(x, 2 * x)",
            )
        ],
    ),
    "activations": (
        *[
            (ORDINARY, f"torch.nn.functional.{f}(x)")
            for f in (
                "relu",
                "gelu",
                "silu",
                "mish",
                "elu",
                "selu",
                "celu",
                "softplus",
                "logsigmoid",
                "leaky_relu",
                "softsign",
                "hardswish",
                "softshrink",
            )
        ],
        (ORDINARY, "torch.softmax(x, 1)"),
        (ORDINARY, "torch.log_softmax(x, 0)"),
        (ORDINARY, "torch.nn.functional.glu(torch.cat([x, x], 1))"),
        (ORDINARY, "torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None])"),
    ),
    "losses": (
        *[
            (ORDINARY, f"torch.nn.functional.{f}")
            for f in (
                "mse_loss(x, 0.3 * x)",
                "smooth_l1_loss(x, 0.3 * x)",
                "huber_loss(x, 0.1 * x)",
                "kl_div(x, x.exp())",
                "soft_margin_loss(x, torch.ones(2, 3))",
                "binary_cross_entropy_with_logits(x, x.sigmoid())",
                "poisson_nll_loss(x, x * x)",
                "cosine_similarity(x, x * x)",
                "cross_entropy(x, x.softmax(1))",
                "triplet_margin_loss(x, x * x, 2 * x)",
            )
        ],
        (POSITIVE, "torch.nn.functional.binary_cross_entropy(x / 3, x / 4)"),
    ),
    "normalisation": (
        *[
            (ORDINARY, f"torch.nn.functional.{f}")
            for f in (
                "layer_norm(x, (3,))",
                "rms_norm(x, (3,))",
                "normalize(x)",
                "group_norm(x, 1)",
                "batch_norm(x, None, None, training=True)",
                "instance_norm(x[None])",
                "local_response_norm(x[None], 2)",
            )
        ],
    ),
    "linalg": tuple(
        (None, A + f"y = {text}\n")
        for text in (
            "torch.linalg.det(a)",
            "torch.linalg.inv(a)",
            "torch.linalg.solve(a, a @ a)",
            "torch.linalg.slogdet(a)",
            "torch.matrix_exp(a)",
            "torch.linalg.eigvalsh(a + a.T)",
            "torch.linalg.svdvals(a)",
            "torch.linalg.cholesky(a @ a.T + 3 * torch.eye(3, dtype=torch.float64))",
            "torch.linalg.qr(a)",
            "torch.linalg.pinv(a[:, :2])",
            "torch.linalg.matrix_norm(a, 2)",
            "torch.linalg.matrix_power(a, 3)",
            "torch.linalg.cond(a)",
            "torch.linalg.lu(a)",
            "torch.linalg.lu_factor(a[:, :2])",
            "torch.linalg.tensorsolve(a.reshape(3, 1, 3), a[:1].T)",
        )
    ),
    "windows": tuple(
        (None, IMAGE + f"y = torch.nn.functional.{text}\n")
        for text in (
            "conv2d(x, w, stride=2, padding=1)",
            "conv_transpose2d(x, w, stride=2, output_padding=1)",
            "max_pool2d(x, 3, 2, 1)",
            "avg_pool2d(x, 3, 2, 1, count_include_pad=False)",
            "adaptive_avg_pool2d(x, 4)",
            "lp_pool2d(x, 2.0, 3)",
        )
    ),
    "transforms": (
        *[(ORDINARY, f"torch.fft.{f}(x)") for f in ("fft", "ifft", "rfft", "fft2", "rfft2", "hfft")],
        (ORDINARY, "torch.fft.irfft(torch.complex(x, x))"),
        (ORDINARY, "torch.polar(x.abs(), x)"),
        (ORDINARY, "torch.view_as_real(torch.complex(x, x))"),
    ),
}


CASES = [
    pytest.param(values, text, id=f"{family}: {text.strip().splitlines()[-1]}")
    for family, rows in FAMILIES.items()
    for values, text in rows
]


@pytest.mark.parametrize("values, text", CASES)
def test_values_and_derivatives_are_the_library_s(torch_target, values, text):
    whole = text.replace("{seed}", "5") if values is None else X.format(values.format(seed=5)) + f"y = {text}\n"
    found = ask(torch_target, whole, most=10)
    assert "entries" in found, found
    off = [e for e in found["entries"] if e["verdict"] == "wrong" and e["correct"] < GOOD]  # kernels may lose a few digits
    assert not off and verdicts(found) & {"right", "wrong"}, found


@pytest.mark.parametrize(
    "text", ["torch.sin(x)", "torch.softmax(x, 1)", "torch.linalg.det(x @ x.T)", "torch.nn.functional.gelu(x)", "torch.std(x, 1)"]
)
def test_second_derivatives_too(torch_target, text):
    found = ask(torch_target, X.format("normal(seed=4)") + f"y = {text}\n", ("reverse-over-reverse", "forward-over-reverse"), most=12)
    assert not [e for e in found["entries"] if e["verdict"] != "right" and e["correct"] < GOOD], found


TRANSFORMS = "torch.distributions.transforms"
MODULES = [
    *[(f"{TRANSFORMS}.{name}Transform({given})", (2, 3)) for name, given in (
        ("Abs", ""), ("Affine", "0.3, -1.7"), ("Exp", ""), ("Power", "3.0"), ("Softmax", ""), ("Softplus", ""), ("Tanh", ""))],
    *[(f"torch.nn.InstanceNorm{d}d(2, affine=True)", (*examples, 2, *[3] * d)) for d in (1, 2, 3) for examples in ((), (2,))],
]  # fmt: skip


@pytest.mark.parametrize("maker, shape", MODULES)
def test_modules_mean_what_the_library_computes(torch_target, maker, shape):
    """With an axis for examples and without."""
    found = ask(torch_target, f'x = tensor({shape}, "float64", normal(seed=3))\nmodule = {maker}\ny = module(x)\n', most=12)
    assert verdicts(found) == {"right"}, found


def test_rows_of_an_embedding(torch_target):
    """A padding index changes nothing but the gradient: what PyTorch leaves out on purpose is not the function's derivative."""
    text = 'x = tensor((3,), "int64", listed([0, 1, 2]), grad=False)\nmodule = torch.nn.Embedding(4, 3{})\ny = module(x)\n'
    assert verdicts(ask(torch_target, text.format(""), most=200)) == {"right"}
    padded = ask(torch_target, text.format(", padding_idx=0"), ("reverse",), most=200)
    assert {e["along"][0][:16] for e in padded["entries"] if e["verdict"] == "wrong"} == {"module.weight[0,"}, padded
    assert "entries" not in ask(torch_target, text.format(", max_norm=0.5"), most=4)


def test_a_logarithm_of_a_complex_number_stays_on_its_branch(torch_target):
    text = (
        'x = tensor((3,), "complex128", listed([complex(2.0, 2.0), complex(3.0, 2.0), complex(4.0, 2.0)]))\n'
        'a = tensor((3,), "float64", listed([-7.5, -6.5, -5.5]), grad=False)\ny = torch.nn.functional.soft_margin_loss(x, a)\n'
    )
    assert verdicts(ask(torch_target, text, ("forward",))) <= {"right", "wrong"}


def test_losses_of_the_library_s_core(torch_target):
    for reduction in range(3):
        text = X.format("uniform(0.2, 2.5, seed=4)") + f"y = torch.poisson_nll_loss(x, x * x, False, True, 1e-08, {reduction})\n"
        assert verdicts(ask(torch_target, text, most=8)) == {"right"}


def test_what_is_written_to_an_argument_is_the_result(torch_target):
    """Nothing is left of what was there. PyTorch's derivative is that of the identity, in reverse mode."""
    text = 'x = tensor((3,), "float64", normal(seed=1), grad=False)\na = tensor((3,), "float64", normal(seed=2))\ny = torch.{}(x, out=a)\n'
    found = ask(torch_target, text.format("logical_not"), ("reverse",))
    assert verdicts(found) <= {"right", "wrong"} and {e["exact"] for e in found["entries"]} == {"0"}, found


def test_labels_are_exact(torch_target):
    """One that is rounded would choose another formula, and everything would be said to be due to rounding."""
    text = (
        'x = tensor((2,), "float64", listed([2.0, 1.0]), grad=False)\na = tensor((2,), "float64", listed([-4.3, -3.6]))\n'
        'b = tensor((), "float64", full(1.0), grad=False)\ny = torch.nn.functional.cosine_embedding_loss(x, a, b)\n'
    )
    assert verdicts(ask(torch_target, text)) == {"right"}
    assert verdicts(ask(torch_target, text, tamper=scaled(1.05))) == {"wrong"}


def test_no_factors_where_pivots_are_tied(torch_target):
    """Rows may change places there, and the factors with them."""
    assert "entries" not in ask(torch_target, 'a = tensor((3, 3), "float64", full(1.0))\np, l, u = torch.linalg.lu(a)\n', most=4)


def test_a_truth_value_has_no_slope(torch_target):
    """Written over a number, it is a number; PyTorch's derivative is that of what was there before. At zero it jumps."""
    text = 'x = tensor((3,), "float64", {})\nz = x * 1\ny = z.logical_and_(x)\n'
    found = ask(torch_target, text.format("normal(seed=5)"))
    assert "wrong" in verdicts(found) and {e["exact"] for e in found["entries"]} == {"0"}, found
    assert "wrong" not in verdicts(ask(torch_target, text.format("full(0.0)")))


def test_every_family_is_among_them():
    from pathlib import Path

    files = {p.stem for p in Path(SEMANTICS[0]).glob("*.py")} - {"__init__", "registry"}
    assert files == set(FAMILIES)


@pytest.mark.parametrize("name", ["torch", "jax", "tensorflow"])
def test_every_row_of_a_table_calls_functions_that_exist(name):
    import ast

    book = book_of(home_of(name))
    assert len(book.readings) > 150
    for left, reading in book.readings.items():
        called = {node.func.id for node in ast.walk(reading.body) if isinstance(node, ast.Call)}
        assert called <= set(meanings()), (left, called - set(meanings()))
        known = set(reading.signature.parameters) | set(reading.called.parameters if reading.called else ()) | {"inf", "self", "training"}
        used = {node.id for node in ast.walk(reading.body) if isinstance(node, ast.Name)} - called
        assert used <= known, (left, used - known)
    for alias, function in book.aliases.items():
        while function in book.aliases:
            function = book.aliases[function]
        assert function in book.readings, (alias, function)


def test_the_tables_of_meanings_hold_no_name_twice():
    for name in ("torch", "jax", "tensorflow"):
        rows = [
            key
            for path in (home_of(name).folder / "semantics").glob("*.json")
            for key in json.loads(path.read_text())
            if key not in ("about", "methods", "in_place", "written")
        ]
        names = [row.partition("(")[0] for row in rows]
        assert len(names) == len(set(names)), sorted({n for n in names if names.count(n) > 1})
