"""From settings to a running campaign: open the store, start the pool, gather the seeds, choose among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from gradfuzz.campaign.campaign import Campaign, State, Watcher
from gradfuzz.campaign.config import Config
from gradfuzz.campaign.pool import Pool
from gradfuzz.errors import GradfuzzError, StoreError, TargetError
from gradfuzz.seeds.library import Seed, file_seeds, library_seeds
from gradfuzz.seeds.signatures import read_signature
from gradfuzz.store import Store

PROBE_LIMIT = 30.0


def run_campaign(config: Config, store_path: Path, resume: bool, watcher: Watcher, say: Callable[[str], None]) -> tuple[int, State]:
    """Run (or go on with) a campaign; returns its number and how it ended. Nothing is written if it cannot start."""
    if resume:
        store = Store(store_path, create=False)
        config = _resumed(store, config)
    elif store_path.exists():
        Store(store_path, create=False).close()  # a foreign file is refused before anything is started
    say(f"starting {config.launch.target}")
    with Pool(config.launch, config.workers) as pool:
        seeds = gather(config, pool, say)
        seeds = choose(seeds + signature_seeds(pool, config.signatures, {s.api for s in seeds}, say), config.apis)
        if resume:
            number = _checked(store, pool, config)
        else:
            store = Store(store_path, create=True)
            number = store.begin(config.launch.target, pool.version, config.to_json())
            store.set_existing_rules(number, pool.run("rules").data.get("rules", {}))
        store.set_status(number, "running")
        try:
            say(f"{config.launch.target} {pool.version}: {len(seeds)} seeds, {len({s.api for s in seeds})} APIs, {config.workers} workers")
            return number, Campaign(config, store, number, pool, seeds, watcher).run()
        finally:
            store.close()


def gather(config: Config, pool: Pool, say: Callable[[str], None]) -> list[Seed]:
    if not config.seed_files:
        return library_seeds(pool, say)
    found: list[Seed] = []
    for name in config.seed_files:
        path = Path(name)
        if not path.exists():
            raise GradfuzzError(f"--seeds {name}: there is no such file")
        found.extend(file_seeds(path, config.launch.target, config.launch.modules))
    return found


def signature_seeds(pool: Pool, signatures: tuple[str, ...], known: set[str], say: Callable[[str], None]) -> list[Seed]:
    """Seeds for listed APIs that have none, made up from their signatures."""
    found: list[Seed] = []
    for line in signatures:
        api, parameters = read_signature(line)
        if api in known or parameters is None:
            continue
        event = pool.run("probe", api=api, parameters=parameters, limit=PROBE_LIMIT)
        rows = event.data.get("seeds", [])
        found.extend(Seed(row["api"], row["source"], row["program"]) for row in rows)
        if not rows:
            why = event.data.get("refused") or event.data.get("cause") or "nothing that was tried works"
            say(f"{api}: no call could be made up from its signature ({why})")
    return found


def choose(seeds: list[Seed], globs: tuple[str, ...]) -> list[Seed]:
    """The seeds whose API fits one of the globs; all of them if there are none. A glob behind a question mark may fit nothing."""
    if not globs:
        chosen = seeds
    else:
        for glob in globs:
            if not glob.startswith("?") and not any(fnmatchcase(s.api, glob) for s in seeds):
                example = next((s.api for s in seeds), "")
                raise TargetError(f"no API with seeds fits {glob!r}; names look like {example}; quote globs, as in 'torch.nn.*'")
        chosen = [s for s in seeds if any(fnmatchcase(s.api, g.removeprefix("?")) for g in globs)]
    if not chosen:
        raise TargetError("there are no seeds to start from; the names asked for have none")
    return chosen


def _resumed(store: Store, config: Config) -> Config:
    """The stored campaign's own settings; only the budget and the number of workers are taken from now."""
    last = store.campaign()
    if last is None:
        raise StoreError(f"{store.path} holds no campaign to resume; leave --resume out to start one")
    if last["target"] != config.launch.target:
        raise StoreError(f"the last campaign in {store.path} is on {last['target']}, not {config.launch.target}")
    kept = Config.from_json(last["config"])
    if kept.source != config.source:
        raise StoreError(f"the last campaign in {store.path} is `gradfuzz {kept.source}`; run that command again instead")
    return replace(kept, seconds=config.seconds, mutants=config.mutants or kept.mutants, workers=config.workers)


def _checked(store: Store, pool: Pool, config: Config) -> int:
    last = store.campaign()
    assert last is not None
    if last["version"] != pool.version:
        raise StoreError(f"the campaign ran on {last['target']} {last['version']}, here is {pool.version}; start a new one")
    return int(last["id"])
