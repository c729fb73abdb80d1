"""How grave a finding is, by what is stored of it; and that the gravest comes first."""

import pytest

from gradfuzz.bugs import severity as grades
from gradfuzz.bugs.bug import bugs_of
from gradfuzz.bugs.judgements import judge
from gradfuzz.bugs.severity import GRADES, severity
from gradfuzz.findings.labels import Label
from gradfuzz.findings.proof import PROVEN, Proof
from tests.bugs.made import ORDINARY, made


def at(shape="(2,)", dtype="float64", values="listed([0.5, 2.0])", call="torch.sin(x)", more=""):
    return f'x = tensor({shape}, "{dtype}", {values})\n{more}y = {call}\n'


MASK = 'i = tensor((2,), "bool", full(True))\n'
INDEX = 'i = tensor((2,), "int64", listed([0, 9000]), grad=False)\n'
OFFSETS = 'i = tensor((3,), "int64", listed([0, {}]), grad=False)\n'
BESIDE = 'a = tensor((2,), "{}", listed([1.0, 2.0]), grad=False)\n'

PROOF = Proof(PROVEN, "")

CASES = [
    ("regression", "", made(label=Label("regression", "said to be mended", "https://a"))),
    ("silent", "", made()),
    ("silent", "", made(text=at(values="full(0.0)"))),  # examples are shrunk towards zero: being there says nothing
    ("silent", "", made(kind="way", scenarios=["batched reverse"])),
    ("silent", "", made(text=at(more='m = tensor((2,), "bool", full(1.0), grad=False)\n'))),
    ("silent-higher", "", made(scenarios=["forward-over-reverse"])),
    ("silent-higher", "", made(scenarios=["reverse-over-forward-over-reverse"])),
    ("loud", "", made(kind="nonfinite", actual=float("nan"))),
    ("loud", "", made(kind="status", symptom="no such size")),
    ("loud", "take its process down", made(kind="timeout", scenarios=["direct"], oracle="process", text=at(values="listed([2.0, 1.0])"))),
    ("region", "huge", made(kind="timeout", scenarios=["direct"], oracle="process", text=at(values="listed([1e30, 1.0])"))),
    ("loud", "take its process down", made(kind="crash", scenarios=["direct"], oracle="process", text=at(values="listed([1e30, 1.0])"))),
    ("region", "next to nothing", made(expected=1e-20, actual=-4e-17, proof=PROOF)),
    ("silent", "", made(expected=1e-20, actual=0.5, proof=PROOF)),
    ("region", "digits are lost", made(kind="accuracy")),
    ("region", "beside larger", made(kind="tail")),
    ("region", "lower precision", made(kind="precision")),
    ("region", "huge or tiny", made(text=at(values="listed([1e-8, 1.0])"))),
    ("region", "huge or tiny", made(kind="nonfinite", text=at(values="scaled(listed([0.5, 2.0]), 1e26)"))),
    ("region", "huge or tiny", made(kind="status", symptom="not invertible", text=at(values="listed([1e25, 1.0])"))),
    ("region", "float16", made(text=at(dtype="float16"))),
    ("region", "complex128 meets float64", made(text=at(more=BESIDE.format("complex128")))),
    ("region", "float32 meets float64", made(kind="status", symptom="dtype", text=at(more=BESIDE.format("float32")))),
    ("point", "at a kink", made(kind="kink")),
    ("point", "zero or infinite", made(kind="nonfinite", text=at(values="full(0.0)"))),
    ("point", "infinity", made(text=at(values='listed([float("inf"), 1.0])'))),
    ("point", "infinity", made(kind="nonfinite", text=at(call='torch.linalg.vector_norm(x, float("inf"))'))),
    ("form", "", made(kind="malformed")),
    ("form", "", made(kind="value", scenarios=["aot_eager direct"], expected="float64[]", actual="float64[1]")),
    ("silent", "", made(kind="value", scenarios=["aot_eager direct"], expected="float64[3]", actual="float64[2]")),
    ("documented", "labelled so", made(label=Label("by-design", "it says so", "https://a"))),
    ("edge", "unvalidated argument: NaN", made(text=at(values='planted(listed([0.5, 2.0]), float("nan"), 3)'))),
    ("edge", "unvalidated argument: NaN", made(text=at(call='torch.clamp(x, float("nan"))'))),
    ("edge", "index out of range", made(kind="status", symptom="Error index is out of bounds for dimension")),
    ("loud", "", made(kind="status", symptom="IndexError list index out of range")),
    ("region", "negated view", made(kind="status", symptom="setStorage sizes are out of bounds for storage of size",
                                    text=at(values="listed([0.5, 2.0]), layout=\"negated\""), ordinary=True)),
    ("edge", "index out of range", made(kind="crash", oracle="process", text=at(more=INDEX), documented=("indices are not checked",))),
    ("edge", "offsets that go back", made(ordinary=True, text=at(more=OFFSETS.format("1, 0"), call="torch.embedding_bag(x, offsets=i)"))),
    ("silent", "", made(ordinary=True, text=at(more=OFFSETS.format("1, 1"), call="torch.embedding_bag(x, offsets=i)"))),
    ("loud", "take its process down", made(kind="crash", oracle="process", text=at(more=INDEX))),
    ("loud", "take its process down", made(kind="crash", oracle="process", text=at(shape="(2, 0)", values="full(0.0)"))),
    ("edge", "not a public API", made("torch.ops.aten.norm.default", kind="crash", oracle="process")),
    ("loud", "take its process down", made("torch.native_norm", kind="crash", oracle="process", hidden=("native_norm",))),
    ("loud", "take its process down", made("torch.triangular_solve", kind="crash", oracle="process")),
    ("silent", "", made("torch.lgamma", hidden=("lgamma",), ordinary=True)),  # nobody wrote a docstring: it is wrong all the same
    ("edge", "undocumented: lgamma", made("torch.lgamma", "status", symptom="some error", hidden=("lgamma",), ordinary=True)),
    ("edge", "an option of 0.001", made(kind="nonfinite", text=at(call="torch.nn.functional.normalize(x, p=0.001)"))),
    ("edge", "an option of -2", made(kind="nonfinite", text=at(call="torch.nn.functional.lp_pool1d(x, -2, 1)"))),
    ("loud", "", made(kind="nonfinite", text=at(call="torch.linalg.vector_norm(x, -2)"))),
    ("silent", "", made(text=at(call="torch.nn.functional.layer_norm(x, (2,), None, None, 1e-05)"))),  # its tolerance, and no norm's order
    ("edge", "an infinite argument", made(kind="nonfinite", text=at(call='torch.nn.functional.layer_norm(x, (2,), eps=float("inf"))'))),
    ("edge", "integers", made(kind="status", symptom="type T can t be cast", text=at(more=MASK))),
    ("loud", "", made(kind="status", symptom="type T can t be cast", text=at(more=INDEX.replace(", grad=False", "")))),
    ("loud", "", made(kind="status", symptom="type T can t be cast", text=at(more=INDEX))),
    ("edge", "integers", made(kind="status", symptom="no such dtype", text=at(call="torch.sin(x, dtype=torch.int64)"))),
    ("edge", "not a public API", made("torch.as_strided_")),
    ("edge", "empty tensors", made(text=at(shape="(2, 0)", values="full(0.0)"))),
    ("edge", "empty tensors", made(kind="status", symptom="Error expected grad_output to have non zero size for n")),
    ("edge", "empty tensors", made(kind="status", symptom="some error", empty=True)),  # of the direct run itself
    ("edge", "an infinite argument", made(kind="nonfinite", text=at(call='torch.nn.functional.softplus(x, beta=float("inf"))'))),
    ("edge", "passed twice", made(kind="nonfinite", scenarios=["reverse-over-reverse"], text=at(call="torch.dist(x, x)"))),
    ("edge", "a tolerance is differentiated", made(ordinary=True, text=at(call="torch.linalg.pinv(x, atol=x)"))),
    ("region", "within the reach of atol of 0.5", made(ordinary=True, text=at(call="torch.linalg.pinv(x, atol=0.5)"))),
    ("region", "within the reach of eps of 0.5", made(ordinary=True, text=at(call="torch.cosine_similarity(x, x, eps=0.5)"))),
    ("silent", "", made(ordinary=True, text=at(call="torch.cosine_similarity(x, x, eps=1e-08)"))),
    ("loud", "", made(kind="status", symptom="no such size", ordinary=True, text=at(call="torch.cosine_similarity(x, x, eps=0.5)"))),
    ("point", "where an argument is zero", made(kind="nonfinite", ordinary=True, text=at(call="torch.pow(0.0, x)"))),
    ("loud", "", made(kind="nonfinite", ordinary=True, text=at(call="torch.pow(2.0, x)"))),
    ("loud", "", made(kind="nonfinite", ordinary=True, text=at(call="torch.cumsum(x, 0)"))),  # a dimension
    ("silent", "", made(ordinary=True, text=at(call="torch.pow(0.0, x)"))),  # a wrong number is shrunk towards zero
    ("region", "huge", made(ordinary=True, text=at(more='i = tensor((2,), "int64", full(7e19))\n', call="torch.atan2(i, x)"))),
    ("silent", "", made(ordinary=True, text=at(more=INDEX))),
    ("silent", "", made(text=at(call="torch.linalg.pinv(x, rtol=a)", more=BESIDE.format("float64")))),
    ("edge", "undocumented: scale", made(hidden=("scale",))),
    ("region", "for a negated view", made(text=at(values="listed([0.5, 2.0]), layout=\"negated\""))),
    ("edge", "mixed types: bfloat16, float64", made(kind="status", symptom="dtype", text=at(more=BESIDE.format("bfloat16")))),
    ("edge", "mixed types: float64, uint8", made(kind="malformed", text=at(more=BESIDE.format("uint8")))),
    ("edge", "an option of 1e-30", made(text=at(call="torch.nn.functional.normalize(x, eps=1e-30)"))),
    ("edge", "draws other numbers", made(kind="value", random=True)),
    ("edge", "not a public API", made("torch.ops.aten.norm.ScalarOpt_dim_dtype")),
    ("edge", "deprecated", made("torch.triangular_solve")),
    ("edge", "deprecated", made(kind="way", scenarios=["traced reverse"])),
    ("loud", "", made("torch.compile", "status", ["compiled-overlapping reverse"], symptom="some error")),  # what a way blames
]  # fmt: skip


