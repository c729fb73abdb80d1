"""Workers on a Ray cluster: a station on every node, as an actor. Nodes come and go; what a lost one had on lease is leased again.

Messages are few: jobs go out in bundles, and one question is always out to each station, which it answers when something has happened.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gradfuzz.cluster.places import Cluster
from gradfuzz.cluster.station import Station
from gradfuzz.errors import GradfuzzError, TargetError, WorkerError
from gradfuzz.pool.executor import Apart, Busy, Event, Executor
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.scratch import Scratch
from gradfuzz.targets.base.ways import declared
from gradfuzz.targets.homes import home_of

# Jobs on lease to each worker of a node: one that runs, and others for the time that answers and new jobs are on their way.
LEASES = 4
HEAR = 5.0  # seconds after which a station answers although nothing has happened
MOST_EVENTS = 256  # of one answer
SCAN_EVERY = 2.0  # seconds between looks for new nodes
START_LIMIT = 600.0  # seconds until a first node must be ready
MOST_LOSSES = 3  # of the worker apart, in a row
# What needs no device, where a campaign compares one: nodes without take these alone.
ANYWHERE = ("seeds", "rules", "vet", "probe", "measure", "forwards")


@dataclass
class Node:
    """A station as the driver sees it."""

    id: str
    name: str
    actor: Any
    size: int
    device: bool
    pending: Any  # the answer that is on its way: what it is, then what happened
    ready: bool = False
    leases: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def room(self) -> int:
        return self.size * LEASES - len(self.leases) if self.ready else 0


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise GradfuzzError("--executor ray needs Ray; pip install 'gradfuzz[ray]'") from None
    return ray


class RayExecutor(Executor):
    """The same jobs and events as those of a pool, from wherever there are nodes."""

    def __init__(self, launch: Launch, cluster: Cluster, most: int | None, say: Any) -> None:
        """`most`: workers at most, on all nodes together. Returns once a first node is ready; the others join when they are."""
        super().__init__(launch, 0)
        self.ray, self.cluster, self.say, self._most = _ray(), cluster, say, most
        self._scratch = Scratch()
        self._nodes: dict[str, Node] = {}
        self._left_out: dict[str, str] = {}  # nodes that cannot serve, and why
        self._last_scan = 0.0
        self._urgent = 0  # of the leases
        self._began = self._connect()
        try:
            self._first_node()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> bool:
        """Whether the connection to Ray is ours to end."""
        ray = self.ray
        if ray.is_initialized():
            return False
        try:
            ray.init(address=self.cluster.address or None, logging_level="ERROR", log_to_driver=False, include_dashboard=False)
        except ValueError:  # a cluster that is there has its dashboard, or none
            ray.init(address=self.cluster.address or None, logging_level="ERROR", log_to_driver=False)
        except (ConnectionError, RuntimeError, OSError) as error:
            where = self.cluster.address or "on this machine"
            raise GradfuzzError(f"no Ray cluster {where} ({str(error).splitlines()[0]}); start one with `ray start --head`") from None
        return True

    def _first_node(self) -> None:
        end = time.monotonic() + START_LIMIT
        while not any(node.ready for node in self._nodes.values()):
            self._scan()
            if not self._nodes and self._left_out:
                raise TargetError(next(iter(self._left_out.values())))
            if time.monotonic() > end:
                raise WorkerError(f"no node of the cluster was ready within {START_LIMIT:.0f} s; are its processors taken?")
            self._listen(1.0)

    # Nodes -----------------------------------------------------------------------------------------------------------

    def _scan(self) -> None:
        """A station for every node that has none."""
        if time.monotonic() - self._last_scan < SCAN_EVERY:
            return
        self._last_scan = time.monotonic()
        for about in self.ray.nodes():
            number, resources = about["NodeID"], about["Resources"]
            size = int(resources.get("CPU", 0))
            if self._most is not None:
                size = min(size, self._most - sum(node.size for node in self._nodes.values()))
            if about["Alive"] and size > 0 and number not in self._nodes and number not in self._left_out:
                self._join(number, about["NodeManagerHostname"], size, int(resources.get("GPU", 0)))

    def _join(self, number: str, name: str, size: int, devices: int) -> None:
        able = bool(self.launch.device and devices)
        actor = self._actor(number, size, devices if able else 0).remote(_for_node(self.launch, able), self.cluster, size)
        self._nodes[number] = Node(number, name, actor, size, able, actor.about.remote())

    def _actor(self, node: str | None, cpus: int, gpus: int) -> Any:
        strategy = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False) if node else "SPREAD"
        options = {"num_cpus": cpus, "num_gpus": gpus, "max_restarts": 0, "max_concurrency": 3, "scheduling_strategy": strategy}
        return self.ray.remote(Station).options(**options)

    def _welcome(self, node: Node, about: dict[str, Any]) -> None:
        """A node has started; it serves if it has what the others have."""
        if not hasattr(self, "version"):
            self.version, self.family = about["version"], about["family"]
            self.ways = declared(home_of(self.launch.target).data("ways"), about["ways"])
        if about["version"] != self.version:
            self._leave_out(node, f"it has {self.launch.target} {about['version']}, not {self.version}")
            return
        node.ready = True
        self._staff()
        node.pending = node.actor.hear.remote(HEAR, MOST_EVENTS)
        self.say(f"{node.name} has joined: {self.size} workers on {sum(n.ready for n in self._nodes.values())} nodes")

    def _staff(self) -> None:
        self.size = sum(node.size for node in self._nodes.values() if node.ready)
        self.jobs.staff(self.size)

    def _leave_out(self, node: Node, why: str) -> None:
        self._left_out[node.id] = f"{node.name} cannot serve: {why}"
        self.say(f"{node.name} is left out: {why}")
        self._lose(node)

    def _lose(self, node: Node) -> None:
        """A node is gone: what it had on lease is leased again."""
        if self._nodes.pop(node.id, None) is None:
            return
        with contextlib.suppress(Exception):
            self.ray.kill(node.actor)
        for job in node.leases.values():
            self._urgent -= job["urgent"]
            self._again(job)
        if node.ready:
            self._staff()
            self.restarts += node.size
            self.say(f"{node.name} has left: {len(node.leases)} leases are given to others, {self.size} workers remain")
        if not self._nodes and self._left_out and all(about["NodeID"] in self._left_out for about in self.ray.nodes() if about["Alive"]):
            raise WorkerError(f"no node is left that can serve: {next(reversed(self._left_out.values()))}")

    # Jobs ------------------------------------------------------------------------------------------------------------

    @property
    def hungry(self) -> bool:
        """Whether less is ready than all nodes may come to ask for while answers are taken in."""
        return len(self.jobs.waiting) < max(1, LEASES * self.size)

    @property
    def idle(self) -> bool:
        return not self.jobs and not self.events and not any(node.leases for node in self._nodes.values())

    @property
    def folder(self) -> Path:
        return self._scratch.path

    def at_work(self) -> list[Busy]:
        """Nodes with what they have on lease: which of these jobs have begun, they alone know."""
        return [Busy(f"{node.name}, {node.size} workers", job) for node in self._nodes.values() for job in node.leases.values() or (None,)]

    def _turn(self, wait: float) -> None:
        self._scan()
        self._lease()
        if not self.events:
            self._listen(wait)
            self._lease()

    def _lease(self) -> None:
        """Hand out jobs, to the emptiest node first, in one message to each."""
        bundles: dict[str, list[dict[str, Any]]] = {}
        nodes = [node for node in self._nodes.values() if node.room > 0]
        while nodes and self.jobs:
            node = max(nodes, key=lambda n: n.room / n.size)
            job = self.jobs.next(self._urgent, None if node.device or not self.launch.device else _anywhere)
            if job is None:
                nodes.remove(node)
                continue
            self._urgent += job["urgent"]
            node.leases[job["id"]] = job
            bundles.setdefault(node.id, []).append(self._packed(job))
            if node.room <= 0:
                nodes.remove(node)
        for number, jobs in bundles.items():
            self._nodes[number].actor.give.remote(json.dumps(jobs))

    def _packed(self, job: dict[str, Any]) -> dict[str, Any]:
        """A job with its file: what one node has written, another goes on with."""
        path = Path(job["path"]) if "path" in job else None
        return {**job, "file": path.read_text(encoding="utf-8")} if path is not None and path.exists() else job

    def _listen(self, wait: float) -> None:
        pending = {node.pending: node for node in self._nodes.values()}
        if not pending:
            time.sleep(wait)
            return
        ready, rest = self.ray.wait(list(pending), num_returns=1, timeout=wait)
        if ready and rest:
            ready += self.ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for answer in ready:
            self._hear(pending[answer], answer)

    def _hear(self, node: Node, answer: Any) -> None:
        try:
            told = json.loads(self.ray.get(answer))
        except self.ray.exceptions.RayTaskError as error:
            self._leave_out(node, str(error.cause) if isinstance(error.cause, GradfuzzError) else str(error).strip().splitlines()[-1])
            return
        except self.ray.exceptions.RayError:
            self._lose(node)
            return
        if not node.ready:
            self._welcome(node, told)
            return
        node.pending = node.actor.hear.remote(HEAR, MOST_EVENTS)
        for message in told:
            if "failed" in message:
                self._leave_out(node, message["failed"])
                return
            job = node.leases.pop(message["id"], None)
            if job is not None:
                self._urgent -= job["urgent"]
                self._ended(job, message)

    def _ended(self, job: dict[str, Any], message: dict[str, Any]) -> None:
        for end, text in message.get("files", {}).items():
            Path(job["path"] + end).write_text(text, encoding="utf-8")
        self.events.extend(Event("suspicion", job, suspicion) for suspicion in message["told"])
        data = message["data"]
        self._account(job, data["spent"], data.get("of_that", {}))
        self.restarts += message["kind"] == "died"
        self.events.append(Event(message["kind"], job, data))

    # Ends ------------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def apart(self) -> Iterator[Apart]:
        worker = RayApart(self)
        try:
            yield worker
        finally:
            worker.close()

    def close(self) -> None:
        for node in self._nodes.values():
            with contextlib.suppress(Exception):
                self.ray.kill(node.actor)
        self._nodes.clear()
        self._scratch.close()
        if self._began:
            self.ray.shutdown()


class RayApart:
    """One worker somewhere on the cluster. Where its node is lost, it is made anew elsewhere."""

    def __init__(self, executor: RayExecutor) -> None:
        self._executor, self.ways = executor, executor.ways
        self.cpu: dict[str, float] = {}
        self._actor: Any = None

    def run(self, do: str, **fields: Any) -> Event:
        job = {"id": 0, "do": do, "urgent": True, **fields}
        message = json.loads(self._ask("run", json.dumps(job)))
        if "failed" in message:
            raise WorkerError(message["failed"])
        self.cpu[do] = self.cpu.get(do, 0.0) + message["data"]["spent"]
        return Event(message["kind"], job, message["data"])

    def alone(self, source: str) -> tuple[bool, str]:
        proven, output = self._ask("alone", source)
        return proven, output

    def _ask(self, method: str, argument: str) -> Any:
        ray, executor = self._executor.ray, self._executor
        for _ in range(MOST_LOSSES):
            try:
                if self._actor is None:
                    actor = executor._actor(None, 0, 1 if executor.launch.device else 0)
                    self._actor = actor.remote(executor.launch, executor.cluster, 1)
                    ray.get(self._actor.about.remote())
                return ray.get(getattr(self._actor, method).remote(argument))
            except ray.exceptions.RayTaskError as error:
                raise WorkerError(str(error.cause)) from None
            except ray.exceptions.RayError:
                self._actor = None
        raise WorkerError("the worker for post-mortems was lost with its node again and again")

    def close(self) -> None:
        if self._actor is not None:
            with contextlib.suppress(Exception):
                self._executor.ray.kill(self._actor)


def _for_node(launch: Launch, able: bool) -> Launch:
    """The launch of a node: one without the device is not made ready for it."""
    return launch if able else replace(launch, device="")


def _anywhere(job: dict[str, Any]) -> bool:
    return job["do"] in ANYWHERE
