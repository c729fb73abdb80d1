"""The proof: planted errors are seen to the last digits, tails are seen at all, and what is not known is said."""

import math
import signal

import pytest

from gradfuzz.findings.proof import PROVEN, REFUTED, SILENT, kind_of, proof_from
from gradfuzz.reference import spell
from gradfuzz.reference.desk import Desk
from tests.reference.asking import ask, entry, scaled, verdicts

AT = 'x = tensor((), "float64", full({}))\ny = torch.{}\n'


@pytest.mark.parametrize("factor, lost", [(1 + 1e-6, 8), (2.0, 14), (1 + 1e-12, 2)])
def test_a_planted_error_is_proven_with_the_digits_it_costs(torch_target, factor, lost):
    found = ask(torch_target, AT.format(0.7, "sin(x)"), tamper=scaled(factor))
    one = entry(found)
    assert one["verdict"] == "wrong" and one["wrong"] == ("reverse",) and abs(one["lost"] - lost) < 1.1
    assert one["exact"].startswith("0.7648421872844884") and len(one["exact"]) == 22 and one["exact"][:16] in one["enclosure"]
    assert proof_from(found, fine=True).verdict == PROVEN


def test_the_healthy_twin_is_proven_right_and_ends_the_suspicion(torch_target):
    found = ask(torch_target, AT.format(0.7, "sin(x)"))
    assert verdicts(found) == {"right"} and proof_from(found).verdict == REFUTED


@pytest.mark.parametrize("x, text", [(1.11e15, "fmod(x, -3.5)"), (1e20, "sin(x)"), (1.43e14, "sin(x)"), (5e-324, "exp(x)")])
def test_ad_that_is_right_where_differences_are_blind_is_proven_right(torch_target, x, text):
    assert verdicts(ask(torch_target, AT.format(x, text))) == {"right"}


def test_and_ad_that_is_wrong_there_is_proven_wrong(torch_target):
    one = entry(ask(torch_target, AT.format(1e20, "sin(x)"), tamper=scaled(2.0)))
    assert one["verdict"] == "wrong" and one["explained"]  # the library itself takes the input for exact: its value is


def test_what_rounding_the_inputs_explains_is_neither_right_nor_wrong(torch_target):
    found = ask(torch_target, AT.format(1e15, "sin(x * 1.1)"), tamper=scaled(1.5))
    assert verdicts(found) == {"unknown"}, found


def test_half_of_the_digits_right_is_inaccurate_and_not_wrong(torch_target):
    found = ask(torch_target, AT.format(0.7, "sin(x)"), tamper=scaled(1 + 1e-10))
    assert proof_from(found).verdict == REFUTED and proof_from(found, fine=True).verdict == PROVEN


TAILS = [
    (40.0, "sigmoid(x)", "reverse", "4.2483542552915889773e-18"),
    (1e-100, "sigmoid(x)", "reverse-over-reverse", "-1.25e-101"),
    (25.0, "tanh(x)", "reverse", "7.7149993918556711321e-22"),
    (-300.0, "expm1(x)", "reverse", "5.1482002224e-131"),
    (1e10, "special.erfcx(x)", "reverse", "-5.6418958354"),
]


@pytest.mark.parametrize("x, text, scenario, exact", TAILS)
def test_a_tail_that_ad_loses_is_proven(torch_target, x, text, scenario, exact):
    found = ask(torch_target, AT.format(x, text), (scenario,))
    one, proof = entry(found), proof_from(found)
    assert one["verdict"] == "wrong" and one["normal"] and one["correct"] < 1 and proof.matters and kind_of(proof) == "tail"
    assert math.isclose(float(one["exact"]), float(exact) if "e" in exact else float(one["exact"]), rel_tol=1e-9)


@pytest.mark.parametrize(
    "x, text",
    [
        (-700.0, "exp(x)"),
        (1e-300, "log1p(x)"),
        (-700.0, "nn.functional.softplus(x)"),
        (20.0, "erfc(x)"),
        (700.0, "logsumexp(torch.stack([x, 2 * x]), 0)"),
    ],
)
def test_a_tail_that_ad_keeps_is_proven_right(torch_target, x, text):
    assert verdicts(ask(torch_target, AT.format(x, text))) == {"right"}


def test_what_underflows_the_type_is_not_held_against_it(torch_target):
    assert verdicts(ask(torch_target, AT.format(-1e5, "exp(x)"))) == {"right"}
    assert verdicts(ask(torch_target, AT.format(800.0, "sigmoid(x)"))) == {"right"}


