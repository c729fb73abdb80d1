"""The other direction: what the direct run refuses is put to the derivatives, too."""

import numpy as np
import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.kinds import title
from gradfuzz.oracles.verdict import INTERNAL, INVALID, STATUS, UNSUPPORTED
from gradfuzz.program.parse import parse
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.batch import run_batch
from gradfuzz.worker.depth import Depth
from tests.worker_side.numpy_library import NumpyTarget

PROGRAM = parse('x = tensor((3,), "float64", normal(seed=1))\ny = torch.sin(x)\n', language_for("torch"))
ASKED = Options(order=1, refused=True)


def refuses(x):
    raise ValueError("size must be 2, got 3")


def asserts(x):
    raise RuntimeError("ASSERT FAILED at kernel.cpp")


def test_what_a_derivative_accepts_alone_is_a_finding():
    (verdict,) = examine(NumpyTarget(refuses, under=np.sin), PROGRAM, ASKED).verdicts
    assert verdict.is_finding and verdict.kind == STATUS and verdict.order == 1
    assert verdict.names == ["reverse", "forward"] and "size must be 2" in verdict.reason
    assert title(verdict) == "accepted under reverse and forward, refused directly"


@pytest.mark.parametrize("under", [None, refuses])
def test_what_is_refused_everywhere_is_invalid(under):
    assert examine(NumpyTarget(refuses, under=under), PROGRAM, ASKED).outcome == INVALID


def test_nothing_is_asked_where_nobody_said_so():
    assert examine(NumpyTarget(refuses, under=np.sin), PROGRAM, Options(order=1)).outcome == INVALID


def test_a_refusal_that_comes_and_goes_is_none():
    """A cache, a lazy import, a first call that fails: the derivative came later, that is all."""
    calls = []

    def moody(x):
        calls.append(x)
        if len(calls) == 1:
            raise ValueError("not ready")
        return np.sin(x)

    assert examine(NumpyTarget(moody, under=np.sin), PROGRAM, ASKED).outcome == INVALID


def test_what_the_library_declares_not_to_have_is_not_held_against_it():
    def lacks(x):
        raise NotImplementedError("no kernel for this type")

    assert examine(NumpyTarget(lacks, under=np.sin), PROGRAM, ASKED).outcome == INVALID


def test_an_assertion_under_differentiation_alone_is_a_finding():
    (verdict,) = examine(NumpyTarget(refuses, under=asserts), PROGRAM, ASKED).verdicts[:1]
    assert verdict.is_finding and verdict.kind == INTERNAL


def test_outputs_of_any_type_are_run_under_differentiation():
    found = examine(NumpyTarget(lambda x: x > 0, under=asserts), PROGRAM, ASKED).verdicts
    assert {v.kind for v in found} == {INTERNAL} and all(v.is_finding for v in found)
    assert examine(NumpyTarget(lambda x: x > 0), PROGRAM, ASKED).outcome == UNSUPPORTED
    assert examine(NumpyTarget(lambda x: x > 0, under=refuses), PROGRAM, ASKED).outcome == UNSUPPORTED


class Silent:
    def write(self, *_):
        pass

    def note(self, *_):
        pass


def batch(target, refused):
    """The suspicions of a batch of twelve mutants, and how often the function was run under differentiation."""
    from gradfuzz.program.codec import to_json

    target.family, target.steady_rules, target.parameters, target.forget = 1, True, lambda func: [], lambda: None
    told = []
    job = {"program": to_json(PROGRAM), "api": "torch.sin", "rng": "0", "weights": {}, "start": 0, "count": 12, "id": 1,
           "depth": Depth(refused=refused).to_json(), "cover": None}  # fmt: skip
    run_batch(target, job, Silent(), told.append)
    return told


def test_each_message_of_a_batch_is_asked_once():
    asked = []

    def under(x):
        asked.append(x)
        raise ValueError("no")

    batch(NumpyTarget(refuses, under=under), 8)
    assert len(asked) == 2  # one message, which is the same for all sizes; two modes
    assert not batch(NumpyTarget(refuses, under=np.sin), 0)
    (suspicion,) = batch(NumpyTarget(refuses, under=np.sin), 8)
    assert suspicion.options.refused and suspicion.verdict.kind == STATUS
