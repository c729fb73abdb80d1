"""check_gradients on functions of every library: planted bugs are caught, their healthy twins are not."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import own_torch
import pytest
import torch
from tiny import Forgetful, Value, adapter, cube

import gradfuzz
from gradfuzz.errors import GradfuzzError
from gradfuzz.testing import InconclusiveWarning

RNG = np.random.default_rng(5)
MOST_AGREEING = 15  # evaluations of an agreeing check, at order two as well


def normal(*shape):
    return torch.from_numpy(RNG.standard_normal(shape))


def mismatch(f, *inputs, **options):
    with pytest.raises(gradfuzz.GradientMismatch) as caught:
        gradfuzz.check_gradients(f, *inputs, **options)
    return caught.value


# Each library, healthy and wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_a_healthy_torch_function_agrees(order):
    found = gradfuzz.check_gradients(own_torch.healthy_sine, normal(3, 4), normal(4), order=order)
    assert found.conclusive
    assert [v.outcome for v in found.verdicts] == ["agree"] * order


def test_a_wrong_torch_backward_is_caught_and_narrowed_down():
    error = mismatch(own_torch.weighted_sine, torch.tensor([[0.5, 2.5], [0.3, -0.7]], dtype=torch.float64), normal(2))
    assert error.verdict.names == ["reverse"]
    assert "reverse along x[0, 1] differs from the numeric derivative" in str(error)
    assert error.example["x"].size == 1
    assert error.example["x"].ravel()[0] > 1
    row = error.evidence.worst
    assert row.numbers["reverse"] == pytest.approx(1.1 * row.numeric, rel=1e-6)
    assert row.bar < 1e-9


def test_the_element_at_fault_is_in_the_table_even_if_nothing_can_be_made_smaller():
    class WrongAt777(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            wrong = 3 * g
            wrong[777] += 1
            return wrong

    error = mismatch(lambda x: WrongAt777.apply(x.reshape(1000)), normal(1000))
    assert error.evidence.worst.element == "x[777]"
    assert "… and 999 more elements" in str(error)
    assert "too long to print" in error.reproducer


def test_a_wrong_forward_mode_is_told_from_a_right_reverse_mode():
    error = mismatch(own_torch.WrongTangent.apply, normal(3))
    assert error.verdict.names == ["forward"]
    assert "<- forward wrong" in str(error)
    assert gradfuzz.gradients_agree(own_torch.WrongTangent.apply, normal(3), modes=("reverse",))


def test_a_wrong_second_derivative_is_caught_at_order_two_only():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert gradfuzz.gradients_agree(own_torch.cubed, x, order=1)
    error = mismatch(own_torch.cubed, x, order=2)
    assert error.verdict.order == 2
    assert str(error).startswith("the second derivative of cubed is wrong (torch ")
    assert error.evidence.worst.numeric == pytest.approx(2 * error.evidence.worst.numbers["reverse-over-reverse"])


def test_a_modules_parameters_are_inputs():
    assert gradfuzz.gradients_agree(own_torch.Layer(torch.sin), normal(3))
    error = mismatch(own_torch.Layer(own_torch.WrongSine.apply), normal(3))
    assert "parameters['weight'][0]" in str(error)


@pytest.fixture
def jax_as_it_comes():
    """JAX in single precision, whatever another test of this process has made of it."""
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", before)


def test_jax_functions(jax_as_it_comes):
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    @jax.custom_vjp
    def wrong(x):
        return jnp.sin(x)

    wrong.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (-g * jnp.cos(x),))
    x = RNG.standard_normal((2, 3))
    found = gradfuzz.check_gradients(lambda p: jnp.tanh(p["a"] @ p["b"]), {"a": x, "b": x.T}, library="jax", order=2)
    assert found.conclusive and found.evaluations <= MOST_AGREEING
    error = mismatch(wrong, x, library="jax")
    assert error.verdict.names == ["reverse"]
    assert not jax.config.jax_enable_x64  # the check's double precision is its own affair


def test_jax_single_precision_is_judged_by_what_its_rounding_explains(jax_as_it_comes):
    jnp = pytest.importorskip("jax.numpy")
    assert gradfuzz.check_gradients(jnp.sin, jnp.ones(3)).verdicts[0].oracle == "precision"


def test_hips_autograd_functions():
    anp = pytest.importorskip("autograd.numpy")
    from autograd.extend import defjvp, defvjp, primitive

    @primitive
    def wrong(x):
        return np.sin(x)

    defvjp(wrong, lambda out, x: lambda g: g * np.cos(x) + 0.01)
    defjvp(wrong, lambda g, out, x: g * anp.cos(x))
    x, y = RNG.standard_normal((2, 3)), RNG.standard_normal(3)
    assert gradfuzz.check_gradients(lambda x, y: (anp.sin(x * y), anp.exp(x)), x, y, order=2, library="autograd").conclusive
    assert mismatch(lambda x: wrong(x), x, library="autograd").verdict.names == ["reverse"]


def test_tensorflow_functions():
    tf = pytest.importorskip("tensorflow", reason="tensorflow is not installed here: its adapter is NOT tested in this run")

    @tf.custom_gradient
    def wrong(x):
        return tf.sin(x), lambda g: -g * tf.cos(x)

    x = tf.constant(RNG.standard_normal((2, 3)))
    found = gradfuzz.check_gradients(lambda x: tf.tanh(x) * x, x, order=2)
    assert found.conclusive and found.evaluations <= MOST_AGREEING
    assert mismatch(wrong, x, modes=("reverse",)).verdict.names == ["reverse"]


def test_a_home_made_class():
    x = np.array([1.5, -2.0])
    assert gradfuzz.check_gradients(cube, x, library=adapter(Value)).conclusive
    assert not gradfuzz.gradients_agree(cube, x, library=adapter(Forgetful))


# The message ---------------------------------------------------------------------------------------------------------


def test_the_message_is_something_a_person_can_act_on():
    error = mismatch(cube, np.array([[1.5, -2.0]]), library=adapter(Forgetful))
    assert str(error).splitlines() == [
        "the first derivative of cube is wrong (tiny; inputs x float64[1, 2])",
        "",
        "  reverse along x[0, 0] differs from the numeric derivative; 13 of 13 finite-difference checks contradict it "
        "(1 reruns, 14 steps each), 0 agree with it",
        "",
        "  the derivative of output[0], in the smallest failing example:",
        "",
        "    derivative by  reverse  numeric  error bar",
        f"    x[0]           1        3        {error.evidence.worst.bar:.1e}    <- reverse wrong",
        "",
        "  the smallest failing example:",
        "",
        "    import gradfuzz",
        "    import numpy as np",
        "    from tiny import cube",
        "    x = np.array([1.0])",
        "    gradfuzz.check_gradients(cube, x, library=adapter)",
    ]


def test_the_reproducer_runs_and_fails_by_itself(tmp_path):
    error = mismatch(own_torch.weighted_sine, torch.tensor([0.5, 2.5], dtype=torch.float64), normal(2))
    (tmp_path / "repro.py").write_text(error.reproducer)
    path = ":".join([*sys.path])
    done = subprocess.run([sys.executable, "repro.py"], cwd=tmp_path, env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "GradientMismatch: the first derivative of weighted_sine is wrong" in done.stderr


def test_a_gradient_of_the_wrong_shape_is_said_to_be_that():
    class Flat(Value):
        pass

    flat = adapter(Flat)
    wrong = type(flat)(**{**flat.__dict__, "gradient": lambda t: flat.gradient(t).ravel()})
    error = mismatch(cube, np.ones((2, 2)), library=wrong, shrink=False)
    assert "the gradient of input 0 has shape (4,), the input (2, 2)" in str(error)


def test_a_backward_that_raises_is_a_mismatch():
    class Broken(Value):
        def collect(self, more):
            raise ZeroDivisionError("no way back")

    error = mismatch(cube, np.ones(2), library=adapter(Broken))
    assert "ZeroDivisionError: no way back" in str(error)


def test_a_gradient_that_is_not_a_number_is_caught():
    def wrong(x):
        return torch.where(x > 0, torch.sqrt(x), x * 0)  # NaN · 0 on the side that is not taken

    error = mismatch(wrong, torch.tensor([-1.0, 4.0], dtype=torch.float64))
    assert error.verdict.kind == "nonfinite"
    assert "nan" in str(error)


# What is differentiated ----------------------------------------------------------------------------------------------


def test_whole_numbers_and_other_arguments_are_passed_on():
    def pick(x, index, scale):
        return x[index] * scale

    assert gradfuzz.check_gradients(pick, normal(4), torch.tensor([0, 0, 2]), 3).conclusive


def test_only_tensors_that_require_it_are_differentiated_if_any_does():
    def half_wrong(x, w):
        return x * own_torch.WrongSine.apply(w)

    w = torch.tensor([2.0], dtype=torch.float64)
    assert gradfuzz.gradients_agree(half_wrong, normal(1).requires_grad_(), w)
    assert not gradfuzz.gradients_agree(half_wrong, normal(1), w)


def test_structure_keeps_steps_inside_the_domain():
    a = torch.tensor([[2.0, 0.3], [0.3, 1.0]], dtype=torch.float64)
    assert gradfuzz.check_gradients(torch.linalg.cholesky, a, structure="positive_definite").conclusive


def test_random_functions_are_seeded_and_the_generator_is_left_as_it_was():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    x = torch.arange(1.0, 9.0, dtype=torch.float64)
    assert gradfuzz.check_gradients(torch.nn.functional.dropout, x).conclusive
    assert torch.equal(torch.rand(2), expected)


def test_recording_is_left_as_it_was():
    with torch.enable_grad():
        gradfuzz.check_gradients(torch.sin, normal(2))
        assert torch.is_grad_enabled()


def test_functions_that_write_to_their_inputs_are_fine():
    x = normal(3)
    before = x.clone()
    assert gradfuzz.check_gradients(lambda x: x.mul_(2).sin(), x).conclusive
    assert torch.equal(x, before)


# What cannot be judged -----------------------------------------------------------------------------------------------


def test_a_kink_is_no_mismatch_and_is_said_aloud():
    with pytest.warns(InconclusiveWarning, match=r"the gradient of relu could not be judged \(order 1: kink"):
        found = gradfuzz.check_gradients(torch.relu, torch.tensor([0.0, 1.0], dtype=torch.float64))
    assert not found.conclusive


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: gradfuzz.check_gradients(torch.sin, torch.arange(3)), "no input is a floating array or tensor"),
        (lambda: gradfuzz.check_gradients(torch.argmax, normal(3)), "argmax cannot be checked: no floating output"),
        (lambda: gradfuzz.check_gradients(torch.sin, normal(3), order=0), "derivatives start at order 1"),
        (lambda: gradfuzz.check_gradients(cube, np.ones(2), library=adapter(Value), order=2), "up to order 1 here"),
        (lambda: gradfuzz.check_gradients(torch.sin, normal(3), modes=("back",)), "unknown mode 'back' at order 1; known: reverse"),
        (lambda: gradfuzz.check_gradients(torch.linalg.cholesky, normal(3)), "cholesky itself fails at these inputs"),
        (lambda: gradfuzz.check_gradients(torch.sin, normal(3), library="numpy"), "library='numpy' is not known; known: jax, oneflow"),
        (lambda: gradfuzz.check_gradients(torch.sin, normal(3), structure="round"), "unknown structure 'round'"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_clear_line(call, text):
    with pytest.raises(GradfuzzError) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ordinary_checks_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradfuzz.check_gradients(cube, np.array([1.0, 2.0]), library=adapter(Value))
        gradfuzz.check_gradients(torch.log, torch.tensor([1e-3, 2.0], dtype=torch.float64))


def test_importing_gradfuzz_imports_nothing_heavy():
    code = "import sys, gradfuzz; assert not {'numpy', 'torch', 'hypothesis', 'matplotlib'} & set(sys.modules); gradfuzz.check_gradients"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
