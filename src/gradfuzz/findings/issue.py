"""A finding as a text for an issue tracker, in the sections of that tracker's own template.

What makes it appear stands in the title and in the first sentence, a control beside it; then what each mode gives, why the expected
number is right, an example as people write them, and the environment in which it was run.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.history import since
from gradfuzz.findings.labels import BY_DESIGN, web_link
from gradfuzz.findings.shown import Short
from gradfuzz.oracles.verdict import (
    ACCURACY,
    CRASH,
    GRADIENT,
    INTERNAL,
    KINK,
    MALFORMED,
    MEMORY,
    NONFINITE,
    PRECISION,
    STATUS,
    TAIL,
    TIMEOUT,
    VALUE,
    WAY,
)
from gradfuzz.targets.base.scenario import nestings
from gradfuzz.targets.homes import homes

# What a tracker calls its sections where the target's folder does not say; `environment` is what prints the rest of the versions.
HEADINGS = {"bug": "Describe the bug", "script": "To reproduce", "versions": "Versions", "environment": ""}
# What a maintainer would write as a title, behind the name of the API.
TITLES = {
    GRADIENT: "returns an incorrect {order} {where}",
    KINK: "returns a {order} outside the one-sided slopes {where}",
    ACCURACY: "returns an inaccurate {order} {where}",
    TAIL: "loses a representable {order} {where}",
    PRECISION: "returns an incorrect {order} in lower precision {where}",
    NONFINITE: "returns NaN or infinity for a finite {order} {where}",
    WAY: "returns another {order} {where} than plainly",
    VALUE: "returns another output {where}",
    STATUS: "raises {where}",
    MALFORMED: "returns a {order} of the wrong shape or type {where}",
    INTERNAL: "fails an internal assertion {where}",
    MEMORY: "runs out of memory {where}",
    CRASH: "kills the process {where}",
    TIMEOUT: "does not come back {where}",
}
_ORDERS = {1: "gradient", 2: "second derivative", 3: "third derivative"}
_FEW = 2  # scenarios and triggers that a title names
_DIGITS = 10  # of numbers in sentences
# A number is called zero where it is the rounding of what it stands beside.
_ROUNDING = 1e-12
_MOST_DECIMALS = 300
DIFFERENCE = "a difference quotient"
IN_PLACE = "in place"
FORMS = ("with `out=`", IN_PLACE)  # triggers that are a form of the call
RAISING = (STATUS, INTERNAL)  # where what is wrong is an error
NOTHING = "None"  # what an example prints where there is no derivative at all


def issue_title(finding: Finding) -> str:
    """One line: the API, what it does wrong, with respect to what, in which modes, and what makes it appear."""
    return f"{_call(finding)} {_fault(finding, finding.short)}"


def _call(finding: Finding, mark: str = "") -> str:
    """The API, and the form that it is called in, where its name does not say that."""
    named = finding.api.endswith("_")
    return " ".join([f"{mark}{finding.api}{mark}", *(words for words in _triggers(finding.short, FORMS) if not named or words != IN_PLACE)])


def _triggers(short: Short | None, forms: Collection[str] = (), apart: bool = False) -> list[str]:
    """What makes it appear: forms of the call, which stand behind its name, or the others, which come last."""
    named = [t.trigger for t in short.context.triggers] if short is not None else []
    return [words for words in named if (words in forms) != apart][: None if not apart else _FEW]


def _fault(finding: Finding, short: Short | None) -> str:
    """The title behind the name of the API."""
    verdict = finding.verdict
    order = _ORDERS.get(verdict.order, "derivative")
    argument = f" with respect to `{short.argument}`" if short is not None and short.argument and _several(finding) else ""
    shape = TITLES[finding.kind]
    if short is not None and _is_none(short):
        shape = "returns no {order} (None) {where}"
    said = shape.format(order=order + argument, where=_where(finding)).strip()
    return " ".join([said, *_triggers(short, FORMS, apart=True)])


def _several(finding: Finding) -> bool:
    """Whether there are other arguments that somebody may differentiate."""
    return sum(not r.discrete for r in finding.program.inputs.values()) > 1


def _is_none(short: Short) -> bool:
    """Whether the library gives nothing at all for the derivative."""
    first = short.printed.strip().splitlines()[:1]
    return bool(first) and first[0].endswith(f": {NOTHING}")


def _where(finding: Finding) -> str:
    verdict = finding.verdict
    plain = [name for name in verdict.names if name != "direct"]
    if not plain:
        return ""
    if verdict.order == 1 and all(not s.way and not s.device for s in verdict.scenarios):
        return f"in {' and '.join(plain)} mode"
    every = len(plain) == 2**verdict.order
    return "in every nesting of modes" if every and len(plain) > _FEW else f"under {' and '.join(plain[:_FEW])}"


def issue_text(finding: Finding, others: Sequence[str] = (), scenarios: Sequence[str] = ()) -> str:
    """Markdown: title, what is wrong, a script, what it prints, what is affected, versions, related reports.

    `others`: APIs with the same cause; `scenarios`: all in which it shows.
    """
    home = homes().get(finding.target)
    library = home.title if home is not None else finding.target
    headings = {**HEADINGS, **(home.about.get("tracker", {}) if home is not None else {})}
    lines = [f"# {issue_title(finding)}", "", f"### {headings['bug']}", "", *_wrong(finding)]
    if headings["script"] != HEADINGS["script"]:  # a tracker with a field of its own for it
        lines += ["", f"### {headings['script']}"]
    lines += ["", *_script(finding, library), "", *_affected(finding, others, scenarios)]
    lines += ["", f"### {headings['versions']}", "", *_versions(finding, library)]
    if headings["environment"]:
        lines.append(f"(`{headings['environment']}` prints the rest.)")
    lines += ["", "Found with gradfuzz."]
    return "\n".join(lines) + "\n"


def _versions(finding: Finding, library: str) -> list[str]:
    own = f"- {library} {finding.version} (CPU)"
    return [own, *(f"- {said}" if name == "OS" else f"- {name} {said}" for name, said in finding.environment)]


def _wrong(finding: Finding) -> list[str]:
    """What is wrong and what makes it so, a control, expected and actual, and what each mode gives."""
    short, verdict = finding.short, finding.verdict
    if finding.kind in RAISING:
        told = [f"{_call(finding, '`')} {_fault(finding, short)}:", "", "```", str(verdict.actual).strip().partition(". ")[0], "```"]
        modes = [f"- {_mode(name)}: {word.partition(':')[0]}" for name, word in short.context.modes.items()] if short is not None else []
        works = [t.control for t in short.context.triggers if t.control] if short is not None else []
        told += ["", "The function itself runs."] if finding.kind == STATUS else []
        return [*told, *(["", f"This very call works {works[0]}."] if works else []), *(["", *modes] if modes else [])]
    if short is None:
        error = f" (error bar {verdict.error_bar:.1e})" if verdict.error_bar else ""
        told = [finding.proof.told] if finding.proof is not None and finding.proven else []
        numbers = [f"- expected: `{verdict.expected}`{error}", f"- actual: `{verdict.actual}`"]
        return [finding.explanation.replace("\n", " "), "", verdict.reason, *told, "", *numbers]
    actual = NOTHING if _is_none(short) else number(short.actual, short.right)
    right = number(short.right, short.actual, short.context.quotient[0] if short.source == DIFFERENCE and short.context.quotient else 0.0)
    lines = [f"{_call(finding, '`')} {_fault(finding, short)}: `{short.what}` is `{actual}`, and should be `{right}`."]
    if short.context.still and _triggers(short, FORMS):
        lines.append("What is written over keeps its derivative, as if nothing had been written.")
    lines += _control(short, right)
    lines += ["", f"Why `{right}` is right: {'; '.join(_reasons(finding, short))}.", "", *_modes(finding, short)]
    return lines


def number(value: float, beside: float, bar: float = 0.0) -> str:
    """As a sentence has it: no digits that are rounding, or beyond an error bar."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if math.isfinite(beside) and abs(value) <= _ROUNDING * abs(beside):
        return "0.0"
    known = math.floor(-math.log10(10 * bar)) if 0 < bar < 1 else _MOST_DECIMALS
    return repr(round(float(f"{value:.{_DIGITS}g}"), known) + 0.0)