@pytest.mark.parametrize("grade, because, finding", CASES, ids=[f"{g}-{b}-{i}" for i, (g, b, _) in enumerate(CASES)])
def test_a_finding_has_its_grade_and_says_why(grade, because, finding):
    given = severity(finding)
    assert given.grade.name == grade and because in given.because


def test_every_grade_has_a_reason_and_a_case():
    assert {grade for grade, _, _ in CASES} == {grade.name for grade in GRADES}
    assert all(len(grade.reason) > 20 for grade in GRADES)
    assert [grade.name for grade in GRADES if grade.folded] == ["documented", "edge"]  # nothing that may be a bug is folded away


def test_what_is_empty_is_called_so_whatever_the_complaint():
    empty = made(kind="status", symptom="index is out of range", text=at(shape="(0,)", values="full(0.0)"))
    assert severity(empty).because == "empty tensors"


def test_an_index_that_may_lie_in_the_output_is_not_called_out_of_range():
    """An unpooling takes indices into what it makes: only a death, which says nothing, is put down to them."""
    assert severity(made(text=at(more=INDEX))).grade is grades.FIRST
    assert severity(made(kind="status", symptom="view size is not compatible", text=at(more=INDEX))).grade is grades.LOUD


def test_a_negative_dimension_is_an_ordinary_option():
    assert severity(made(text=at(shape="(1, 1, 2)", call="torch.sum(x, -3)"))).grade is grades.FIRST


