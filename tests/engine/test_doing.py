"""What everyone is at, in words: a worker's job, a node's leases, and those who have nothing to do."""

from types import SimpleNamespace

from gradfuzz.cluster.ray_executor import Node, RayExecutor
from gradfuzz.engine.doing import doing
from gradfuzz.engine.survey import Task
from gradfuzz.pool.executor import Busy
from gradfuzz.store.board import Doing

TASK = Task("batch", {"api": "torch.sin"}, 20, number=7)
READING = Task("seeds", {}, 10**9, number=3)


def said(*busy, running=None):
    return doing(SimpleNamespace(at_work=lambda: list(busy)), running or {}, None)


def test_a_worker_at_a_batch_says_which_mutant_of_which_api():
    (row,) = said(Busy("worker 1", {"id": 5, "do": "batch"}, 2.5, 3, 99), running={5: TASK})
    assert row == Doing("worker 1", "batch 7 of torch.sin, 4 of 20", 2.5, 99)


def test_a_task_without_an_end_says_no_number_of_items_and_an_idle_worker_so():
    rows = said(Busy("worker 1", {"id": 5, "do": "seeds"}, 1.0, 3, 98), Busy("worker 2", pid=99), running={5: READING})
    assert [row.what for row in rows] == ["seeds 3", "nothing to do"] and rows[1].seconds is None


def test_a_node_is_one_row_with_what_it_has_on_lease():
    executor = RayExecutor.__new__(RayExecutor)  # as it is once nodes have joined: what it says of them needs no cluster
    leases = {k: {"id": k, "do": "batch"} for k in range(5)}
    executor._nodes = {
        "a": Node("a", "node-a", None, 4, False, None, True, leases),
        "b": Node("b", "node-b", None, 2, False, None, True),
    }
    rows = said(*executor.at_work(), running={k: Task("batch", {"api": f"torch.f{k}"}, 20, number=k) for k in range(5)})
    assert [row.who for row in rows] == ["node-a, 4 workers", "node-b, 2 workers"]
    assert rows[0].what == "batch 0 of torch.f0, batch 1 of torch.f1, batch 2 of torch.f2 and 2 more" and rows[1].what == "nothing to do"
