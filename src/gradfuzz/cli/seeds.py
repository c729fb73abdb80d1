"""`gradfuzz seeds llm` and `gradfuzz seeds tokens`: seeds that a language model writes, and what they cost."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.table import Table

from gradfuzz.cli.console import DEFAULT_STORE, FOUND, NOTHING_NEW, StoreOption, cell, guarded, out, say, seconds
from gradfuzz.cli.display import watching
from gradfuzz.cli.meter import metering
from gradfuzz.cli.run import api_file
from gradfuzz.cli.where import EnvOption, PythonOption, place
from gradfuzz.engine.config import Config
from gradfuzz.errors import GradfuzzError
from gradfuzz.llm.asking import Asking, Meter
from gradfuzz.llm.cache import Cache
from gradfuzz.llm.client import KEY, TIMEOUT, Client
from gradfuzz.llm.knowledge import Known
from gradfuzz.llm.ledger import FILE, Ledger
from gradfuzz.llm.limits import DIMENSION, MEMORY, Limits
from gradfuzz.llm.prices import price_of
from gradfuzz.llm.prompting import Api, Prompts
from gradfuzz.llm.reading.idioms import idioms_for
from gradfuzz.llm.rounds import SEEDS, Ending, Order, Rounds
from gradfuzz.llm.summary import PROGRAMS, USAGE, write_summaries
from gradfuzz.llm.writing import Writer
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool
from gradfuzz.program import from_json, gate, to_text
from gradfuzz.seeds.api_list import read_signature
from gradfuzz.seeds.library import library_seeds
from gradfuzz.store import Claim
from gradfuzz.surveys.mutants import run_mutants
from gradfuzz.surveys.profiles import DEFAULT, chosen
from gradfuzz.surveys.schedule import FIRST_BATCH
from gradfuzz.targets.homes import home_of, known_targets, language_for

DEFAULT_MODEL = "gpt-4o-mini"
DEFAULT_OUT = Path("gradfuzz-llm")
DEFAULT_PROGRAMS = 100
SOURCE = "seeds llm"

OutOption = Annotated[Path, typer.Option("--out", help="The folder for seeds, and for the book of what was asked and what it took.")]
ModelOption = Annotated[str, typer.Option(help="The model to ask.")]
UrlOption = Annotated[
    Optional[str], typer.Option("--base-url", help="A server that speaks chat completions: vLLM, Ollama, llama.cpp. By default OpenAI's.")
]
PriceOption = Annotated[
    Optional[str], typer.Option(help="Dollars per million tokens as PROMPT,COMPLETION, where the model's are not known.")
]
TimeoutOption = Annotated[str, typer.Option("--request-timeout", help="How long one answer may take.")]

app = typer.Typer(help="Seeds that a language model writes, and what they cost.", no_args_is_help=True)


def key_of_user() -> str | None:
    """The key, from the environment alone. It goes to the client and nowhere else."""
    return os.environ.get(KEY) or None


def asking_for(
    model: str, base_url: str | None, price: str | None, out_folder: Path, workers: int, tokens: int | None, cost: float | None,
    timeout: str, meter: Meter,
) -> Asking:  # fmt: skip
    """The way to a server, with its cache and its books. GradfuzzError where there is neither a key nor a server."""
    base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
    client = Client(model, base_url, key_of_user(), seconds(timeout), say=meter.say)
    known = price_of(model, price, own_server=base_url is not None)
    if cost is not None and known is None:
        raise GradfuzzError(f"--max-cost needs the price of {model}: add --price PROMPT,COMPLETION in dollars per million tokens")
    ledger = Ledger.read(out_folder)
    return Asking(client, Cache(ledger.owner()), ledger, known, workers, tokens, cost, meter)


def llm(
    target: Annotated[str, typer.Argument(help="The library to write programs for: " + ", ".join(known_targets()) + ".")],
    apis: Annotated[Optional[Path], typer.Option(help="A file of API names or signatures, one a line. By default all with seeds.")] = None,
    num_programs: Annotated[
        Optional[int],
        typer.Option(min=1, help=f"How many programs; one for each of --apis, else {DEFAULT_PROGRAMS}; no limit with --until-dry."),
    ] = None,
    num_apis: Annotated[int, typer.Option(min=1, max=8, help="How many APIs work together in one program.")] = 1,
    params: Annotated[int, typer.Option(min=0, max=32, help="Parameter sets to be written for each program.")] = 5,
    start_id: Annotated[int, typer.Option(min=0, help="The number of the first program; those written before are kept.")] = 0,
    max_workers: Annotated[int, typer.Option(min=1, max=256, help="Requests at the same time.")] = 12,
    model: ModelOption = DEFAULT_MODEL,
    base_url: UrlOption = None,
    price: PriceOption = None,
    max_tokens_total: Annotated[Optional[int], typer.Option(min=1, help="Stop before this folder has used more tokens.")] = None,
    max_cost: Annotated[Optional[float], typer.Option(min=0.0, help="Stop before this folder has cost more dollars.")] = None,
    until_dry: Annotated[bool, typer.Option("--until-dry", help="Go on, round by round, until one brings nothing new.")] = False,
    round_size: Annotated[
        int, typer.Option("--round", min=1, max=1000, help="Programs in a round; what they bring decides the next.")
    ] = 24,
    mutants: Annotated[
        Optional[int], typer.Option("--mutants-per-seed", min=0, help="Size of each round's campaign; 0: only write seeds.")
    ] = None,
    max_memory: Annotated[int, typer.Option(min=1, max=2**20, help="Megabytes that all tensors of a program may take together.")] = MEMORY,
    max_dimension: Annotated[int, typer.Option(min=2, max=10**6, help="Every dimension stays under this.")] = DIMENSION,
    python: PythonOption = None,
    env: EnvOption = None,
    module: Annotated[Optional[list[str]], typer.Option(help="Let programs call this Python module of yours. It is trusted.")] = None,
    workers: Annotated[Optional[int], typer.Option(min=1, max=256, help="Worker processes; one per core by default.")] = None,
    timeout: Annotated[str, typer.Option(help="How long one program may take.")] = "10s",
    request_timeout: TimeoutOption = f"{TIMEOUT:.0f}s",
    seed: Annotated[int, typer.Option(help="Where chance starts.")] = 0,
    out_folder: OutOption = DEFAULT_OUT,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Have a language model write programs and parameter sets, run them as seeds of a campaign, and judge what they bring.

    The key comes from OPENAI_API_KEY. What the model writes is read as data and passes the same gate as every Program. Every answer is
    kept: the same command again costs nothing. The seeds are in OUT/seeds.jsonl, for `gradfuzz run TARGET --seeds`.

    Exit status: 0 nothing new, 1 findings, 2 wrong use, no key, no server.
    """
    home_of(target)  # raises for a name that is none
    listed = [read_signature(line)[0] for line in api_file(apis)]
    language = language_for(target, tuple(module or ()))
    for name in listed:
        gate.check_api(name, language)
    count = num_programs or (None if until_dry else len(listed) or DEFAULT_PROGRAMS)
    order = Order(target, model, store, out_folder, count, num_apis, start_id, round_size, until_dry, seed)
    where, paths = place(python, env, target), (os.getcwd(),) if module else ()
    launch = Launch(target, where.python, tuple(module or ()), paths, seconds(timeout), variables=where.variables)
    limits, size = Limits(max_memory, max_dimension), workers or os.cpu_count() or 1
    with metering() as meter:
        asking = asking_for(model, base_url, price, out_folder, max_workers, max_tokens_total, max_cost, request_timeout, meter)
        asking.ledger.settings(target=target, model=model, num_apis=num_apis, params=params)
        with Claim(out_folder / FILE), Pool(launch, size) as pool:
            ending = _rounds(order, asking, pool, limits, params, listed, mutants, size).run()
    _told(ending, asking, order)
    raise typer.Exit(FOUND if any(judgement.bugs for judgement in ending.rounds) else NOTHING_NEW)


