"""The tails of a function are put to the reference at both orders, however large the samples of its API are."""

import pytest

from gradfuzz.mutate.cover import Cover
from gradfuzz.program import parse
from gradfuzz.program.codec import to_json
from gradfuzz.worker.batch import run_batch
from gradfuzz.worker.depth import Depth

SEED = 'x = tensor({shape}, "float64", uniform(-8.0, 9.0, seed=1))\ny = torch.atan(x)\n'


class Silent:
    def write(self, *_):
        pass

    def note(self, *_):
        pass


@pytest.mark.parametrize("shape, orders", [("(20, 20)", [1, 2]), ("(40, 40)", [])])
def test_the_tails_are_asked_about_at_orders_one_and_two(torch_target, shape, orders):
    seed = parse(SEED.format(shape=shape), torch_target.language)
    job = {"program": to_json(seed), "api": "torch.atan", "rng": "0", "weights": {}, "start": 0, "count": 40, "id": 1, "number": 1,
           "depth": Depth(((1, 2),)).to_json(), "cover": Cover().to_json()}  # fmt: skip
    questions = [q for q in run_batch(torch_target, job, Silent(), lambda suspicion: None)["questions"] if q["edits"]]
    numbers = [edit[2]["args"][0] for question in questions for edit in question["edits"] if edit[0] == "values"]
    tails = [q for q, args in zip(questions, numbers) if isinstance(args, list) and max(args) > 25]
    assert [len(q["scenarios"][0].split("-over-")) for q in tails] == orders


def test_a_tail_that_was_looked_at_to_order_one_uses_up_no_question_of_order_two(torch_target):
    """Most mutants stop at order one: the first with numbers in the tail is seldom one that goes on."""
    seed = parse(SEED.format(shape="(4,)"), torch_target.language)
    job = {"program": to_json(seed), "api": "torch.atan", "rng": "0", "weights": {}, "start": 0, "count": 100, "id": 1, "number": 1,
           "depth": Depth(((5, 2),)).to_json(), "cover": Cover().to_json()}  # fmt: skip
    questions = [q for q in run_batch(torch_target, job, Silent(), lambda suspicion: None)["questions"] if q["edits"]]
    assert {len(q["scenarios"][0].split("-over-")) for q in questions} == {1, 2}
