"""What a batch asks the reference about where it found nothing: numbers at which differences are blind, in tails and at either end."""

import numpy as np

from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.program.codec import to_json
from gradfuzz.program.parse import parse
from gradfuzz.program.values import materialise
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.asking import ASKED_EVERY, FAR_OUT, OVERFLOWN
from gradfuzz.worker.batch import run_batch
from gradfuzz.worker.depth import Depth
from tests.worker_side.numpy_library import NumpyTarget

SEED = parse('x = tensor((4,), "float64", normal(seed=1))\ny = torch.sin(x)\n', language_for("torch"))


class Silent:
    def write(self, *_):
        pass

    def note(self, *_):
        pass


def asked(f, slope, count, start=0, number=0):
    """The numbers of each mutant that is asked about, the seed's own left out."""
    return [x for x, _ in told(f, slope, count, start, number)]


def told(f, slope, count, start=0, number=0):
    """The same, with which size each question is about."""
    target = NumpyTarget(f, lambda x: [np.diag(slope(x))])
    target.forget, target.family, target.steady_rules, target.parameters = lambda: None, 1, True, lambda func: []
    job = {"id": 1, "api": "torch.sin", "program": to_json(SEED), "rng": "0", "start": start, "count": count, "weights": None,
           "number": number, "cover": [0, 0, "0", "0", "0", "0", "0", "0", "0"], "depth": Depth().to_json()}  # fmt: skip
    with np.errstate(all="ignore"):
        questions = run_batch(target, job, Silent(), lambda suspicion: None)["questions"]
    mutants = [([Edit.from_json(e) for e in q["edits"]], q["far"]) for q in questions if q["edits"]]
    return [(np.abs(materialise(apply_all(SEED, edits).inputs["x"])), far) for edits, far in mutants]


def among(sizes, end):
    low, high = FAR_OUT[end]
    return [bool(((low < x) & (x <= high)).any()) for x in sizes]


def test_one_question_about_each_size():
    sizes = asked(np.tanh, lambda x: 1 - np.tanh(x) ** 2, 200)
    assert {end: sum(among(sizes, end)) for end in FAR_OUT} == dict.fromkeys(FAR_OUT, 1)


def test_each_question_says_which_size_it_is_about():
    for sizes, far in told(np.tanh, lambda x: 1 - np.tanh(x) ** 2, 200):
        assert among([sizes], far) == [True]


def test_tails_come_first():
    assert among(asked(np.tanh, lambda x: 1 - np.tanh(x) ** 2, 200), "tail")[0]


def test_a_design_that_goes_on_asks_about_what_it_tries_by_itself():
    """First batches of many functions are short: they end before the design has come to its tails."""
    sizes = asked(np.tanh, lambda x: 1 - np.tanh(x) ** 2, 200, start=3, number=1)
    assert {end: sum(among(sizes, end)) for end in FAR_OUT} == dict.fromkeys(FAR_OUT, 1)


def test_chance_asks_nothing_more_where_a_batch_goes_on():
    assert not asked(np.tanh, lambda x: 1 - np.tanh(x) ** 2, 400, start=200, number=1)


def test_more_where_a_batch_has_many_mutants():
    assert len(asked(np.tanh, lambda x: 1 - np.tanh(x) ** 2, 3 * ASKED_EVERY)) > 2


def test_what_cannot_be_asked_spends_no_question():
    """Where the first large numbers overflow, others are asked about."""
    sizes = asked(lambda x: np.exp(np.where(x > 30, 1e3, x)), lambda x: np.exp(np.where(x > 30, 1e3, x)), 200)
    assert any(among(sizes, "tail") + among(sizes, "huge"))


def test_what_lies_below_the_last_place_of_one_has_a_question_of_its_own():
    """A formula that takes a number from one loses it, and little of what is merely tiny."""
    sizes = asked(np.tanh, lambda x: 1 - np.tanh(x) ** 2, 200)
    (small,) = [x for x, is_beside in zip(sizes, among(sizes, "beside zero")) if is_beside]
    assert small.min() < 2**-53 < small.max() < 1e-9


def test_a_value_that_has_just_overflown_is_asked_about_and_one_that_is_far_beyond_is_not():
    """The derivative of a power of two is smaller than its value: beside the end of the range it is well inside."""
    asked_about = [sizes for sizes, far in told(np.exp2, lambda x: np.exp2(x) * np.log(2.0), 200) if far == OVERFLOWN]
    assert len(asked_about) == 1 and asked_about[0].max() >= 1024.3
    assert not [far for _, far in told(np.tanh, lambda x: 1 - np.tanh(x) ** 2, 200) if far == OVERFLOWN]
    assert not [far for _, far in told(lambda x: x / 0.0, lambda x: x * np.inf, 200) if far == OVERFLOWN]