def _rounds(
    order: Order, asking: Asking, pool: Pool, limits: Limits, params: int, listed: list[str], mutants: int | None, workers: int
) -> Rounds:
    samples: dict[str, Any] = {}
    if not listed:
        for seed in library_seeds(pool, asking.meter.say):
            samples.setdefault(seed.api, seed.program)
    writer = Writer(
        asking, pool, Prompts(order.target, pool.version, limits), idioms_for(order.target, pool.launch.modules), limits, params
    )

    def describe(names: list[str], known: Known) -> list[Api]:
        covers = {api: cover.to_json() for api, cover in known.designs.items()}
        asked = [{"name": name, "program": samples.get(name), "cover": covers.get(name)} for name in names]
        rows: list[dict[str, Any]] = pool.run("describe", apis=asked).data.get("described", [])
        about = {row["name"]: row for row in rows}
        found = []
        for name in names:
            row, example = about.get(name, {}), to_text(from_json(samples[name])) if name in samples else ""
            found.append(Api(name, row.get("signature", ""), row.get("doc", ""), example, tuple(row.get("left", ()))))
        return found

    def campaign(file: Path, count: int) -> None:
        each = mutants if mutants is not None else max(FIRST_BATCH, pool.family)
        # In the same ways as `run`; what is only tried out needs none of them, and stays behind the stricter walls.
        launch = replace(pool.launch, ways=tuple(way.name for way in chosen(order.target, DEFAULT, ()).ways))
        config = Config(launch, order.seed, None, each * count, seed_files=(str(file),), workers=workers, source=SOURCE)
        with watching() as display:
            run_mutants(config, order.store, False, display)

    names = list(dict.fromkeys(listed or samples))
    rules: dict[str, str] = pool.run("rules").data.get("rules", {})
    existing = {rule for rule, reason in rules.items() if not reason}
    return Rounds(order, asking.ledger, writer, describe, names, existing, None if mutants == 0 else campaign, asking.meter.say)