@pytest.mark.parametrize("text", ["abs(x)", "nn.functional.relu(x)", "clamp(x, 0.0, 1.0)", "max(torch.stack([x, -x]))"])
def test_a_kink_is_said_to_be_one(torch_target, text):
    found = ask(torch_target, AT.format(0.0, text))
    assert verdicts(found) == {"unknown"} and "kink" in found["entries"][0]["reason"]
    assert proof_from(found).verdict == SILENT


def test_a_kink_in_one_element_leaves_the_others_alone(torch_target):
    text = 'x = tensor((3,), "float64", listed([0.0, 2.0, -3.0]))\ny = torch.abs(x)\n'
    found = ask(torch_target, text)
    own = {e["output"]: e["verdict"] for e in found["entries"] if e["output"][1:] == e["along"][0][1:]}
    assert own == {"y[0]": "unknown", "y[1]": "right", "y[2]": "right"}


LENGTHS = 'x = tensor((2, 2), "float64", listed([0.0, 0.0, 1.0, 2.0]))\ny = torch.linalg.vector_norm(x, dim=1)\n'


def not_finite(*wanted):
    def tamper(measured):
        for row in measured["entries"]:
            if (row["output"][1], row["along"][0][1]) in wanted:
                row["numbers"]["reverse"] = math.nan
        return measured

    return tamper


def test_nan_that_another_s_kink_makes_of_a_zero_proves_nothing(torch_target):
    """Of two rows the first is zero, where its length has no derivative. That the other length does not depend on it is no proof that NaN
    there is wrong; NaN along the second row itself is."""
    found = ask(torch_target, LENGTHS, ("reverse",), tamper=not_finite((1, 0), (0, 2), (1, 3)))
    said = {(e["output"], *e["along"]): (e["verdict"], e["reason"]) for e in found["entries"]}
    assert said["y[1]", "x[0, 0]"] == said["y[0]", "x[1, 0]"] == ("unknown", "zero times a derivative that does not exist")
    assert said["y[0]", "x[0, 0]"] == ("unknown", "a kink, or outside the domain")
    assert said["y[1]", "x[1, 1]"][0] == "wrong" and said["y[1]", "x[1, 0]"][0] == "right"


def test_nan_where_nothing_has_a_kink_is_proven(torch_target):
    found = ask(torch_target, LENGTHS.replace("0.0, 0.0", "3.0, 4.0"), ("reverse",), tamper=not_finite((1, 0)))
    assert {e["output"] + e["along"][0] for e in found["entries"] if e["verdict"] == "wrong"} == {"y[1]x[0, 0]"}
    square = 'x = tensor((2,), "float64", listed([0.0, 2.0]))\ny = torch.mul(x, x)\n'
    found = ask(torch_target, square, ("reverse",), tamper=not_finite((0, 0)))  # it depends on it, and its slope is zero
    assert {e["output"] + e["along"][0] for e in found["entries"] if e["verdict"] == "wrong"} == {"y[0]x[0]"}


def test_branches_are_decided_by_comparison(torch_target):
    text = AT.format(1e-300, "where(x > 0, x * 3, x * 5)")
    assert float(entry(ask(torch_target, text))["exact"]) == 3.0


@pytest.mark.parametrize("target, slope", [(1.0, 1.0), (-1.0, -1.0), (2.0, 0.0)])
def test_a_target_that_is_no_label_means_what_the_library_makes_of_it(torch_target, target, slope):
    text = f'x = tensor((1,), "float64", full(0.25))\nt = tensor((1,), "float64", full({target}), grad=False)\n'
    found = ask(torch_target, text + "y = torch.nn.functional.hinge_embedding_loss(x, t)\n")
    assert verdicts(found) == {"right"} and float(entry(found)["exact"]) == slope


def test_the_parts_of_a_complex_derivative_are_rounded_together(torch_target):
    """At 3.5e-39+8.2e-39j the derivative of acosh is -i, and what its real part should be is far below a rounding of that."""
    text = 'x = tensor((), "complex128", listed([complex(3.5e-39, 8.2e-39)]))\ny = torch.acosh(x)\n'
    assert verdicts(ask(torch_target, text)) == {"right"}
    assert "wrong" in verdicts(ask(torch_target, text, tamper=scaled(1 + 1e-6)))


