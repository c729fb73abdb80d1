"""Findings of one cause are one bug, whatever names, orders and modes they were met under; findings of two causes are two."""

from dataclasses import replace

import pytest

from gradfuzz.bugs.bug import bugs_of, find_bug
from gradfuzz.bugs.names import names_of
from gradfuzz.errors import StoreError
from gradfuzz.findings.labels import Label
from gradfuzz.findings.landscape import Landscape
from tests.bugs.made import made


def way(scenario, api="tf.keras.ops.array_split", kind="value", **more):
    return made(api, kind, [scenario], target="tensorflow", text=f'x = tensor((2,), "float64", listed([0.5, 2.0]))\ny = {api}(x)\n', **more)


def refused(said, mode="reverse"):
    """A landscape in which one mode gives no number."""
    return Landscape({}, {}, {mode: said})


def unread(api, element, expected=0.0):
    """A gradient by an entry of a square matrix; where none is expected, the function does not read it."""
    text = f'x = tensor((2, 2), "float64", arange(1.0, 1.0))\ny = {api}(x)\n'
    found = made(
        api, scenarios=["reverse", "forward"], rule=f"{api.rpartition('.')[2]}Backward0", expected=expected, text=text, ordinary=True
    )
    return replace(found, verdict=replace(found.verdict, detail={"element": element}))


FAILED = "BackendCompilerFailed backend aot_eager raised"
COMPLEX = 'x = tensor((2,), "complex128", listed([0.5, 2.0]))\ny = torch.sin(x)\n'
ZERO = 'x = tensor((2,), "float64", full(0.0))\ny = torch.sin(x)\n'
HUGE = 'x = tensor((2,), "float64", full(1e20))\ny = torch.sin(x)\n'
SAMPLE = 'x = tensor((), "float64", full(0.5))\ny = jax.random.{}(jax.random.PRNGKey(0), x)\n'


def option(name, given="include_self=False"):
    return f'x = tensor((2,), "float64", listed([0.5, 2.0]))\ny = torch.{name}(x, {given})\n'


