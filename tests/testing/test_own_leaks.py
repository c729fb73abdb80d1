"""Growing memory and growing graphs are reported; steady ones are not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny import Value, adapter, cube

from gradfuzz.errors import GradfuzzError
from gradfuzz.testing import LeakFound, check_leaks


@pytest.mark.slow
def test_a_steady_function_does_not_leak():
    assert not check_leaks(cube, np.ones(3), library=adapter(Value)).leaks
    assert not check_leaks(torch.sin, torch.ones(3, dtype=torch.float64)).leaks


@pytest.mark.slow
def test_functions_of_jax_are_run_too():
    jnp = pytest.importorskip("jax.numpy")
    assert not check_leaks(jnp.sin, np.ones(3), library="jax").leaks


@pytest.mark.slow
def test_what_is_kept_from_every_run_is_a_leak():
    kept = []

    def hoarding(x):
        out = x * x
        kept.append(out)
        return out

    with pytest.raises(LeakFound) as caught:
        check_leaks(hoarding, np.ones(3), library=adapter(Value))
    text = str(caught.value)
    assert text.startswith("hoarding leaks over 100 runs of forward and backward: ")
    assert "objects that stay alive: " in text
    assert "tiny.Value a run" in text
    assert "memory grows by " in text


@pytest.mark.slow
def test_arrays_that_no_object_count_sees_are_a_leak_too():
    kept = []

    def caching(x):
        kept.append(np.zeros(50))
        return x * x

    with pytest.raises(LeakFound, match=r"memory grows by \d+ bytes a run, most of it from .*test_own_leaks\.py:\d+"):
        check_leaks(caching, np.ones(3), library=adapter(Value))


def test_a_graph_that_grows_from_step_to_step_is_a_leak():
    state = {"total": torch.zeros((), dtype=torch.float64)}
    weight = torch.ones(2, dtype=torch.float64, requires_grad=True)

    def step():
        with torch.enable_grad():
            loss = (weight * weight).sum()
            loss.backward(retain_graph=True)
            state["total"] = state["total"] + loss  # without detach: every step's graph is part of the next
        return state["total"]

    with pytest.raises(LeakFound, match=r"the graph grows by \d\.\d nodes a run"):
        check_leaks(step)


def test_the_same_step_with_detach_is_fine():
    state = {"total": torch.zeros((), dtype=torch.float64)}
    weight = torch.ones(2, dtype=torch.float64, requires_grad=True)

    def step():
        with torch.enable_grad():
            loss = (weight * weight).sum()
            loss.backward()
            state["total"] = state["total"] + loss.detach()
        return state["total"]

    assert not check_leaks(step).leaks


@pytest.mark.slow
def test_a_home_made_graph_that_grows():
    state = {"total": Value(0.0)}

    def step():
        loss = Value(2.0) * Value(3.0)
        state["total"] = state["total"] + loss
        return state["total"]

    with pytest.raises(LeakFound, match=r"the graph grows by \d\.\d nodes a run"):
        check_leaks(step)


def test_a_trend_takes_some_runs():
    with pytest.raises(GradfuzzError, match="a trend takes 10 runs at least"):
        check_leaks(cube, np.ones(3), library=adapter(Value), runs=3)
