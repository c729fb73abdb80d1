"""All seeds of a campaign: the library's own or those of files, more for listed signatures, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from gradfuzz.errors import TargetError
from gradfuzz.pool.executor import Executor
from gradfuzz.program import gate
from gradfuzz.seeds.api_list import read_signature
from gradfuzz.seeds.files import known_here
from gradfuzz.seeds.library import library_seeds
from gradfuzz.seeds.seed import Seed
from gradfuzz.targets.homes import language_for

PROBE_LIMIT = 30.0


def gather(pool: Executor, given: list[Seed], say: Callable[[str], None], samples: bool = False) -> list[Seed]:
    """The seeds that people gave; the library's own if they gave none, or if they want both."""
    found = known_here(pool, given, say) if given else []
    return found + library_seeds(pool, say) if samples or not given else found


def signature_seeds(pool: Executor, signatures: tuple[str, ...], known: set[str], say: Callable[[str], None]) -> list[Seed]:
    """Seeds for listed APIs that have none, made up from their signatures."""
    language = language_for(pool.launch.target, pool.launch.modules)
    found: list[Seed] = []
    for line in signatures:
        api, parameters = read_signature(line)
        if parameters is None:
            gate.check_api(api.replace("*", "x"), language)  # a bare name may be a glob
        else:
            gate.check_api(api, language)
        if api in known:
            continue
        if parameters is None:
            say(f"{api}: there is no seed for it; with its signature, as in {api}(input, other), one may be made up")
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
                raise TargetError(f"no API with seeds fits {glob!r}; names look like {example}; quote globs, as in 'library.nn.*'")
        chosen = [s for s in seeds if any(fnmatchcase(s.api, g.removeprefix("?")) for g in globs)]
    if not chosen:
        raise TargetError("there are no seeds to start from; the names asked for have none")
    return chosen
