"""Leaks: what property tests cannot see. Forward and backward many times over; memory and the graph must not grow."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.base.protocol import Vec
from gradfuzz.targets.base.scenario import REVERSE
from gradfuzz.testing.function import FunctionPoint, subject_of
from gradfuzz.testing.library import leaves, pick

# A leak grows in every batch, by this much a run at least. A tensor takes more; Python's own caches, and a list of losses
# that somebody keeps on purpose, take less.
BYTES = 100.0
# Caches fill up more and more slowly; a leak goes on at its pace, however often one looks.
SECOND_LOOKS = 2
SAME_PACE = 0.8
BATCHES = 5
WARM_UP = 10
MOST_NODES = 100_000


@dataclass(frozen=True)
class Growth:
    """What one run leaves behind, on average."""

    bytes: float
    objects: dict[str, float]
    nodes: float
    where: str

    @property
    def leaks(self) -> bool:
        return bool(self.bytes or self.objects or self.nodes)

    def __str__(self) -> str:
        lines = []
        if self.nodes:
            lines.append(f"the graph grows by {self.nodes:.1f} nodes a run: something made in one run is part of the next one's graph")
        if self.objects:
            lines.append("objects that stay alive: " + ", ".join(f"{n:.1f} {name} a run" for name, n in self.objects.items()))
        if self.bytes:
            lines.append(f"memory grows by {self.bytes:.0f} bytes a run" + (f", most of it from {self.where}" if self.where else ""))
        return "; ".join(lines) or "nothing grows"


class LeakFound(AssertionError):
    """Running forward and backward again and again makes memory or the graph grow; `growth` has the figures."""

    def __init__(self, title: str, growth: Growth, runs: int) -> None:
        super().__init__(f"{title} leaks over {runs} runs of forward and backward: {growth}")
        self.growth = growth


def check_leaks(f: Callable[..., Any], *inputs: Any, library: Any = None, runs: int = 100) -> Growth:
    """Run forward and backward `runs` times and raise LeakFound if memory, live objects or the graph grow with every run.

    With inputs, `f` is a function as for check_gradients; its tensors are made once and used in every run, as parameters are.
    Without inputs, `f` is a whole step of your own (a training step, say); if it returns its last tensor, the graph behind that
    is measured too.
    """
    if runs < 2 * BATCHES:
        raise GradfuzzError(f"runs={runs}: a trend takes {2 * BATCHES} runs at least")
    step = _step(f, inputs, library) if inputs else f
    growth = measure(step, runs)
    if growth.leaks:
        raise LeakFound(str(getattr(f, "__name__", type(f).__name__)), growth, runs)
    return growth


def measure(step: Callable[[], Any], runs: int) -> Growth:
    """What stays after each batch of runs: graph, objects and memory, one after the other, so that no count disturbs another."""
    sizes = [graph_size(step()) for _ in range(WARM_UP)]
    batch = runs // BATCHES
    objects = _growing(_after_each_batch(step, batch, _objects), batch)
    sizes.append(graph_size(step()))
    nodes = _slope(sizes, batch * BATCHES)
    started = not tracemalloc.is_tracing()
    if started:
        tracemalloc.start()
    try:
        step()
        before = tracemalloc.take_snapshot()
        grown = _bytes_a_run(step, batch)
        for _ in range(SECOND_LOOKS):
            grown = grown if grown >= BYTES and _bytes_a_run(step, batch) >= SAME_PACE * grown else 0.0
        where = _where(before) if grown >= BYTES else ""
    finally:
        if started:
            tracemalloc.stop()
    return Growth(grown if grown >= BYTES else 0.0, objects, nodes, where)


def _bytes_a_run(step: Callable[[], Any], batch: int) -> float:
    memory = _after_each_batch(step, batch, _memory)
    return float(min(later - earlier for earlier, later in zip(memory, memory[1:])) / batch)


def _after_each_batch(step: Callable[[], Any], batch: int, count: Callable[[], Any]) -> list[Any]:
    counts = [count()]
    for _ in range(BATCHES):
        for _ in range(batch):
            step()
        counts.append(count())
    return counts


def graph_size(result: Any) -> int:
    """How many nodes the graph behind a result has: nodes of a tape where there is one, else tensors that can be reached from it."""
    tensors = [leaf for leaf in leaves(result) if leaf is not None]
    if tensors and getattr(tensors[0], "grad_fn", None) is not None:
        return _reachable([t.grad_fn for t in tensors], lambda node: [n for n, _ in node.next_functions if n is not None], None)
    kinds = tuple({type(t) for t in tensors if type(t).__module__ not in ("builtins", "numpy")})
    return _reachable(tensors, gc.get_referents, kinds) if kinds else 0


def _reachable(start: list[Any], neighbours: Callable[[Any], list[Any]], kinds: tuple[type, ...] | None) -> int:
    seen = {id(node): node for node in start}
    queue = list(start)
    while queue and len(seen) < MOST_NODES:
        for other in neighbours(queue.pop()):
            # Classes and modules hold on to everything: a graph does not run through them.
            if id(other) not in seen and not isinstance(other, (type, type(gc))) and (kinds is None or not _is_globals(other)):
                seen[id(other)] = other
                queue.append(other)
    return sum(1 for node in seen.values() if kinds is None or isinstance(node, kinds))


def _is_globals(value: Any) -> bool:
    return isinstance(value, dict) and "__builtins__" in value


def _memory() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _objects() -> Counter[type]:
    gc.collect()
    return Counter(map(type, gc.get_objects()))


def _growing(counts: list[Counter[type]], batch: int) -> dict[str, float]:
    """Types with at least one more object for every two runs, in every batch."""
    found = {}
    for kind in counts[-1]:
        least = min(after[kind] - before[kind] for before, after in zip(counts, counts[1:]))
        if least >= batch / 2:
            found[f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")] = least / batch
    return dict(sorted(found.items(), key=lambda item: -item[1])[:4])


def _slope(sizes: list[int], runs: int) -> float:
    """Nodes a run, if the graph grew with every run of the warm-up and went on growing."""
    grew = all(later > earlier for earlier, later in zip(sizes, sizes[1:]))
    return (sizes[-1] - sizes[-2]) / (runs + 1) if grew else 0.0


def _where(before: Any) -> str:
    differences = tracemalloc.take_snapshot().compare_to(before, "lineno")
    ours = [d for d in differences if d.size_diff > 0 and d.traceback[0].filename not in (__file__, tracemalloc.__file__)]
    return f"{ours[0].traceback[0].filename}:{ours[0].traceback[0].lineno}" if ours else ""


def _step(f: Callable[..., Any], inputs: tuple[Any, ...], library: Any) -> Callable[[], Any]:
    """Forward and backward on tensors that stay, as parameters do."""
    chosen = pick(library, inputs)
    subject = subject_of(f, inputs, chosen, None)
    step = chosen.training_step(subject.call, subject.arrays, subject.dtypes)
    if step is not None:
        return step
    point = FunctionPoint(subject, list(subject.program().inputs.values()), subject.arrays)
    return lambda: _functional(point)


def _functional(point: FunctionPoint) -> None:
    """Libraries that differentiate functions keep no graph between runs; their memory is measured all the same."""
    with point.library.session():
        outputs = point.first()
        point.run(REVERSE, [Vec([np.ones(x.shape) for x in point.inputs])], Vec([np.ones(o.shape) for o in outputs]))