ONE = [
    ("aliases, methods, in place and overloads", [
        made("torch.xlogy", scenarios=["reverse"]), made("torch.special.xlogy", "nonfinite"), made("torch.Tensor.xlogy_", "accuracy"),
        made("torch.ops.aten.xlogy.OutTensor", "kink"), made("torch.nn.functional.hardtanh", rule="XlogyBackward0"),
    ]),
    ("modules and functions, in every number of dimensions", [
        made("torch.nn.LPPool1d"), made("torch.nn.functional.lp_pool2d", "nonfinite"), made("torch.nn.LPPool3d", "tail"),
    ]),
    ("names whose capitals are no words", [made("torch.nn.SiLU"), made("torch.nn.functional.silu", "nonfinite")]),
    ("an alias by another name", [
        made("torch.Tensor.clip_"), made("torch.clamp", "nonfinite"), made("torch.foo", "kink", rule="ClampBackward1"),
    ]),
    ("a wrong first derivative and the second", [
        made("torch.det", scenarios=["forward"]), made("torch.det", scenarios=["reverse-over-forward", "forward-over-forward"]),
    ]),
    ("a wrong forward mode within the formula of the reverse one", [made(scenarios=["forward"]), made(scenarios=["forward-over-reverse"])]),
    ("nestings over one formula", [made(scenarios=["reverse-over-forward"]), made("torch.sin", "nonfinite", ["forward-over-forward"])]),
    ("complex numbers and real ones, anywhere", [made(text=COMPLEX, ordinary=True), made("torch.Tensor.sin", ordinary=True)]),
    ("complex numbers in a region, and real ones", [made(text=COMPLEX, ordinary=False), made("torch.Tensor.sin", ordinary=True)]),
    ("a NaN at a point, and of its derivative", [
        made(kind="nonfinite", text=ZERO, ordinary=False),
        made(kind="nonfinite", scenarios=["reverse-over-reverse"], text=ZERO, ordinary=False),
    ]),
    ("a wrong number and a NaN, both at huge numbers", [
        made(text=HUGE, ordinary=False), made(kind="nonfinite", text=HUGE, ordinary=False),
    ]),
    ("digits that are lost far out, and of the second derivative at ordinary numbers", [
        made(kind="accuracy", ordinary=False), made(kind="accuracy", scenarios=["reverse-over-reverse"], ordinary=True),
    ]),
    ("one function by a name that stands beside another's", [made("torch.nuclear_norm"), made("torch.linalg.matrix_norm")]),
    ("one message in many functions", [
        made("torch.addr", "status", symptom="Error found dtype T but expected T"),
        made("torch.nn.HuberLoss", "status", ["forward"], symptom="Error found dtype T but expected T"),
    ]),
    ("one message with one reason, whichever formula meets it", [
        made(f"torch.{name}", "status", rule=f"{name.title()}Backward0", symptom="RuntimeError ZeroTensors are immutable Please do so")
        for name in ("dist", "where")
    ]),
    ("a branch whose gradients are views, in the two messages that there are", [
        made(f"torch.{name}", "status", ["compiled-branched reverse"], rule=f"{name}Backward0", symptom=f"{FAILED} RuntimeError {said}")
        for name, said in (
            ("stack", "When merging two branches output in torch cond expected same storage_offset but got and"),
            ("ifft2", "It seems one of cond s output stride is not a simple accumulative multiplication of sizes"),
        )
    ]),
    ("an operator and what calls it, in one message", [
        made("torch.dist", "status", rule="DistBackward0", symptom="Error expected a tensor but got none"),
        made("torch.nn.Foo", "status", rules=("DistBackward0", "MulBackward0"), symptom="Error expected a tensor but got none"),
    ]),
    ("a write that nobody recorded, and the shape that comes back of it", [
        made("torch.logical_not", expected=0.0, mutates=True, rules=("CloneBackward0",)),
        made("torch.logical_not", "status", symptom="Error invalid gradient", mutates=True, rules=("CloneBackward0",)),
    ]),
    ("a formula that writes over what its derivative needs, noticed or not", [
        made("torch.linalg.eigh", "nonfinite", ["reverse-over-forward"], "LinalgEighBackward0"),
        made("torch.linalg.eigh", "status", ["reverse-over-forward-over-forward"], "LinalgEighBackward0", subject="any at order 3",
             symptom="modified by an inplace operation"),
    ]),
    ("one message that ends with names", [
        made("torch.linalg.eigh", "status", subject="any at order 3", symptom=f"{'one of the variables ' * 4} which is output of {name}")
        for name in ("MaskedFill", "AsStrided")
    ]),
    ("one way of running at several orders", [
        made("torch.sin", "way", ["batched reverse"]), made("torch.Tensor.sin", "way", ["batched forward-over-reverse"]),
        made("torch.sin_", "value", ["batched direct"]),
    ]),
    ("calls in place whose tangents keep another type", [
        made("torch.Tensor.sub_", "malformed", ["forward"], rule="SubBackward0", mutates=True),
        made("torch.Tensor.pow_", "malformed", ["forward"], rule="PowBackward0", mutates=True),
    ]),
    ("one label", [
        made("torch.det", scenarios=["forward-over-forward"], label=Label("known", "saved factors", "https://a")),
        made("torch.linalg.solve", scenarios=["reverse-over-forward"], label=Label("known", "saved factors", "https://a")),
    ]),
    ("writes in place that nobody recorded", [
        made(f"torch.Tensor.logical_{name}_", scenarios=modes, expected=0.0, mutates=True)
        for name, modes in (("and", ["reverse", "forward"]), ("or", ["reverse"]))
    ]),
    ("a mode that ought to refuse what the other refuses", [
        made("torch.nn.SiLU", scenarios=["forward"], landscape=refused("silu does not support complex numbers.")),
        made("torch.nn.SoftMarginLoss", scenarios=["forward"], landscape=refused("soft_margin_loss does not support complex numbers.")),
    ]),
    ("a refusal that names the operator, in any number of dimensions", [
        made("torch.nn.functional.nll_loss", scenarios=["forward"], landscape=refused("Function 'nll_loss2d_forward' has no 'weight'.")),
        made("torch.nn.Other", scenarios=["forward"], landscape=refused("Function 'nll_loss_forward' has no 'weight'.")),
    ]),
    ("one factor under one option in one family", [
        made("torch.scatter_reduce", rule="ScatterReduceBackward0", text=option("scatter_reduce"), actual=0.25, expected=0.5),
        made("torch.index_reduce", rule="IndexReduceBackward0", text=option("index_reduce"), actual=-0.8, expected=-1.6),
    ]),
    ("tangents of another type under one option", [
        made(f"torch.{name}", "malformed", ["forward"], rule=f"{name}Backward0", text=option(name, "alpha=0.5"), symptom="a tangent of T")
        for name in ("add", "sub")
    ]),
    ("derivatives by a triangle that neither function reads", [
        unread(f"torch.{name}", "x[0, 1]") for name in ("cholesky_solve", "cholesky_inverse")
    ]),
    ("deaths of functions that call one operator which dies", [
        made(f"jax.random.{name}", "timeout", oracle="process", target="jax", text=SAMPLE.format(name), rules=(*more, "random_gamma"))
        for name, *more in (("dirichlet", "exp"), ("gamma",), ("t", "erf_inv"), ("loggamma", "log"))
    ]),
    ("modes of one formula, where reverse mode is forward mode transposed", [
        made("jax.numpy.sin", scenarios=["reverse"], target="jax", text='x = tensor((), "float64", full(0.5))\ny = jax.numpy.sin(x)\n'),
        made("jax.numpy.sin", "nonfinite", ["forward"], target="jax", text='x = tensor((), "float64", full(0.5))\ny = jax.numpy.sin(x)\n'),
    ]),
    ("modes of one formula, where forward mode differentiates what reverse mode calls", [
        way("reverse", "tf.math.digamma", "precision", rule="Digamma"), way("forward", "tf.math.digamma", "precision", rule="Digamma"),
    ]),
    ("primitives and the functions they serve", [
        made("jax.lax.sin_p.bind", target="jax", text='x = tensor((), "float64", full(0.5))\ny = jax.numpy.sin(x)\n'),
        made("jax.numpy.sin", "nonfinite", target="jax", text='x = tensor((), "float64", full(0.5))\ny = jax.numpy.sin(x)\n'),
    ]),
]  # fmt: skip

