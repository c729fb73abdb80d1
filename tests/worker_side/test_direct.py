"""A derivative that raises is held against a direct run that stands by itself, and against no other."""

import multiprocessing
import os

import numpy as np
import pytest

from gradfuzz.program.codec import to_json
from gradfuzz.program.parse import parse
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.direct import direct
from tests.worker_side.numpy_library import NumpyTarget

PROGRAM = parse('x = tensor((3,), "float64", normal(seed=1))\ny = torch.sin(x)\n', language_for("torch"))


def differs(x):
    return x + os.getpid()


def unwritten(x):
    """The last number is whatever lay in memory."""
    y = np.empty(400)
    y[:399] = x[0]
    return y


def written(x):
    y = np.empty(400)
    y[:] = x[0]
    return y


def undefined(x):
    return np.log(-np.abs(x))


def raises_elsewhere(x, home=os.getpid()):
    if os.getpid() != home:
        raise ValueError("nothing here")
    return x


def in_a_process_of_its_own(target, **job):
    ours, theirs = multiprocessing.Pipe()

    def answer():
        with np.errstate(all="ignore"):
            theirs.send(direct(target, {"program": to_json(PROGRAM), **job}))

    process = multiprocessing.get_context("fork").Process(target=answer)
    process.start()
    answered = ours.recv()
    process.join()
    return answered


def in_two_processes(target, **more):
    first = in_a_process_of_its_own(target, turn=0, than=None, **more)
    return first["unsound"] or in_a_process_of_its_own(target, turn=1, than=first["outputs"], **more)["unsound"]


@pytest.mark.parametrize(
    "f, why", [(differs, "other numbers"), (unwritten, "other numbers"), (raises_elsewhere, "raises in another process")]
)
def test_what_differs_from_process_to_process_is_told(f, why):
    assert why in in_two_processes(NumpyTarget(f))


@pytest.mark.parametrize("f", [np.sin, written, undefined])
def test_what_is_the_same_everywhere_stands_and_nan_is_nan(f):
    assert in_two_processes(NumpyTarget(f)) == ""


def test_random_numbers_are_no_surprise_and_another_shape_is():
    assert in_two_processes(NumpyTarget(differs), random=True) == ""
    assert "other shapes" in in_two_processes(NumpyTarget(lambda x: np.zeros(os.getpid())), random=True)


class Inferring(NumpyTarget):
    """A library that says what shape its outputs have."""

    def inferred(self, program):
        if self.jacobian is None:
            raise NotImplementedError("no rule")
        return [self.jacobian]


def test_the_shape_is_what_the_library_infers_where_it_can():
    assert in_two_processes(Inferring(np.sin, (3,))) == "" == in_two_processes(Inferring(np.sin, (None,)))
    assert "infers [(4,)]" in in_two_processes(Inferring(np.sin, (4,)))
    assert in_two_processes(Inferring(np.sin, None)) == ""
