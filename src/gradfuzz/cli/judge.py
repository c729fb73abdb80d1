"""`gradfuzz judge` and `gradfuzz found`: what a person says of findings, and the page that is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from gradfuzz.bugs.bug import Bug
from gradfuzz.bugs.judgements import JUDGEMENTS, add_judgements, beside, read_judgements
from gradfuzz.bugs.judgements import judge as judgement_of
from gradfuzz.cli.bugs import JudgementsOption, chosen
from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, records, say_lines
from gradfuzz.errors import GradfuzzError
from gradfuzz.report.found import Source, found_page, source_of


def judge(
    identity: Annotated[str, typer.Argument(metavar="ID", help="A finding's id, or a bug's, which means all of its findings.")],
    judgement: Annotated[str, typer.Argument(help="One of " + ", ".join(JUDGEMENTS) + ".")],
    why: Annotated[str, typer.Argument(help="The reason, in a sentence or two that others can check.")],
    store: StoreOption = DEFAULT_STORE,
    judgements: JudgementsOption = None,
) -> None:
    """Say what a finding is: real, false, dull or by-design, and why.

    It is kept in a file beside the store (STORE.judgements.json) or in the one you name, and shown by `bugs`, `findings` and `show`. A bug
    all of whose findings are false, dull or by design is folded away with the edge cases. `gradfuzz found` makes a page of it.
    """
    path = judgements or beside(store)
    with records(store) as opened:
        found = chosen(opened, identity, path)
    listed = found.findings if isinstance(found, Bug) else (found,)
    add_judgements(path, [judgement_of(f, judgement, why) for f in listed])
    say_lines(f"{', '.join(f.id for f in listed)}: {judgement}, kept in {path}", rest="  ")


def found(
    store: Annotated[
        Optional[list[Path]], typer.Option("--store", help="A store to read; may be given again. gradfuzz.db by default.")
    ] = None,
    judgements: Annotated[
        Optional[list[Path]],
        typer.Option("--judgements", help="A file of judgements; may be given again. Those beside the stores by default."),
    ] = None,
    release: Annotated[Optional[str], typer.Option("--of", help="The release that it is about, as in torch==2.13.0.")] = None,
    page: Annotated[Optional[Path], typer.Option("--out", help="The file to write; without it the page is printed.")] = None,
) -> None:
    """Write what was found in a release as a page: bugs first, each with its judgement, then what was folded away.

    The page is made of stores and judgements alone, so that it can be made again.
    """
    stores = store or [DEFAULT_STORE]
    sources: list[Source] = []
    for path in stores:
        with records(path) as opened:
            sources.append(source_of(opened))
    said = [j for path in judgements or map(beside, stores) for j in read_judgements(path)]
    text = found_page(_one_release(sources, release), sources, said)
    if page is None:
        print(text, end="")
        return
    try:
        page.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise GradfuzzError(f"{page} cannot be written ({error.strerror}); name another with --out") from None
    say_lines(f"wrote {page}")


def _one_release(sources: list[Source], said: str | None) -> tuple[str, str]:
    known = list(dict.fromkeys((f.target, f.version) for source in sources for f in source.findings))
    wanted = [(target, version) for target, version in known if said in (None, f"{target}=={version}")]
    if len(wanted) != 1:
        names = ", ".join(f"{target}=={version}" for target, version in known) or "nothing"
        raise GradfuzzError(
            f"--of {said}: found was {names}; name one of these" if said else f"found was {names}; name one release with --of"
        )
    return wanted[0]