INFINITE = 'x = tensor((2,), "float64", listed([0.5, 2.0]))\ny = torch.nn.functional.celu(x, alpha=float("inf"))\n'
BESIDE = 'x = tensor((), "float64", full(0.5))\na = tensor((), "complex128", full(0.5), grad=False)\ny = torch.dist(x, a)\n'

TWO = [
    ("derivatives by two triangles", [unread("torch.cholesky_solve", "x[0, 1]"), unread("torch.cholesky_inverse", "x[1, 0]")]),
    ("derivatives by a triangle of functions that have no more in common", [
        unread("torch.cholesky_solve", "x[0, 1]"), unread("torch.linalg.solve_triangular", "x[0, 1]"),
    ]),
    ("derivatives by the diagonal", [unread("torch.cholesky_solve", "x[1, 1]"), unread("torch.cholesky_inverse", "x[1, 1]")]),
    ("derivatives by a triangle that is read", [
        unread("torch.cholesky_solve", "x[0, 1]", expected=0.5), unread("torch.cholesky_inverse", "x[0, 1]"),
    ]),
    ("what is written over, and a formula that is wrong in another mode", [
        made("torch.linalg.eigh", "nonfinite", ["reverse-over-reverse"], "LinalgEighBackward0"),
        made("torch.linalg.eigh", "status", ["reverse-over-forward-over-forward"], "LinalgEighBackward0", subject="any at order 3",
             symptom="modified by an inplace operation"),
    ]),
    ("an error of another kind, and a wrong number", [
        made("torch.linalg.eigh", "nonfinite", ["reverse-over-forward"], "LinalgEighBackward0"),
        made("torch.linalg.eigh", "status", ["reverse-over-forward-over-forward"], "LinalgEighBackward0", symptom="no such size"),
    ]),
    ("deaths of two functions that share an operator which is not known to die", [
        made(f"jax.random.{name}", "timeout", oracle="process", target="jax", text=SAMPLE.format(name), rules=("add", "exp", more))
        for name, more in (("dirichlet", "log"), ("t", "erf_inv"))
    ]),
    ("two refusals", [
        made("torch.nn.SiLU", scenarios=["forward"], landscape=refused("silu does not support complex numbers.")),
        made("torch.nn.functional.gelu", scenarios=["forward"], landscape=refused("gelu does not support sparse tensors.")),
    ]),
    ("two messages that a compiler passes on", [
        made(f"torch.{name}", "status", ["compiled-branched reverse"], rule=f"{name}Backward0", symptom=f"{FAILED} {said}")
        for name, said in (
            ("stack", "RuntimeError When merging two branches output in torch cond expected same storage_offset but got and"),
            ("inv", "TypeError forward missing required positional argument tangents_token"),
        )
    ]),
    ("a refusal beside rules of their own", [
        made(f"torch.{name}", scenarios=["reverse"], rule=f"{name}Backward0", landscape=refused("forward mode is not here yet", "forward"))
        for name in ("sin", "cos")
    ]),
    ("one factor in two families", [
        made(f"torch.{name}", text=option("index_reduce"), actual=0.5) for name in ("scatter_reduce", "embedding")
    ]),
    ("two factors in one family", [
        made(f"torch.{name}_reduce", text=option("index_reduce"), actual=actual) for name, actual in (("scatter", 0.5), ("index", 0.25))
    ]),
    ("an infinite option beside an ordinary one", [
        made("torch.nn.functional.celu", "nonfinite", text=INFINITE, ordinary=True), made("torch.celu", ordinary=True),
    ]),
    ("what anybody may meet, by an option and by a mix of types", [
        made("torch.mean", "status", symptom="RuntimeError Expected isFloatingType grad", rule="MeanBackward0"),
        made("torch.dist", "status", symptom="RuntimeError Expected isFloatingType grad", rule="DistBackward0", text=BESIDE),
    ]),
    ("what anybody may meet, plainly and in a way", [
        made(f"torch.{name}", "status", [way], symptom="RuntimeError Expected isFloatingType grad", rule=f"{name}Backward0")
        for name, way in (("mean", "reverse"), ("sum", "traced reverse"))
    ]),
    ("an operator in a tail and a composite at ordinary numbers", [
        made("torch.pow", "nonfinite", rule="PowBackward0", ordinary=False), made("torch.nn.Foo", "nonfinite", rules=("PowBackward0",)),
    ]),
    ("a composite by design and a derivative of the operator in it", [
        made("torch.nn.LPPool1d", rules=("PowBackward0",), label=Label("by-design", "set to zero", "https://a")),
        made("torch.pow", "accuracy", ["reverse-over-reverse"], rule="PowBackward0"),
    ]),
    ("complex numbers anywhere, and digits of real ones", [
        made("torch.nn.SiLU", scenarios=["forward"], text=COMPLEX, ordinary=True),
        made("torch.nn.SiLU", "accuracy", ["reverse", "forward"]),
    ]),
    ("a wrong number anywhere, and a NaN of its derivative at a point", [
        made("torch.cosine_similarity", ordinary=True),
        made("torch.cosine_similarity", "nonfinite", ["reverse-over-reverse"], text=ZERO, ordinary=False),
    ]),
    ("a wrong number at a point, and a NaN at huge ones", [
        made(text=ZERO, ordinary=False), made(kind="nonfinite", text=HUGE, ordinary=False),
    ]),
    ("two functions", [made("torch.sin"), made("torch.cos")]),
    ("two formulas of one rule", [made(scenarios=["reverse"]), made(scenarios=["forward"])]),
    ("a first derivative that does not explain the second", [
        made(scenarios=["forward"]), made(scenarios=["reverse-over-reverse", "forward-over-reverse", "forward-over-forward"]),
    ]),
    ("a first derivative at special numbers and the second at ordinary ones", [
        made(kind="nonfinite", ordinary=False), made(scenarios=["reverse-over-reverse"], ordinary=True),
    ]),
    ("two calls in place with rules of their own", [
        made(f"torch.Tensor.{name}_", rule=f"{name}Backward0", expected=0.0, mutates=True) for name in ("sin", "cos")
    ]),
    ("two calls in place whose derivative is another number", [made(f"torch.Tensor.{name}_", mutates=True) for name in ("sin", "cos")]),
    ("two messages of one function", [made(kind="status", symptom="no such size"), made(kind="status", symptom="no such type")]),
    ("one message at two orders, where the order is part of it", [
        made(kind="status", subject=f"any at order {n}", symptom="modified by an inplace operation") for n in (1, 3)
    ]),
    ("one message that names two operators, in two functions", [
        made(api, "status", subject="any at order 1", symptom=f"{'one of the variables ' * 4} which is output of {name}")
        for api, name in (("torch.vander", "AsStrided"), ("torch.linalg.cond", "LinalgInvEx"))
    ]),
    ("words that many formulas may say", [
        made("torch.dist", "status", rule="DistBackward0", symptom="Error expected a tensor but got none"),
        made("torch.scatter_reduce", "status", rule="ScatterReduceBackward0", symptom="Error expected a tensor but got none"),
    ]),
    ("words that many formulas may say, where one of them has a label", [
        made("torch.narrow_copy", "status", rule="NarrowCopyBackward0", symptom="Error sizes must match"),
        made("torch.scatter", "status", rule="ScatterBackward0", symptom="Error sizes must match", label=Label("known", "why", "https://a")),
    ]),
    ("two ways of running", [made(kind="way", scenarios=["batched reverse"]), made(kind="way", scenarios=["compiled reverse"])]),
    ("a wrong number and an error", [made(), made(kind="status", symptom="no such size")]),
    ("two labels of one rule", [
        made("torch.det", scenarios=["forward"], label=Label("known", "at singular matrices", "https://a")),
        made("torch.det", scenarios=["forward-over-forward"], label=Label("known", "saved factors", "https://b")),
    ]),
    ("two libraries", [made(), made("jax.numpy.sin", target="jax", text='x = tensor((), "float64", full(0.5))\ny = jax.numpy.sin(x)\n')]),
]  # fmt: skip


