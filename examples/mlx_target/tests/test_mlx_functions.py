"""People's own functions of MLX's arrays, and programs whose calls are recorded."""

import numpy as np
import pytest

import gradfuzz
from gradfuzz.seeds.library import read_jsonl
from gradfuzz.testing import GradientMismatch, check_gradients


def test_a_function_of_ones_own_is_checked(mlx, planted):
    x = mlx.array(np.array([0.5, 1.5]), dtype=mlx.float64)
    assert check_gradients(lambda x: mlx.tanh(planted.healthy(x)), x, order=2)
    with pytest.raises(GradientMismatch):
        check_gradients(planted.wrong_reverse, x)


def test_numpy_arrays_do_with_the_librarys_name(mlx):
    assert check_gradients(lambda x, i: mlx.square(x[i]), np.array([0.5, 1.5]), np.array([1, 0, 1]), library="mlx")


@pytest.mark.filterwarnings("ignore::gradfuzz.testing.InconclusiveWarning")
def test_a_kernel_that_is_single_precision_inside_is_no_mismatch(mlx):
    check_gradients(lambda x: mlx.exp(x) * mlx.sin(x), np.array([0.5, 1.5, -0.3]), library="mlx", order=2)


def test_a_programs_own_calls_become_seeds(mlx, target, tmp_path):
    before = mlx.tanh
    with gradfuzz.record(tmp_path / "seeds.jsonl", target="mlx") as recording:
        mlx.grad(lambda w: mlx.sum(mlx.tanh(mlx.matmul(mlx.ones((5, 4)), w))))(mlx.full((4, 3), 0.25))
    assert mlx.tanh is before
    seeds = read_jsonl(tmp_path / "seeds.jsonl")
    assert recording.count == len(seeds) and {"mlx.core.matmul", "mlx.core.tanh", "mlx.core.sum"} <= {seed.api for seed in seeds}