def test_bugs_come_in_the_order_of_their_grades():
    findings = [made(f"torch.nn.functional.f{i}", f.kind, f.verdict.names, text=f.text, symptom=f"{f.verdict.symptom} {i}",
                     oracle=f.verdict.oracle, label=f.label, actual=f.verdict.actual)
                for i, (_, _, f) in enumerate(reversed(CASES[:-2]))]  # fmt: skip
    order = [GRADES.index(bug.severity.grade) for bug in bugs_of(findings)]
    assert order == sorted(order) and len(set(order)) == len(GRADES)


def test_within_a_grade_the_new_comes_first_then_reverse_mode_then_the_public():
    known = made("torch.tan", label=Label("known", "reported", "https://a"))
    forward, both, plain = made("torch.cos", scenarios=["forward"]), made("torch.exp", scenarios=["reverse", "forward"]), made()
    assert [b.leading.api for b in bugs_of([known, forward, both, plain])] == ["torch.sin", "torch.exp", "torch.cos", "torch.tan"]


def test_within_a_grade_what_shows_where_numbers_are_comes_before_what_shows_far_out_and_before_ways():
    far, near = made("torch.sinc", text=at(values="listed([3e19, 1.0])")), made("torch.tan", text=at(values="listed([3e3, 1.0])"))
    assert [b.leading.api for b in bugs_of([far, near])] == ["torch.tan", "torch.sinc"]
    nothing, something = (made(f"torch.{name}", "tail", actual=0.0, expected=size, times=times)
                          for name, size, times in (("tanh", 1e-30, 9), ("cosh", 1e-3, 1)))  # fmt: skip
    assert [b.leading.api for b in bugs_of([nothing, something])] == ["torch.cosh", "torch.tanh"]
    sharded, plain = (made(f"torch.{name}", "status", [mode], symptom=f"error of {name}", times=times)
                      for name, mode, times in (("sin", "batched reverse", 9), ("cos", "reverse", 1)))  # fmt: skip
    assert [b.leading.api for b in bugs_of([sharded, plain])] == ["torch.cos", "torch.sin"]