@pytest.mark.parametrize("findings", [f for _, f in ONE], ids=[name for name, _ in ONE])
def test_one_cause_is_one_bug(findings):
    assert [len(bug.findings) for bug in bugs_of(findings)] == [len(findings)]
    assert len({f.id for f in findings}) == len(findings)  # they were findings of their own


@pytest.mark.parametrize("findings", [f for _, f in TWO], ids=[name for name, _ in TWO])
def test_two_causes_are_two_bugs(findings):
    assert len(bugs_of(findings)) == 2


def test_what_says_little_joins_no_two_operators():
    symptom = "Error result type cannot be cast"
    ruled = [made(f"torch.{name}", "status", rule=f"{name}Backward0", symptom=symptom) for name in ("Dist", "Where")]
    assert sorted(len(bug.findings) for bug in bugs_of([*ruled, made("torch.nn.Foo", "status", symptom=symptom)])) == [1, 1, 1]


def test_the_order_in_which_they_were_met_changes_nothing():
    findings = [f for _, group in ONE[:6] for f in group]
    assert [b.id for b in bugs_of(findings)] == [b.id for b in bugs_of(findings[::-1])]


def test_a_bug_that_is_met_again_keeps_its_name():
    first = bugs_of([made("torch.det", scenarios=["forward"])])[0]
    later = bugs_of([made("torch.det", scenarios=["forward"]), made("torch.linalg.det", scenarios=["forward-over-forward"])])[0]
    assert first.id == later.id and first.id.startswith("bug-det-")


