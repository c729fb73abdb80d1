"""Arguments made up for derivatives that nobody called: numbers where a name or a type asks for them, tensors elsewhere."""

import inspect

import numpy as np

from gradfuzz.targets.base.made_up import SHAPES, TENSOR, calls, finite, has_tensor, no_tensor, options


def parameters(function):
    return list(inspect.signature(function).parameters.values())


def test_a_type_decides_then_a_name_then_it_is_a_tensor():
    def f(x, dim, steps: int, weight: "float", flag: bool, scale, out=None): ...

    found = {p.name: options(p)[0] for p in parameters(f)}
    assert found == {"x": TENSOR, "dim": 0, "steps": 1, "weight": 0.5, "flag": False, "scale": 2.0, "out": TENSOR}


def test_what_is_said_to_be_no_tensor_is_a_number():
    def f(x, dim, steps: float): ...

    fixed = list(map(no_tensor, parameters(f)))
    assert [options(p)[0] for p in fixed] == [1, 0, 0.5] and not any(TENSOR in options(p) for p in fixed)


def test_calls_leave_out_what_has_a_default_and_each_has_a_tensor():
    def f(x, dim, out=None): ...

    made = list(calls(parameters(f), lambda numbers: numbers))
    assert all(len(arguments) == 2 for arguments in made)
    assert all(any(isinstance(a, np.ndarray) for a in arguments) for arguments in made)
    assert {a.shape for arguments in made for a in arguments if isinstance(a, np.ndarray)} == set(SHAPES)
    assert made[0][1] == 0


def test_what_takes_nothing_is_not_called():
    assert list(calls(parameters(lambda: None), np.asarray)) == []


def test_tensors_are_seen_among_results_and_so_is_what_is_not_finite():
    assert has_tensor((None, {"a": [np.ones(2)]})) and not has_tensor((None, 1.0, len))
    assert finite([np.ones(2), 3]) and not finite({"a": np.array([1.0, np.nan])})
