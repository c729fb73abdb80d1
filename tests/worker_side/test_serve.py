"""What a worker says of itself."""

import os
import time

import pytest

from gradfuzz.worker import serve
from gradfuzz.worker.serve import processor_time


def of_children():
    return processor_time() - time.process_time()


def test_what_forked_children_have_computed_is_on_the_account_of_their_parent():
    before = of_children()
    child = os.fork()
    if child == 0:
        while time.process_time() < 0.1:  # its own: a fork begins at zero
            pass
        os._exit(0)
    os.waitpid(child, 0)
    assert of_children() - before > 0.05


def test_memory_that_we_run_out_of_ourselves_ends_the_worker_and_not_the_campaign(monkeypatch):
    class Exit(BaseException):
        pass

    def exits(status):
        raise Exit(status)

    def exhausted(worker, job):
        raise MemoryError

    monkeypatch.setattr(serve, "receive", lambda stream: {"do": "batch", "id": 1})
    monkeypatch.setattr(serve.Worker, "do_batch", exhausted)
    monkeypatch.setattr(serve.os, "_exit", exits)
    monkeypatch.setattr(serve.gc, "disable", lambda: None)
    with pytest.raises(Exit, match=str(serve.OUT_OF_MEMORY)):
        serve.Worker(None, None, None, []).serve()
