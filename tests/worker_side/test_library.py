"""Where a library is imported: in the process that all workers are forked from, or in each worker."""

import os
import signal
from types import SimpleNamespace

import pytest

from gradfuzz.errors import TargetError
from gradfuzz.worker.library import Each, Once


def loading(met):
    def load():
        met.append(os.getpid())
        return SimpleNamespace(version="1.2", patience=1.0, family=1, ways={"graph": None})

    return load


def test_a_library_that_bears_a_fork_is_imported_here_and_once():
    met = []
    library = Once(loading(met))
    assert library() is library() and met == [os.getpid()]


def test_one_that_does_not_is_imported_by_whoever_needs_it_and_what_is_known_of_it_is_told_by_another_process():
    met = []
    library = Each(loading(met))
    assert library.traits == {"ready": "1.2", "patience": 1.0, "family": 1, "ways": ["graph"]} and met == []
    assert library() is not library() and met == [os.getpid()] * 2


def test_what_keeps_it_from_being_imported_is_said():
    def broken():
        raise ImportError("no libfoo.so")

    with pytest.raises(TargetError, match=r"cannot be imported .*ImportError: no libfoo.so"):
        Each(broken)
    with pytest.raises(TargetError, match="importing it ends"):
        Each(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_a_library_of_which_nothing_can_be_read_is_none_the_worse_for_it():
    Once(loading([])).warm_up()