def _told(ending: Ending, asking: Asking, order: Order) -> None:
    totals = asking.ledger.totals
    for why in dict.fromkeys(asking.unanswered[:3]):
        say(f"without an answer: {why}")
    say(f"{ending.why}; {len(ending.rounds)} rounds, {ending.seeds} seeds, {sum(j.bugs for j in ending.rounds)} new bugs")
    say(f"{totals.requests} requests, {totals.cached} of them from the cache; {totals.tokens} tokens, {totals.money}")
    write_summaries(asking.ledger, order.out)
    out.print(f"seeds are in {order.out / SEEDS}; fuzz them with: gradfuzz run {order.target} --seeds {order.out / SEEDS}", markup=False)


def tokens(
    out_folder: OutOption = DEFAULT_OUT,
    to: Annotated[Optional[Path], typer.Option(help="The folder for the two tables; by default the same one.")] = None,
) -> None:
    """Write usage_summary.csv and program_summary.csv, and print the totals."""
    ledger = Ledger.read(out_folder)
    if not ledger.rows:
        raise GradfuzzError(f"{out_folder} holds no book of requests; name the folder of `gradfuzz seeds llm` with --out")
    rows = write_summaries(ledger, to or out_folder)
    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = ("phase", "model", "requests", "from_cache", "prompt_tokens", "completion_tokens", "total_tokens", "cost_usd")
    for column in columns:
        table.add_column(column.replace("_", " "), justify="left" if column in ("phase", "model") else "right")
    for row in rows:
        table.add_row(*(cell(row[column] if row[column] != "" or column != "cost_usd" else "unknown") for column in columns))
    out.print(table)
    out.print(f"written to {(to or out_folder) / USAGE} and {(to or out_folder) / PROGRAMS}", markup=False)


app.command("llm")(guarded(llm))
app.command("tokens")(guarded(tokens))