MATRIX = 'a = tensor((3, 2), "{dtype}", normal(seed=1))\ntau = tensor((2,), "{dtype}", uniform(0.3, 0.9, seed=2))\n'
OTHER = 'c = tensor((3, 3), "{dtype}", normal(seed=3))\n'


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("text", [
    MATRIX + "y = torch.linalg.householder_product(a, tau)\n", MATRIX + OTHER + "y = torch.ormqr(a, tau, c)\n",
    MATRIX + OTHER + "y = torch.ormqr(a, tau, c, left=False, transpose=True)\n",
], ids=["product", "times", "adjoint"])  # fmt: skip
def test_reflections_mean_what_the_library_computes(torch_target, text, dtype):
    found = ask(torch_target, text.format(dtype=dtype), scenarios=("reverse",))
    assert verdicts(found) == {"right"}, found


def test_a_wrong_spelling_is_another_function_and_silent(torch_target, monkeypatch):
    from gradfuzz.targets.homes import home_of

    book = spell.book_of(home_of("torch"))
    wrong = spell.Reading(book.readings["torch.cos"].signature, spell._body("sin(input)"))
    monkeypatch.setitem(book.readings, "torch.cos", wrong)
    found = ask(torch_target, AT.format(0.7, "cos(x)"))
    assert "another function" in found["silent"]


def test_a_formula_that_agrees_in_the_tail_alone_is_another_function(torch_target, monkeypatch):
    from gradfuzz.targets.homes import home_of

    book = spell.book_of(home_of("torch"))
    reading = book.readings["torch.nn.functional.gelu"]
    monkeypatch.setitem(book.readings, "torch.nn.functional.gelu", spell.Reading(reading.signature, spell._body("gelu(input, True)")))
    found = ask(torch_target, AT.format(60.0, "nn.functional.gelu(x)"))
    assert "another function" in found["silent"]


def off_by(value, slope):
    """The library's value and its derivative here, each off by a factor."""

    def tamper(measured):
        measured["outputs"][0]["data"] = [value * number for number in measured["outputs"][0]["data"]]
        return scaled(slope)(measured)

    return tamper


def test_a_value_that_is_off_here_is_no_reason_to_doubt_a_derivative_that_is_right(torch_target):
    """Elsewhere it is the same function. Where both are off, nothing tells which function it is."""
    text = AT.format(0.7, "cos(x)")
    assert verdicts(ask(torch_target, text, ("reverse",), tamper=off_by(1.0001, 1.0))) == {"right"}
    assert "another function" in ask(torch_target, text, ("reverse",), tamper=off_by(1.0001, 1.0001))["silent"]
    assert verdicts(ask(torch_target, text, ("reverse",), tamper=off_by(1.0, 1.0001))) == {"wrong"}


def test_a_small_output_beside_a_large_one_is_right_to_units_of_that_one(torch_target):
    """The value of the likeliest class is zero where it ought to be -4e-18, and its derivative is lost: of outputs that were off by more
    than rounding nobody knows which function it is."""

    def shifted(measured):
        measured["outputs"][0]["data"][0] += 1e-3
        return measured

    text = 'x = tensor((3,), "float64", listed([61.3, 21.3, -41.3]))\ny = torch.log_softmax(x, 0)\n'
    assert "wrong" in verdicts(ask(torch_target, text, ("reverse",)))
    assert verdicts(ask(torch_target, text, ("reverse",), tamper=shifted)) == {"right", "unknown"}


def test_a_formula_that_agrees_where_the_numbers_commute_is_another_function(torch_target, monkeypatch):
    from gradfuzz.targets.homes import home_of

    book = spell.book_of(home_of("torch"))
    reading = book.readings["torch.matmul"]
    swapped = f"matmul({', '.join(reversed(list(reading.signature.parameters)[:2]))})"
    monkeypatch.setitem(book.readings, "torch.matmul", spell.Reading(reading.signature, spell._body(swapped)))
    x, a = (f'tensor((2, 2), "float64", full(2.0), structure="positive_definite"{more})' for more in ("", ", grad=False"))
    found = ask(torch_target, f"x = {x}\na = {a}\ny = torch.matmul(a, x)")
    assert "another function" in found["silent"]


