"""What a worker says of itself."""

import os
import time

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