def _control(short: Short, right: str) -> list[str]:
    """The first control that is right, in a line."""
    for trigger in short.context.triggers:
        if trigger.control:
            same = f": it gives `{right}`" if trigger.number is not None else ""
            return [f"This very call is right {trigger.control}{same}."]
    return []


def _reasons(finding: Finding, short: Short) -> list[str]:
    """Why the expected number is right, each by means of its own."""
    context, found = short.context, []
    if context.still:
        found.append("the output stays the same whatever that number is")
    if context.quotient is not None:
        found.append(
            f"a central difference quotient with step {context.quotient[2]:g} gives {number(context.quotient[1], 1.0, context.quotient[0])}"
        )
    elif short.source == DIFFERENCE:
        found.append("a central difference quotient gives it")
    elif short.source == "in double precision":
        found.append("double precision gives it")
    elif short.source == "the nearest one-sided slope":
        found.append("it is the nearer of the two one-sided slopes, between which any slope would do")
    agreeing = [name for name, word in context.modes.items() if word == "right" and len(name.split("-over-")) == finding.verdict.order]
    if agreeing or short.source in {s.name for s in nestings(finding.verdict.order)}:
        found.append(f"{_mode(agreeing[0] if agreeing else short.source)} gives it")
    if finding.proven and not context.still:
        found.append("interval arithmetic encloses it")
    return found or ["see below"]


