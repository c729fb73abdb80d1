"""`gradfuzz run`: a campaign."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Optional

import typer

from gradfuzz.cli.bugs import known_bugs, show_line
from gradfuzz.cli.console import DEFAULT_STORE, FOUND, NOTHING_NEW, StoreOption, out, records, say_lines, seconds
from gradfuzz.cli.display import endings, status_line, watching
from gradfuzz.cli.gate import BaselineOption, FailOnOption, baseline_of, checked, verdict
from gradfuzz.cli.modules import lent, search_paths
from gradfuzz.cli.where import EnvOption, PythonOption, place
from gradfuzz.cluster.places import Cluster
from gradfuzz.engine.config import DEFAULT_SECONDS, MOST_ORDER, Config
from gradfuzz.engine.shard import WHOLE, Shard
from gradfuzz.errors import GradfuzzError
from gradfuzz.findings.labels import NEWS
from gradfuzz.pool.launch import Launch
from gradfuzz.store.proofs import proofs_of
from gradfuzz.surveys.depth import DEFAULT_ORDER
from gradfuzz.surveys.forever import run_forever
from gradfuzz.surveys.mutants import run_mutants
from gradfuzz.surveys.profiles import DEFAULT, chosen
from gradfuzz.targets.base.scenario import nestings
from gradfuzz.targets.homes import home_of, known_targets

MAX_ORDER = MOST_ORDER
LONGEST_LINE = 4096  # of a list of APIs: no signature is longer
MOST_WORKERS = 100_000
LOCAL, RAY = "local", "ray"
LEG = 3600.0  # seconds
GRAVEST = 5  # bugs that a campaign ends with


def run(
    target: Annotated[str, typer.Argument(help="The library to fuzz: " + ", ".join(known_targets()) + ".")],
    python: PythonOption = None,
    env: EnvOption = None,
    time: Annotated[Optional[str], typer.Option("--time", "--budget", help="How long: 90s, 5m, 1h30m. Five minutes by default.")] = None,
    mutants: Annotated[Optional[int], typer.Option(min=1, help="Stop after so many. Same --seed, same findings.")] = None,
    api: Annotated[Optional[list[str]], typer.Option(help="Only APIs that fit this glob, as in 'torch.fft.*'. May be given again.")] = None,
    apis: Annotated[Optional[Path], typer.Option(help="A file of API names or signatures, one a line.")] = None,
    seeds: Annotated[Optional[list[Path]], typer.Option(help="Start from these Programs (text or .jsonl), not from the samples.")] = None,
    module: Annotated[Optional[list[str]], typer.Option(help="Let Programs call this Python module of yours. It is trusted.")] = None,
    order: Annotated[
        Optional[int],
        typer.Option(min=1, max=MAX_ORDER, help="The highest order of derivative to check; 3, or 2 where each costs a compilation."),
    ] = None,
    scenario: Annotated[Optional[list[str]], typer.Option(help="Only this one, as in reverse, forward-over-reverse. Repeatable.")] = None,
    profile: Annotated[
        str,
        typer.Option(
            help="How much goes into further ways of running (compiled, batched, checkpointed): plain, quick, default, nightly, full."
        ),
    ] = DEFAULT,
    ways: Annotated[Optional[str], typer.Option(help="Exactly these ways, as in aot_eager,batched; `gradfuzz targets` lists them.")] = None,
    device: Annotated[str, typer.Option(help="Compare the processor with this device, as in cuda.")] = "",
    workers: Annotated[Optional[int], typer.Option(min=1, max=MOST_WORKERS, help="Worker processes; one per core by default.")] = None,
    round_size: Annotated[
        Optional[int],
        typer.Option("--round", min=256, max=2**24, help="Batches planned at a time; decides later mutants. 64 a worker, at least 256."),
    ] = None,
    executor: Annotated[str, typer.Option(help="Where workers run: local, or ray for all nodes of a Ray cluster.")] = LOCAL,
    ray_address: Annotated[
        Optional[str], typer.Option(help="The cluster, as in auto or 10.0.0.1:6379; by default the one that is there, else this machine.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Where chance starts.")] = 0,
    shard: Annotated[
        Optional[str],
        typer.Option(help="Only this part of the APIs, as in 3/16: other machines take the others, and `gradfuzz merge` joins the stores."),
    ] = None,
    forever: Annotated[
        bool, typer.Option("--forever", help="Until it is stopped, in legs: each has other mutants and knows what those before it knew.")
    ] = False,
    checkpoint: Annotated[
        Optional[str], typer.Option(help="With --forever, how long a leg is, after which the store is folded: 1h by default.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the store's last campaign; its --seeds, --module and --env are said again.")
    ] = False,
    timeout: Annotated[str, typer.Option(help="How long one mutant may take.")] = "10s",
    memory: Annotated[int, typer.Option(min=64, max=2**24, help="By how many megabytes a worker may grow.")] = 4096,
    samples: Annotated[bool, typer.Option("--samples", help="Beside --seeds: the library's own samples, in the same campaign.")] = False,
    fail_on: FailOnOption = None,
    baseline: BaselineOption = None,
) -> None:
    """Fuzz a library for wrong gradients.

    Mutants of the library's own samples are run directly, in reverse mode, in forward mode and by numerical differentiation, and the
    same for derivatives of derivatives. Where they disagree beyond their error bars, the mutant is confirmed in a fresh process,
    shrunk, and kept as a finding with a script that proves it.

    Some mutants are run in further ways too, which must give the same derivatives: compiled, batched, checkpointed, on another device. A
    compilation serves a family of mutants that differ in their numbers alone; how many there are is the profile's to say.

    Exit status: 0 nothing new, 1 findings, 2 wrong use or broken set-up. With --fail-on and --baseline, 1 only for new bugs that are grave
    enough and that the baseline lacks.
    """
    home_of(target)  # raises for a name that is none
    severity, before = checked(fail_on), baseline_of(baseline)
    limit = seconds(time) if time is not None else (None if mutants else DEFAULT_SECONDS)
    leg = _leg(forever, checkpoint, time, mutants)
    named = way_names(ways)
    cluster = _cluster(executor, ray_address, python, env)
    where = place(python, env if cluster is None else None, target)
    launch = Launch(
        target, where.python, lent(module or ()), search_paths() if module else (), seconds(timeout), memory,
        tuple(way.name for way in chosen(target, profile, named).ways), device, where.variables,
    )  # fmt: skip
    listed = api_file(apis)
    names = tuple("?" + line.split("(")[0].strip() for line in listed)
    config = Config(
        launch, seed, limit, mutants, tuple(api or ()) + names, listed, tuple(map(str, seeds or ())), order,
        _scenarios(scenario or [], order or DEFAULT_ORDER), profile, named, device,
        workers or (0 if cluster is not None else os.cpu_count() or 1), cluster=cluster, round=round_size or 0,
        python_said=where.said, samples=samples, shard=Shard.named(shard) if shard is not None else WHOLE,
    )  # fmt: skip
    with watching() as display:
        if leg is None:
            state = run_mutants(config, store, resume, display)
        else:
            state = run_forever(config, store, resume, display, leg)
    for line in (status_line(state), *endings(state)):
        say_lines(line, rest="  ")
    new = [f for f in state.findings if f.label_name in NEWS]
    again = f" --store {store}" if store != DEFAULT_STORE else ""
    with records(store) as opened:
        last = opened.campaign()
        lost = proofs_of(opened, last["id"]).told if last is not None else ""
        bugs = known_bugs(opened, campaign=last["id"]) if last is not None else []
    gravest = [bug for bug in bugs if not bug.severity.grade.folded][:GRAVEST]
    if gravest:
        out.print("\nthe gravest:")
    for bug in gravest:
        show_line(bug)
    if lost:
        say_lines(f"{lost}; see gradfuzz findings --all{again}", rest="  ")
    say_lines(f"{len(state.findings)} findings of {len(bugs)} bugs; {len(new)} findings are not on the list of known ones")
    if state.findings:
        say_lines(f"look at them with: gradfuzz bugs{again}; as a page: gradfuzz report{again}")
    if severity is None and before is None:
        raise typer.Exit(FOUND if new else NOTHING_NEW)
    raise verdict(bugs, severity, before)


def _leg(forever: bool, checkpoint: str | None, time: str | None, mutants: int | None) -> float | None:
    """How long a leg is; None where there are none."""
    if not forever:
        if checkpoint is not None:
            raise GradfuzzError("--checkpoint says how long a leg of --forever is; add --forever")
        return None
    if time is not None or mutants is not None:
        raise GradfuzzError("--forever goes on until it is stopped; leave --time and --mutants out")
    return seconds(checkpoint) if checkpoint is not None else LEG


def _cluster(executor: str, address: str | None, python: str | None, env: str | None) -> Cluster | None:
    """Where workers run, if not here. Nodes find the interpreter or the environment by its name."""
    if executor not in (LOCAL, RAY):
        raise GradfuzzError(f"unknown executor {executor!r}; known: {LOCAL}, {RAY}")
    if executor == LOCAL:
        if address is not None:
            raise GradfuzzError("--ray-address names a cluster; add --executor ray to use it")
        return None
    if python is not None and env is not None:
        raise GradfuzzError("--python and --env both name an interpreter; leave one of them out")
    return Cluster(address or "", python or "", env or "")


def way_names(text: str | None) -> tuple[str, ...]:
    """The names in a list with commas."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def api_file(path: Path | None) -> tuple[str, ...]:
    """The lines of a list of names or signatures."""
    if path is None:
        return ()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise GradfuzzError(f"--apis {path}: {error.strerror}; name a file with one API a line") from None
    except UnicodeDecodeError:
        raise GradfuzzError(f"--apis {path}: the file is not UTF-8 text; write one API a line, as in torch.nn.functional.kl_div") from None
    names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if any(len(name) > LONGEST_LINE for name in names):
        raise GradfuzzError(f"--apis {path}: there is a line of more than {LONGEST_LINE} characters; write one API a line")
    if not names:
        raise GradfuzzError(f"--apis {path}: the file names no API; write one a line, as in torch.nn.functional.kl_div")
    return tuple(names)


def _scenarios(names: list[str], order: int) -> tuple[str, ...]:
    known = [s.name for k in range(1, order + 1) for s in nestings(k)]
    for name in names:
        if name not in known:
            raise GradfuzzError(f"unknown scenario {name!r} at order {order}; known: {', '.join(known)}")
    return tuple(names)