def test_a_bug_is_as_grave_as_its_gravest_finding_which_leads():
    internal, public = made("torch.ops.aten.sin.default"), made("torch.sin", "nonfinite", text=at(values="full(0.0)"))
    (bug,) = bugs_of([internal, public])
    assert bug.leading == public and bug.severity.grade is grades.POINT


def test_numbers_that_cannot_be_made_are_taken_as_ordinary(monkeypatch):
    monkeypatch.setattr("gradfuzz.bugs.circumstances.materialise", lambda recipe: 1 / 0)
    assert severity(made(text=ORDINARY)).grade is grades.FIRST


ZEROS = at(values="full(0.0)")


@pytest.mark.parametrize(
    "grade, finding",
    [
        ("silent", made(text=ZEROS, ordinary=True)),
        ("silent", made(text=at(shape="(0,)", values="full(0.0)"), ordinary=True)),
        ("silent", made(text=at(dtype="float16"), ordinary=True)),
        ("silent-higher", made(text=at(values="listed([1e30, 1.0])"), scenarios=["forward-over-reverse"], ordinary=True)),
        ("loud", made(kind="nonfinite", text=ZEROS, ordinary=True)),
        ("loud", made(kind="status", symptom="dtype", text=at(more=BESIDE.format("bfloat16")), ordinary=True)),
        ("edge", made(kind="status", symptom="expected grad_output to have non zero size", ordinary=True)),  # an output of no size
        ("edge", made("torch.ops.aten.norm.ScalarOpt_dim_dtype", ordinary=True)),  # nobody calls it, wherever it shows
        ("point", made(text=ZEROS, ordinary=False)),
        ("point", made(text=at(values="full(1.0)"), ordinary=False)),  # a tie
        ("region", made(text=at(values="listed([0.5, 2.0])"), ordinary=False)),
        ("region", made(kind="status", symptom="no such size", ordinary=False)),
        ("edge", made(text=at(shape="(0,)", values="full(0.0)"), ordinary=False)),
    ],
)
def test_what_shows_at_its_neighbours_is_ordinary_and_what_does_not_is_none(grade, finding):
    assert severity(finding).grade.name == grade


def test_whether_it_is_ordinary_is_kept():
    for said in (True, False, None):
        assert type(made()).from_json(made(ordinary=said).to_json()).ordinary is said


def test_what_a_person_calls_real_is_not_folded_for_its_name_or_label_but_for_its_arguments():
    native = made("torch.native_norm", "status", symptom="no such shape", hidden=("native_norm",), ordinary=True)
    labelled = made("torch.cos", label=Label("by-design", "it says so", "https://a"))
    empty = made("torch.tan", text=at(shape="(2, 0)", values="full(0.0)"))
    for finding, before, after in ((native, "edge", "loud"), (labelled, "documented", "silent"), (empty, "edge", "edge")):
        assert bugs_of([finding])[0].severity.grade.name == before
        (bug,) = bugs_of([finding], [judge(finding, "real", "somebody has looked")])
        assert bug.severity.grade.name == after and (after == before or "judged real" in bug.severity.because)


def test_an_operator_that_a_way_gets_silently_wrong_at_ordinary_numbers_is_not_folded():
    text = 'x = tensor((2,), "float64", listed([0.5, 2.0]))\ny = tf.raw_ops.Foo(x=x)\n'

    def folded(scenario="compiled direct", kind="value", **more):
        return severity(made("tf.raw_ops.Foo", kind, [scenario], target="tensorflow", text=text, **more)).grade.folded

    assert not folded(ordinary=True)
    assert folded(kind="status", ordinary=True)  # who meets it knows
    assert folded(ordinary=False) and folded()  # nobody has seen that it is common
    assert folded("reverse", "gradient", ordinary=True)  # its own formula, by a name that nobody calls