def test_a_bug_is_found_by_the_beginning_of_its_name():
    bugs = bugs_of([made("torch.sin"), made("torch.cos")])
    assert find_bug(bugs, "bug-cos").leading.api == "torch.cos"
    with pytest.raises(StoreError, match="could be any of"):
        find_bug(bugs, "bug-")
    with pytest.raises(StoreError, match="no bug starts with"):
        find_bug(bugs, "bug-tan")


def test_a_label_does_not_hide_a_neighbour():
    known = made("torch.det", scenarios=["forward"], label=Label("known", "at singular matrices", "https://a"))
    assert bugs_of([known])[0].label_name == "known"
    beside = bugs_of([known, made("torch.linalg.det", "nonfinite", ["forward"])])
    assert [bug.label_name for bug in beside] == ["known", "new"]
    follows = bugs_of([known, made("torch.linalg.det", scenarios=["reverse-over-forward"])])
    assert [len(bug.findings) for bug in follows] == [2]  # a derivative of what is wrong
    assert follows[0].label_name == "new"


def test_what_calls_a_known_function_or_is_its_internal_name_is_as_known():
    known = made("torch.tanh", "tail", label=Label("known", "one minus its square", "https://a"), calls=(("lib.tanh", 2),))
    internal, caller = made("torch.ops.aten.tanh.default", "tail"), made("torch.foo", "tail", calls=(("lib.foo", 1), ("lib.tanh", 2)))
    (bug,) = bugs_of([known, internal, caller])
    assert bug.label_name == "known" and len(bug.findings) == 3