def _mode(name: str) -> str:
    return name if "-over-" in name else f"{name} mode"


def _modes(finding: Finding, short: Short) -> list[str]:
    """A line for each mode of the first order, and of the second where that is what is wrong."""
    words = dict(short.context.modes)
    if _is_none(short) and short.scenario in words:
        words[short.scenario] = f"wrong ({NOTHING})"
    return [f"- {_mode(name)}: {word}" for name, word in words.items() if name.count("-over-") < max(1, min(finding.verdict.order, 2))]


def _script(finding: Finding, library: str) -> list[str]:
    short = finding.short
    if short is not None:
        code, output = (short.example, short.printed) if short.example else (short.script, short.output)
        shown = ["```python", code.strip(), "```", "", "It prints:", "", "```", output.rstrip(), "```"]
        if short.example and short.context.gradient and "tensor([" in output:
            shown += ["", f"The gradient should be `{short.context.gradient}`."]
        return shown
    return [
        f"This script needs {library} and NumPy. It exits with 1 while the bug is there.", "",
        "<details><summary>script</summary>", "", "```python", finding.script.rstrip(), "```", "", "</details>", "",
        "It prints:", "", "```", finding.script_output.rstrip(), "```",
    ]  # fmt: skip


def _affected(finding: Finding, others: Sequence[str], scenarios: Sequence[str]) -> list[str]:
    """Modes, types, siblings, releases and reports, a line each."""
    named = list(dict.fromkeys((*finding.verdict.names, *scenarios)))
    types = dict.fromkeys(r.dtype for r in finding.program.inputs.values() if r.differentiable)
    told = finding.short is not None and finding.short.context.modes and set(named) <= set(finding.short.context.modes)
    lines = [] if told else [f"- Affected: {', '.join(named)}"]
    lines += [f"- Seen in {', '.join(types)}."] if types else []
    if finding.ordinary is False:
        lines.append("- It was not seen at other ordinary numbers: it is a matter of these inputs.")
    if others:
        lines.append(f"- The same cause shows in {', '.join(f'`{api}`' for api in others)}.")
    if since(finding.said):
        lines.append(f"- Since when: {since(finding.said)}.")
    if finding.label is not None and web_link(finding.label.link):
        lines.append(f"- {'Documented' if finding.label.label == BY_DESIGN else 'Related'}: {web_link(finding.label.link)}")
    return lines
