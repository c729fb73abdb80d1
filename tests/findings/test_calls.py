"""What an API passes through: its own function first, what computes, and how many public functions lead to each."""

import pytest

from gradfuzz.findings.inside import calls as inside
from gradfuzz.findings.inside.calls import MOST_CALLERS, calls
from gradfuzz.program import parse
from gradfuzz.targets.homes import load_target
from gradfuzz.worker.rehearsal import rehearse

TEXT = 'x = tensor((3,), "float64", listed([0.5, 1.5, 2.5]))\ny = {}\n'


@pytest.fixture(scope="module")
def jax_target():
    pytest.importorskip("jax")
    return load_target("jax")


def passed(target, api, call):
    return {name.rsplit(".", 1)[-1]: count for name, count in calls(target, api, parse(TEXT.format(call), target.language))}


def test_a_helper_is_told_with_how_many_lead_to_it(jax_target):
    found = passed(jax_target, "jax.numpy.union1d", "jax.numpy.union1d(x, x)")
    assert next(iter(found)) == "union1d" and found["union1d"] == 1
    assert 5 < found["unique"] == found["_unique"] < MOST_CALLERS


def test_what_everything_passes_through_is_left_out(jax_target):
    found = passed(jax_target, "jax.scipy.stats.norm.logsf", "jax.scipy.stats.norm.logsf(x)")
    assert {"logsf", "logcdf", "log_ndtr"} <= set(found)
    assert not {"promote_args_inexact", "asarray", "where", "_check_no_float0s"} & set(found)


def test_a_function_and_its_other_names_and_its_method_are_one(jax_target):
    names = [calls(jax_target, api, parse(TEXT.format(call), jax_target.language))[0][0] for api, call in [
        ("jax.numpy.std", "jax.numpy.std(x)"), ("Tensor.std", "x.std()"),
    ]]  # fmt: skip
    assert names == [names[0]] * 2 and names[0].endswith(".std")


def test_what_is_called_on_a_part_of_a_tensor_is_no_function_of_that_name(jax_target):
    assert passed(jax_target, "Tensor.at.power", "x.at[0].power(2.0)") == {}


def test_compiled_functions_and_what_a_decorator_puts_in_their_place_have_nothing_to_tell(torch_target):
    assert passed(torch_target, "torch.sin", "torch.sin(x)") == {}
    assert passed(torch_target, "torch.nn.functional.adaptive_max_pool1d", "torch.nn.functional.adaptive_max_pool1d(x, 2)") == {}


def test_of_a_compiled_function_the_text_of_the_library_is_not_read(torch_target, monkeypatch):
    def read(language):
        raise AssertionError("it takes longer than all else that is asked of the process")

    monkeypatch.setattr("gradfuzz.findings.inside.calls.Text", read)
    assert passed(torch_target, "torch.sin", "torch.sin(x)") == {}
    with pytest.raises(AssertionError):
        passed(torch_target, "torch.nn.functional.gaussian_nll_loss", "torch.nn.functional.gaussian_nll_loss(x, x, x)")


def test_functions_of_python_are_run_where_that_costs_nothing(torch_target):
    found = passed(torch_target, "torch.nn.functional.gaussian_nll_loss", "torch.nn.functional.gaussian_nll_loss(x, x, x)")
    assert found == {"gaussian_nll_loss": 1}


def test_what_a_call_is_given_is_told_however_many_lead_to_it(jax_target):
    pytest.importorskip("jax").clear_caches()  # what other tests have traced is not run again
    found = passed(jax_target, "jax.lax.reduce", "jax.lax.reduce(x, 0.0, jax.numpy.hypot, (0,))")
    assert list(found)[:2] == ["reduce", "hypot"]
    assert passed(jax_target, "jax.lax.reduce", "jax.lax.reduce(x, 0.0, jax.lax.div, (0,))")["div"] > MOST_CALLERS


def test_the_text_of_a_library_in_python_is_read_once_for_all_forks(jax_target, torch_target, monkeypatch):
    monkeypatch.setattr(inside, "_REMEMBERED", [])
    rehearse(torch_target)
    assert not inside._REMEMBERED
    rehearse(jax_target)
    read = inside.text_of(jax_target.language)
    assert inside.text_of(jax_target.language) is read and inside.text_of(torch_target.language) is not read
    assert "union1d" in passed(jax_target, "jax.numpy.union1d", "jax.numpy.union1d(x, x)")