def test_a_composite_is_wrong_because_an_operator_inside_it_is():
    inside = made("torch.nn.functional.layer_norm", scenarios=["reverse-over-forward"], rule="NativeLayerNormBackward0")
    outer = made("torch.nn.TransformerEncoderLayer", scenarios=["reverse-over-forward"], rules=("AddBackward0", "NativeLayerNormBackward0"))
    other = made("torch.nn.functional.gelu", scenarios=["reverse-over-forward"], rules=("AddBackward0", "MulBackward0"))
    assert [{f.api for f in bug.findings} for bug in bugs_of([inside, outer])] == [{inside.api, outer.api}]
    assert bugs_of([inside, outer])[0].leading is inside or bugs_of([inside, outer])[0].leading.api == inside.api
    assert len(bugs_of([inside, other])) == 2 and len(bugs_of([outer, other])) == 2  # two composites share no cause by a part alone


def test_two_operators_that_one_composite_calls_are_two_bugs():
    sine, norm = made("torch.sin", rule="SinBackward0"), made("torch.norm", rule="NormBackward0")
    outer = made("torch.nn.Foo", rules=("SinBackward0", "NormBackward0"))
    assert sorted(len(bug.findings) for bug in bugs_of([sine, outer, norm])) == [1, 1, 1]
    assert sorted(len(bug.findings) for bug in bugs_of([sine, outer])) == [2]


def test_an_operator_explains_what_looks_like_it():
    sine = made("torch.sin", rule="SinBackward0")
    assert len(bugs_of([sine, made("torch.nn.Foo", "nonfinite", rules=("SinBackward0",))])) == 2
    assert len(bugs_of([sine, made("torch.nn.Foo", "tail", rules=("SinBackward0",))])) == 1


def test_densities_of_two_distributions_are_two_functions():
    text = 'x = tensor((), "float64", full(0.5))\ny = jax.scipy.stats.{}.pdf(x)\n'
    pair = [made(f"jax.scipy.stats.{name}.pdf", target="jax", text=text.format(name)) for name in ("norm", "gamma")]
    assert len(bugs_of(pair)) == 2


