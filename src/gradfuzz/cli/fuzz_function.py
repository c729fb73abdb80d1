"""`gradfuzz fuzz-function`: a campaign on one function of your own."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from gradfuzz.cli.console import DEFAULT_STORE, StoreOption
from gradfuzz.cli.eps import find_function
from gradfuzz.cli.run import MAX_ORDER, run
from gradfuzz.cli.where import EnvOption, PythonOption
from gradfuzz.errors import GradfuzzError, ProgramError
from gradfuzz.program import parse
from gradfuzz.targets.homes import default_target, language_for
from gradfuzz.testing.inputs import Input, parse_input


def fuzz_function(
    function: Annotated[str, typer.Argument(help="Your function, as module:function; the module is imported and trusted.")],
    input: Annotated[list[str], typer.Option(help='An input, as in "x: float64[3, 4]". Once for each argument, in order.')],
    target: Annotated[str, typer.Option(help="The library that the function is written for.")] = default_target(),
    python: PythonOption = None,
    env: EnvOption = None,
    time: Annotated[Optional[str], typer.Option(help="How long: 90s, 5m, 1h30m.")] = None,
    mutants: Annotated[Optional[int], typer.Option(min=1, help="Stop after so many mutants.")] = None,
    order: Annotated[int, typer.Option(min=1, max=MAX_ORDER, help="The highest order of derivative.")] = 2,
    workers: Annotated[Optional[int], typer.Option(min=1, max=256, help="Worker processes; one per core by default.")] = None,
    seed: Annotated[int, typer.Option(help="Where chance starts.")] = 0,
    store: StoreOption = DEFAULT_STORE,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the store's last campaign.")] = False,
) -> None:
    """Fuzz one function of your own: mutate shapes, numbers, types and layouts of its inputs, and check every derivative.

    Findings are confirmed in a fresh process, shrunk, and kept in the store as those of `gradfuzz run` are.
    Exit status: 0 nothing new, 1 findings, 2 wrong use or broken set-up.
    """
    module, colon, name = function.partition(":")
    if not colon or not name.isidentifier() or not module:
        raise GradfuzzError(f"{function}: write your function as module:function")
    inputs = [parse_input(text, position) for position, text in enumerate(input)]
    text = program_text(module, name, inputs, seed)
    try:
        parse(text, language_for(target, (module,)))
    except ProgramError as error:
        raise GradfuzzError(f"{function}: {error.reason}") from None
    if python is None and env is None:
        find_function(function)  # a slip in the name is said here, in one line, and not by every worker
    seeds = store.with_suffix(".seeds.txt")
    if not resume:
        try:
            seeds.write_text(text, encoding="utf-8")
        except OSError as error:
            raise GradfuzzError(f"--store {store}: {error.strerror}") from None
    run(
        target, python, env, time, mutants, seeds=[seeds], module=[module], order=order, workers=workers, seed=seed, store=store,
        resume=resume,
    )  # fmt: skip


def program_text(module: str, name: str, inputs: list[Input], seed: int) -> str:
    """The seed: one recipe for each input, then the call."""
    names = [item.name for item in inputs]
    if len(set(names)) < len(names):
        raise GradfuzzError(f"two inputs have the same name: {', '.join(names)}")
    lines = [item.recipe(seed + position + 1) for position, item in enumerate(inputs)]
    return "\n".join([*lines, f"out = {module}.{name}({', '.join(names)})"]) + "\n"
