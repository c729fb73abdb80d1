"""Functions that compute x³ with its true derivative, and do to their process what some libraries do."""

import atexit
import contextlib
import os
import signal
import time

import torch
from planted_torch import Healthy

LEFT = []  # what is never given back
FORKED = []  # processes that have
if os.environ.get("PLANTED_HANGS_AT_EXIT"):
    atexit.register(time.sleep, 600)


def _rude(deed):
    def function(x):
        deed()
        return Healthy.apply(x)

    return function


def _forked():
    """Fork, once in a process and its copies: a function is called many times for a mutant. Whether this is the copy."""
    if FORKED:
        return False
    FORKED.append(os.getpid())
    return os.fork() == 0


def _fork_and_stay():
    if _forked():
        time.sleep(600)


def _fork_and_go_on():
    _forked()  # both are the worker now


def _fork_and_die():
    if _forked():
        time.sleep(600)
    os.kill(os.getpid(), signal.SIGSEGV)


def _chatter():
    print('{"done": 1, "spent": 0.0}', flush=True)
    for handle in (1, 2):
        os.write(handle, b'\x00\xff{"suspicion": 1}\n' * 100)


def _scribble():
    for handle in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(handle, b"\x00 what is this\n")


def _signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)


forks_and_stays = _rude(_fork_and_stay)
forks_and_goes_on = _rude(_fork_and_go_on)
forks_and_dies = _rude(_fork_and_die)
chatters = _rude(_chatter)
scribbles = _rude(_scribble)
closes_files = _rude(lambda: os.closerange(0, 256))
changes_folder = _rude(lambda: os.chdir("/"))
takes_signals = _rude(_signals)
leaks = _rude(lambda: LEFT.append(torch.ones(2_000_000, dtype=torch.float64)))  # 16 MB