def test_functions_of_one_distribution_that_are_wrong_alike_at_ordinary_numbers_are_one_bug():
    text = 'x = tensor((), "float64", full(0.5))\ny = jax.scipy.stats.{}(x)\n'

    def shows(name, kind="nonfinite", **more):
        return made(f"jax.scipy.stats.{name}", kind, target="jax", text=text.format(name), **{"ordinary": True, **more})

    assert len(bugs_of([shows("pareto.pdf"), shows("pareto.logsf")])) == 1
    assert len(bugs_of([shows("pareto.pdf"), shows("pareto.logsf", scenarios=["forward"])])) == 2
    assert len(bugs_of([shows("pareto.pdf"), shows("pareto.logsf", "gradient")])) == 2
    assert len(bugs_of([shows("pareto.pdf", ordinary=False), shows("pareto.logsf", ordinary=False)])) == 2  # each has its own ends


@pytest.mark.parametrize("target", ["torch", "jax", "tensorflow"])
def test_what_a_folder_says_of_names_is_used(target):
    names = names_of(target)
    assert names.functions and names.internal


def test_an_id_is_one_word_and_a_node_of_a_graph_is_its_operator():
    (bug,) = bugs_of([made(rule="a rule of two words")])
    assert len(bug.id.split()) == 1
    assert names_of("tensorflow").of_rule("node MatrixInverse") == names_of("tensorflow").of_rule("MatrixInverse")


def test_names_of_a_target_that_nobody_knows_are_read_by_themselves():
    assert names_of("nobody").stem("nobody.nn.MaxPool2d") == names_of("nobody").stem("nobody.max_pool3d_") == "max_pool"


def test_what_several_campaigns_have_met_is_one_finding_and_each_release_has_its_own():
    again = [made(times=2, campaign=1), made(times=3, campaign=2)]
    (bug,) = bugs_of(again)
    assert [(f.times, f.campaign) for f in bug.findings] == [(5, 2)]
    (bug,) = bugs_of([*again, made(version="2.0")])
    assert sorted(f.version for f in bug.findings) == ["1.0", "2.0"]


def test_two_bugs_never_have_one_id(monkeypatch):
    two = [made("torch.xlogy", scenarios=["reverse"]), made("torch.special.xlogy", "nonfinite")]
    (one,) = bugs_of(two)
    monkeypatch.setattr("gradfuzz.bugs.bug.gathered", lambda findings: [[f] for f in findings])
    apart = bugs_of(two)
    assert len({bug.id for bug in apart}) == 2 and all(bug.id.startswith(one.id) for bug in apart)
    assert all(find_bug(apart, bug.id) is bug for bug in apart)
    with pytest.raises(StoreError, match="could be any of"):
        find_bug(apart, one.id)


def test_one_function_with_one_symptom_in_ways_that_are_made_alike_is_one_bug():
    stages = [way("again direct"), way("shapeless direct")]
    words = [way("compiled reverse", kind="way"), way("compiled-inside reverse", kind="way")]
    assert len(bugs_of(stages)) == len(bugs_of(words)) == 1
    assert len(bugs_of([way("again direct"), way("compiled direct")])) == 2  # nothing in common
    assert len(bugs_of([way("compiled direct"), way("compiled-inside reverse", kind="way")])) == 2  # another symptom
    assert len(bugs_of([way("compiled direct"), way("compiled-inside direct", "tf.linalg.pinv")])) == 2  # another function
    own = [way("rule-vectorized-inside reverse", kind="way"), way("rule-compiled reverse", kind="way")]
    assert len(bugs_of(own)) == 2  # a user's rule is what all of these have


def test_a_function_that_raises_in_ways_that_are_made_alike_is_one_bug_whatever_it_says():
    def raising(scenario, words, api="torch.put"):
        return made(api, "status", [scenario], symptom=f"RuntimeError {words}")

    both = [raising("batched reverse", "sizes must match"), raising("batched-inside forward", "an index is too large")]
    assert len(bugs_of(both)) == 1
    assert len(bugs_of([both[0], raising("inductor forward", "an index is too large")])) == 2
    assert len(bugs_of([both[0], raising("forward", "an index is too large")])) == 2
    assert len(bugs_of([both[0], raising("batched-inside forward", "an index is too large", "torch.kron")])) == 2