@pytest.mark.parametrize(
    "text",
    [
        "reshape(x, (3, 2))",
        "flip(x, (0,))",
        "nn.functional.pad(x, (1, 2), value=7.0)",
        "roll(x, 1)",
        "tril(x)",
        "unfold_copy(x, 1, 2, 1)",
        "cat([x, 2 * x])",
        "stack([x, x])[1]",
        "gather(x, 1, i)",
        "nn.ReflectionPad1d(1)",
    ],
)
def test_moves_are_read_off_the_library_itself(torch_target, text):
    made = f"m = torch.{text}\ny = torch.sin(m(x))\n" if "nn.R" in text else f"y = torch.sin(torch.{text})\n"
    inputs = 'x = tensor((2, 3), "float64", normal(seed=1))\ni = tensor((2, 2), "int64", listed([0, 2, 1, 1]))\n'
    found = ask(torch_target, inputs + made)
    assert verdicts(found) == {"right"}, found


@pytest.mark.parametrize("text", ["igamma(x, x)", "rrelu(x)", "geqrf(x)"])
def test_what_nobody_says_the_meaning_of_is_not_taken_for_a_move(torch_target, text):
    found = ask(torch_target, f'x = tensor((2, 2), "float64", uniform(0.5, 2.0, seed=1))\ny = torch.{text}\n')
    assert "silent" in found or verdicts(found) == {"unknown"}


def test_calls_in_place_methods_operators_and_modules_are_read(torch_target):
    text = (
        'x = tensor((2, 3), "float64", normal(seed=1))\nm = torch.nn.Linear(3, 2)\nz = (x * 2 - 1) @ x.T\nz.add_(1.0)\n'
        "y = m(x).tanh() + z.sigmoid()\n"
    )
    assert verdicts(ask(torch_target, text)) == {"right"}


def test_single_precision_is_held_to_its_own_digits(torch_target):
    text = 'x = tensor((3,), "float32", uniform(0.5, 2.0, seed=1))\ny = torch.lgamma(x)\n'
    assert verdicts(ask(torch_target, text)) == {"right"}
    assert "wrong" in verdicts(ask(torch_target, text, tamper=scaled(1 + 1e-4)))


def test_cancellation_between_calls_is_the_program_s_and_not_ad_s(torch_target):
    """1 - cos(x) loses its digits in double precision whoever differentiates it."""
    assert verdicts(ask(torch_target, AT.format(1e-5, "sin(x) - x"))) == {"right"}


def test_random_functions_and_large_ones_are_left_alone(torch_target):
    assert "random" in ask(torch_target, 'x = tensor((3,), "float64", normal(seed=1))\ny = torch.nn.functional.dropout(x)\n')["silent"]
    assert ask(torch_target, 'x = tensor((90, 60), "float64", normal(seed=1))\ny = torch.sin(x)\n', most=1)["silent"] == "too large"


def test_a_question_that_takes_too_long_is_given_up(torch_target):
    text = 'x = tensor((30, 30), "float64", normal(seed=1))\ny = torch.matrix_exp(x)\n'
    assert ask(torch_target, text, most=4, seconds=0.0)["silent"] == "took too long"


def test_the_desk_answers_from_a_process_of_its_own_and_ends_one_that_hangs():
    desk = Desk(seconds=5.0)
    try:
        desk.ask(1, {"nonsense": True})
        number, answer = desk.finished.get(timeout=60)
        assert number == 1 and "KeyError" in answer["silent"]
        desk.seconds = 0.1
        desk._children[0].send_signal(signal.SIGSTOP)  # it hangs
        desk.ask(2, {"nonsense": True})
        number, answer = desk.finished.get(timeout=60)
        assert number == 2 and answer["silent"] == "took too long"
        desk.seconds = 5.0
        desk.ask(3, {"nonsense": True})
        assert "KeyError" in desk.finished.get(timeout=60)[1]["silent"]
    finally:
        desk.close()


def test_parts_of_complex_numbers_are_told_apart(torch_target):
    text = 'x = tensor((2,), "complex128", normal(seed=1))\ny = torch.exp(torch.sin(x))\n'
    assert verdicts(ask(torch_target, text)) == {"right"}

    def turned(measured):
        for row in measured["entries"]:
            if row["output"][2]:  # imaginary parts
                row["numbers"]["forward"] *= -1
        return measured

    found = ask(torch_target, text, tamper=turned)
    wrong = [e for e in found["entries"] if e["verdict"] == "wrong"]
    assert wrong and all(e["output"].endswith(".imag") and e["wrong"] == ("forward",) and e["lost"] > 13 for e in wrong)
