"""One campaign's settings, built at the edge and passed down."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gradfuzz.cluster.places import Cluster
from gradfuzz.engine.shard import WHOLE, Shard
from gradfuzz.errors import StoreError
from gradfuzz.pool.launch import Launch
from gradfuzz.targets.base.scenario import Scenario

DEFAULT_SECONDS = 300.0
MOST_ORDER = 4
MOST_ROUND = 1 << 24


@dataclass(frozen=True)
class Config:
    """What decides which mutants are made, and how long."""

    launch: Launch
    seed: int = 0
    seconds: float | None = DEFAULT_SECONDS
    mutants: int | None = None
    apis: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()  # of listed APIs, to make up calls of those without seeds
    seed_files: tuple[str, ...] = ()
    order: int | None = None  # None: as deep as the target's costs allow
    scenarios: tuple[str, ...] = ()
    profile: str = "default"  # how much goes into further ways of running
    ways: tuple[str, ...] = ()  # exactly these; none: the profile's
    device: str = ""  # to be compared with the processor
    workers: int = 1  # on a cluster: at most; 0: as many as it has
    shrink_seconds: float = 4.0
    python_said: bool = False  # whether the interpreter was named, or is just the one that is there
    samples: bool = False  # the library's own seeds beside those of files
    round: int = 0  # batches that are planned at a time; 0: as many as the workers need that there are at the beginning
    cluster: Cluster | None = None  # where the workers are, if not here
    shard: Shard = WHOLE  # of the APIs; the other shards' are left to them
    follows: bool = False  # it takes over what the store's last campaign of its kind knew
    source: str = "samples"  # where Programs come from; what a chain or graph command made is not resumed by `run`

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def going_on_with(self, kept: Any, store: Path) -> Config:
        """A stored campaign's own settings, with what is the user's to say taken from here: budget, workers, interpreter, modules, files.

        A store is data, perhaps a stranger's: nothing it names is run, imported or opened. Where it names what was not said again,
        StoreError tells what to repeat.
        """
        try:
            then = _read(kept)
        except (KeyError, TypeError, ValueError):
            raise StoreError(f"the settings of the last campaign in {store} cannot be read; leave --resume out") from None
        again = [f"--module {m}" for m in then.launch.modules if m not in self.launch.modules]
        again += [f"--seeds {f}" for f in then.seed_files] if len(then.seed_files) != len(self.seed_files) else []
        if not self.python_said and then.launch.python != self.launch.python:
            again.append(f"--python {then.launch.python} (or yours)")
        if (then.profile, then.ways, then.device) != (self.profile, self.ways, self.device):
            again += [
                f"--profile {then.profile}",
                *(f"--ways {w}" for w in then.ways),
                *([f"--device {then.device}"] if then.device else []),
            ]
        if again:
            raise StoreError(f"the last campaign in {store} was run with {' '.join(again)}; to resume it, say so again")
        if self.shard not in (WHOLE, then.shard):
            raise StoreError(f"the last campaign in {store} is shard {then.shard}, not {self.shard}; leave --shard out to resume it")
        launch = replace(self.launch, timeout=then.launch.timeout, memory=then.launch.memory)
        mutants = self.mutants or then.mutants
        return replace(
            then, launch=launch, seconds=self.seconds, mutants=mutants, workers=self.workers, seed_files=self.seed_files, python_said=True,
            cluster=self.cluster,
        )  # fmt: skip


def _read(data: Any) -> Config:
    """What `to_json` wrote, if every part of it is of its type and within bounds."""
    launch = data["launch"]
    texts: dict[str, Any] = {name: _texts(data[name]) for name in ("apis", "signatures", "seed_files", "scenarios")}
    numbers: dict[str, Any] = {name: _number(data[name], int, None) for name in ("seed", "mutants", "order")}
    for scenario in texts["scenarios"]:
        Scenario.named(scenario)
    if numbers["order"] is not None and not 1 <= numbers["order"] <= MOST_ORDER:
        raise ValueError(f"order {numbers['order']}")
    return Config(
        Launch(
            _text(launch["target"]), _text(launch["python"]), _texts(launch["modules"]), (), _number(launch["timeout"], float),
            _number(launch["memory"], int),
        ),
        **texts, **numbers, shrink_seconds=_number(data["shrink_seconds"], float), source=_text(data["source"]),
        samples=data.get("samples") is True, shard=Shard.from_json(data["shard"]) if "shard" in data else WHOLE,
        round=_round(data.get("round", 0)),
        profile=_text(data.get("profile", "default")), ways=_texts(data.get("ways", ())), device=_text(data.get("device", "")),
    )  # fmt: skip


def _round(value: Any) -> int:
    if _number(value, int) > MOST_ROUND:
        raise ValueError(f"a round of {value}")
    return int(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_text(value) for value in values)


def _number(value: Any, kind: type, least: float | None = 0.0) -> Any:
    if value is None and least is None:
        return None
    fits = isinstance(value, (int, kind)) and not isinstance(value, bool)
    if not fits or not math.isfinite(value) or (least is not None and value < least):
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return value