def test_what_a_way_does_to_all_functions_is_one_bug():
    functions = ["torch.atleast_1d", "torch.meshgrid"]
    assert len(bugs_of([made(api, "way", ["written-functionalized reverse"]) for api in functions])) == 1
    assert len(bugs_of([made(api, "way", ["written reverse"]) for api in functions])) == 2
    both = [made(functions[0], "way", ["written-functionalized reverse"]), made(functions[1], "way", ["written reverse"])]
    assert len(bugs_of(both)) == 2
    lost, kept = (made(api, "way", ["written-functionalized reverse"]) for api in functions)
    lost.verdict.detail["outputs"] = True
    assert len(bugs_of([lost, kept])) == 2  # a derivative of the same outputs


def test_one_message_is_no_bug_of_two_functions_since_one_of_them_calls_its_own_operator():
    says = {"kind": "status", "scenarios": ["forward"], "symptom": "Trying to set a gradient of another size"}
    unpacked = made("torch.lu_unpack", rules=("LinalgLuFactorExBackward0", "LuUnpackBackward0"), **says)
    assert len(bugs_of([unpacked, made("torch.norm_except_dim", rule="NormBackward0", **says)])) == 2
    assert len(bugs_of([unpacked, made("torch.linalg.lu_factor_ex", rule="LinalgLuFactorExBackward0", **says)])) == 1


def test_a_way_that_differs_from_what_is_wrong_by_itself_shows_the_same_bug():
    plain, compiled, traced = made(), made(kind="way", scenarios=["inductor reverse"]), made(kind="way", scenarios=["traced reverse"])
    assert len(bugs_of([plain, compiled])) == 1
    assert len(bugs_of([compiled, traced])) == 2  # where the plain one is right, each way answers for itself
    assert len(bugs_of([made(scenarios=["forward"]), compiled])) == 2
    assert len(bugs_of([made(ordinary=False), compiled])) == 2  # wrong at other numbers


def test_functions_of_one_bug_that_show_one_thing_more_alike_have_one_more_bug():
    def shows(name, **more):
        return made(f"torch.linalg.{name}", rule=f"Linalg{name.title()}Backward0", **more)

    label = Label("known", "Both reuse what they factorised.", "https://example.org/1")
    nested = [shows(name, scenarios=["reverse-over-forward"], label=label) for name in ("det", "solve")]
    ways = [shows(name, kind="way", scenarios=["jacobian forward-over-reverse"]) for name in ("det", "solve")]
    assert len(bugs_of(nested)) == 1
    assert len(bugs_of([*nested, *ways])) == 2
    assert len(bugs_of(ways)) == 2  # nothing says that they have anything in common
    assert len(bugs_of([*nested, ways[0], shows("solve", kind="way", scenarios=["batched reverse"])])) == 3


def test_a_function_made_of_several_operators_is_none_of_them_whatever_its_name():
    wrapper = made("torch.special.sqrt", "nonfinite", rules=("ClampBackward1", "SqrtBackward0"))
    outer = made("torch.std_mean", "nonfinite", rules=("MeanBackward1", "SqrtBackward0"))
    assert len(bugs_of([wrapper, outer])) == 2
    assert len(bugs_of([made("torch.sqrt", "nonfinite", rule="SqrtBackward0"), outer])) == 1


HUGE, TINY = (f'x = tensor((2,), "float64", full({n}))\ny = torch.sin(x)\n' for n in (5e19, 5e-19))


def test_functions_of_one_family_that_are_wrong_at_huge_numbers_are_one_bug():
    def bessel(name, text=HUGE, **more):
        return made(f"torch.special.bessel_{name}", rule=f"Bessel{name.title()}Backward0", text=text, ordinary=False, **more)

    assert len(bugs_of([bessel("k0e"), bessel("k1e")])) == 1
    assert len(bugs_of([bessel("k0e", TINY), bessel("k1e", TINY)])) == 2  # what is lost beside zero hangs on each one's series
    assert len(bugs_of([bessel("k0e"), bessel("k1e", scenarios=["forward"])])) == 2
    assert len(bugs_of([bessel("k0e"), made("torch.sin", rule="SinBackward0", text=HUGE, ordinary=False)])) == 2
