"""Single-argument ops are found by looking, and nothing else is."""

import pytest

from gradfuzz.chains.ops import Op, choose, find_ops, fingerprint
from gradfuzz.targets.homes import load_target


@pytest.fixture(scope="module")
def plain():
    return load_target("torch")


@pytest.fixture(scope="module")
def ops(plain):
    return find_ops(plain)


def test_there_are_enough_of_them_to_make_pairs(ops):
    assert len(ops) >= 50


def test_elementwise_functions_are_ops(ops):
    names = {op.name for op in ops}
    assert {"sin", "exp", "digamma", "lgamma", "erfinv", "rsqrt", "softplus", "i1e"} <= names


@pytest.mark.parametrize("name", ["softmax", "cumsum", "sort", "flip", "mean", "dropout", "rand_like", "frexp", "fftshift", "inverse"])
def test_what_mixes_elements_is_random_or_gives_several_tensors_is_none(ops, name):
    assert name not in {op.name for op in ops}


def test_an_alias_comes_once(plain, ops):
    assert fingerprint(plain, Op("torch.absolute")) == fingerprint(plain, Op("torch.abs"))
    assert len([op for op in ops if op.name in ("abs", "absolute")]) == 1


def test_globs_choose_by_short_and_full_name(ops):
    assert {op.name for op in choose(ops, ["log*"])} >= {"log", "log1p", "logit"}
    assert all(op.func.startswith("torch.special.") for op in choose(ops, ["torch.special.*"]))
