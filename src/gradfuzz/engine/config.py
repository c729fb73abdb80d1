"""One campaign's settings, built at the edge and passed down."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gradfuzz.pool.launch import Launch

DEFAULT_SECONDS = 300.0


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
    workers: int = 1
    shrink_seconds: float = 8.0
    source: str = "samples"  # where Programs come from; what a chain or graph command made is not resumed by `run`

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Config:
        launch = dict(data["launch"])
        launch.update(modules=tuple(launch["modules"]), paths=tuple(launch["paths"]))
        rest: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k != "launch"}
        return Config(Launch(**launch), **rest)
