"""Which derivatives the reference is asked about where there are too many."""

from itertools import product

import numpy as np

from gradfuzz.worker.measure import choose, spots

X = np.array([0.7, 1.2, 41.0, -0.9, 3e-9, 1.1, 0.0, np.inf, 2.0])


def chosen(outputs, most):
    entries, whole = choose(spots(outputs), spots([X]), 1, None, ["x"], [X], most)
    assert not whole and len(entries) <= most
    return entries


def test_elements_of_unusual_size_come_first():
    (first, second, *rest) = chosen([X], 4)
    assert first == ((0, 4, 0), ((0, 4, 0),)) and second == ((0, 2, 0), ((0, 2, 0),)) and rest


def test_and_where_outputs_are_others_than_inputs():
    (first, second, *_) = chosen([np.zeros(2)], 4)
    assert [along[0][1] for _, along in (first, second)] == [4, 2]


def test_of_elements_in_the_tails_there_is_one_of_each_size_and_sign():
    """A derivative vanishes on one side of zero, and further in than the largest number: that one shows nothing."""
    x = np.array([400.0, 400.0, -400.0, 90.0, 400.0, 40.0, -90.0, 20.0])
    entries, whole = choose(spots([x]), spots([x]), 1, None, ["x"], [x], 4)
    assert not whole and [x[along[0][1]] for _, along in entries[:3]] == [400.0, -400.0, 90.0]
    assert all(output == along[0] for output, along in entries[:3])


def test_small_and_large_numbers_are_of_two_sizes():
    x = np.array([1e-2, 1e2, 1.0, 1.0, 1.0, 1.0])
    entries, _ = choose(spots([x]), spots([x]), 1, None, ["x"], [x], 4)
    assert {x[along[0][1]] for _, along in entries[:2]} == {1e-2, 1e2}


def test_entries_a_stride_apart_are_those_of_all_in_their_order():
    x, y = np.array([0.7, 1.2, 0.9]), np.ones(2, complex)
    outputs, inputs = spots([y]), spots([x])
    entries, whole = choose(outputs, inputs, 2, "x[1]", ["x"], [x], 4)
    every = list(product(outputs, product(inputs, [(0, 1, 0)])))
    assert not whole and len(every) == 12 and entries == [(o, ((0, 1, 0),) * 2) for o in outputs[::2]] + [every[0], every[3]]


def test_nobody_counts_through_the_entries_of_a_third_derivative():
    """There are more than could be counted in a year."""
    x = np.linspace(0.5, 1.5, 1000)
    entries, whole = choose(spots([x]), spots([x]), 3, None, ["x"], [x], 4)
    assert not whole and len(entries) == 4
