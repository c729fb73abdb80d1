"""Post-mortems keep to their share, and what takes long comes last."""

import contextlib
import queue
from types import SimpleNamespace

from gradfuzz.findings.postmortem import AT_ONCE, SHARE, DeathDesk
from gradfuzz.oracles.verdict import TIMEOUT

WAIT = 10.0


class SlowDesk(DeathDesk):
    """Every post-mortem takes most of what is allowed at once, and ends when it is told to."""

    def __init__(self):
        super().__init__(SimpleNamespace(apart=lambda: contextlib.nullcontext(SimpleNamespace(cpu={}))), 0.0, None)
        self.begun, self.go_on = queue.Queue(), queue.Queue()

    def _looked_into(self, death, apart):
        self.begun.put(death.api)
        self.go_on.get(timeout=WAIT)
        apart.cpu[death.api] = 0.8 * AT_ONCE
        return death.api


def death(api, cause):
    return SimpleNamespace(api=api, cause=cause)


def test_hangs_come_last_and_wait_for_their_share():
    desk = SlowDesk()
    desk.take(death("hangs", TIMEOUT))
    assert desk.begun.get(timeout=WAIT) == "hangs"
    desk.take(death("hangs too", TIMEOUT))
    desk.take(death("dies", "SIGSEGV"))
    desk.go_on.put(None)
    assert desk.begun.get(timeout=WAIT) == "dies"
    desk.go_on.put(None)
    assert [desk.finished.get(timeout=WAIT)[1] for _ in range(2)] == ["hangs", "dies"]
    desk.allow(AT_ONCE / SHARE)  # less than was spent
    assert desk.begun.empty()
    desk.allow(2 * AT_ONCE / SHARE)
    assert desk.begun.get(timeout=WAIT) == "hangs too"
    desk.go_on.put(None)
    assert desk.finished.get(timeout=WAIT)[1] == "hangs too"
    desk.close()
