"""`gradfuzz findings`, `show`, `repro`, `issue`: what was found."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from gradfuzz.bugs.bug import Bug
from gradfuzz.bugs.severity import severity
from gradfuzz.cli.bugs import INDENT, JudgementsOption, chosen, known_bugs, leading, met, show_line, told_of
from gradfuzz.cli.console import DEFAULT_STORE, WIDTH, StoreOption, out, records, say_lines, visible
from gradfuzz.cli.display import COLOURS
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.issue import issue_text
from gradfuzz.store.proofs import proofs_of

MOST_SHOWN = 60  # characters of a value in a list

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of a finding or of a bug, or its beginning.")]


def findings(
    store: StoreOption = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="A list of objects, for programs.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also what could not be confirmed.")] = False,
    judgements: JudgementsOption = None,
) -> None:
    """List what was found under the bug that each finding belongs to, the gravest first."""
    with records(store) as opened:
        listed = opened.findings(unconfirmed=everything)
        lost = proofs_of(opened).told
        bugs = known_bugs(opened, judgements)
    others = [f for f in listed if not f.confirmed]
    if as_json:
        told = [{**f.public(), **_place(bug, f)} for bug in bugs for f in bug.findings]
        print(json.dumps(told + [f.public() for f in others], indent=2))
        return
    if lost and not everything:
        say_lines(f"{lost}; --all lists them")
    if not listed:
        out.print("nothing was found")
        return
    for bug in bugs:
        say_lines(told_of(bug.severity), f"{visible(bug.id)}  ", INDENT, "bold")
        for f in bug.findings:
            _show_line(f, f.label_name)
    if others:
        out.print("[bold]not confirmed[/]")
    for f in others:
        _show_line(f, _unconfirmed(f))


def _unconfirmed(f: Finding) -> str:
    """Why, in a few words."""
    if f.refuted:
        return "refuted"
    return "unsound direct run" if f.unsound else "lost to its script" if f.lost else "unconfirmed"


def show(identity: IdArgument, store: StoreOption = DEFAULT_STORE, judgements: JudgementsOption = None) -> None:
    """Show one finding in full: the Program, what each scenario says, the error bar, the label.

    Of a bug: how grave it is and why, which findings it has, and the gravest of them in full.
    """
    with records(store) as opened:
        found = chosen(opened, identity, judgements)
    if isinstance(found, Bug):
        show_line(found)
        say_lines(f"{told_of(found.severity)}. {found.severity.grade.reason}", INDENT, INDENT)
        for judgement in found.judgements:
            say_lines(f"judged {judgement.judgement}: {judgement.why} ({judgement.id})", INDENT, INDENT)
        out.print()
        for f in found.findings:
            _show_line(f, f.label_name)
        out.print()
    _show(found.leading if isinstance(found, Bug) else found)


def _show(f: Finding) -> None:
    verdict, detail = f.verdict, f.verdict.detail
    say_lines(f"{f.api}: {f.title}", f"{visible(f.id)}  ", INDENT, "bold")
    say_lines(f"{f.target} {f.version}, {met(f.times)}, {'confirmed' if f.confirmed else 'not confirmed'}")
    say_lines(told_of(severity(f)))
    if f.label:
        quoted = f' ("{f.label.quote}")' if f.label.quote else ""
        say_lines(f"{f.label.label}: {f.label.reason}{quoted} {f.label.link}")
    for sentence in f.documented or ():
        say_lines(sentence, "its docstrings say: ", INDENT)
    out.print()
    say_lines(f.explanation)
    out.print("\n[bold]Program[/]")
    say_lines(f.text.rstrip(), "  ", "  ")
    out.print()
    rows = [(name, repr(number)) for name, number in (detail.get("numbers") or {}).items()]
    if detail.get("numeric") is not None:
        error = detail.get("numeric_error")
        rows.append(("numeric", repr(detail["numeric"]) + (f" ± {error:.1e}" if error is not None else "")))
    if detail.get("steps"):
        rows.append(("steps of the ladder", f"{detail['steps']}, {detail['steps_agreeing_with_ad']} of them agree with AD"))
    wide = min(max((len(visible(name)) for name, _ in rows), default=0), WIDTH // 2)
    for name, said in rows:
        say_lines(said, f"{visible(name):{wide}}  ", INDENT)
    say_lines(verdict.reason)
    if f.unsound:
        say_lines(f"no gradient bug: {f.unsound}")
    if f.proof is not None:
        say_lines(f.proof.told)
    if f.short is not None:
        say_lines(f.short.told)
    if f.script_output:
        out.print("\n[bold]its script says[/]")
        say_lines(f.script_output.rstrip(), "  ", "  ")


def repro(
    identity: IdArgument,
    store: StoreOption = DEFAULT_STORE,
    full: Annotated[bool, typer.Option("--full", help="The long form: all scenarios, with the oracle's own directions.")] = False,
) -> None:
    """Print a script that shows a finding: `gradfuzz repro ID > bug.py; python bug.py` exits 1 while the bug is there.

    Of a wrong number it is one entry of the derivative in at most 25 lines, where that was seen to show the bug by itself.
    """
    with records(store) as opened:
        found = leading(opened, identity)
    print(visible(found.script if full else found.to_paste), end="")


def issue(identity: IdArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Print a text that can be pasted into the library's issue tracker, in the sections of its template.

    Of a bug it also says which other functions and modes have the same cause.
    """
    with records(store) as opened:
        found = chosen(opened, identity)
    if isinstance(found, Bug):
        print(visible(issue_text(found.leading, found.apis[1:], found.affects.split(", "))), end="")
    else:
        print(visible(issue_text(found)), end="")


def _place(bug: Bug, finding: Finding) -> dict[str, str]:
    """What a program wants to know of a finding beside itself."""
    grade = severity(finding)
    return {"bug": bug.id, "severity": grade.grade.name, "because": grade.because, "judgement": bug.judged}


def _show_line(f: Finding, label: str) -> None:
    numbers = f"expected {_short(f.verdict.expected)}, actual {_short(f.verdict.actual)}"
    told = f"{f.api}: {f.title}; {numbers}; {label}{', proven' if f.proven else ''}, {met(f.times)}"
    say_lines(told, f"  {visible(f.id)}  ", INDENT, COLOURS.get(label, "dim"))


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value if value is not None else "")
    return text if len(text) < MOST_SHOWN else text[: MOST_SHOWN - 3].rsplit(" ", 1)[0] + " …"
