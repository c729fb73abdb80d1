"""A finding as a text for an issue tracker, in the sections of that tracker's own template."""

from __future__ import annotations

from collections.abc import Sequence

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.history import since
from gradfuzz.findings.labels import BY_DESIGN, web_link
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
    NONFINITE: "returns a {order} that is not finite {where}, where it exists",
    WAY: "returns another {order} {where} than plainly",
    VALUE: "returns another output {where}",
    STATUS: "raises {where}, where the function itself works",
    MALFORMED: "returns a {order} of the wrong shape or type {where}",
    INTERNAL: "fails an internal assertion {where}",
    MEMORY: "runs out of memory {where}",
    CRASH: "kills the process {where}",
    TIMEOUT: "does not come back {where}",
}
_ORDERS = {1: "gradient", 2: "second derivative", 3: "third derivative"}
_FEW = 2  # scenarios that a title names


def issue_title(finding: Finding) -> str:
    """One line: the API, what it does wrong, in which modes."""
    verdict = finding.verdict
    order = _ORDERS.get(verdict.order, "derivative")
    return f"{finding.api} {TITLES[finding.kind].format(order=order, where=_where(finding)).strip()}"


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
    lines += ["", f"### {headings['versions']}", "", f"{library} {finding.version}, CPU"]
    if headings["environment"]:
        lines.append(f"(`{headings['environment']}` prints the rest.)")
    lines += ["", "Found with gradfuzz."]
    return "\n".join(lines) + "\n"


def _wrong(finding: Finding) -> list[str]:
    """What is wrong, in a sentence or two, and expected and actual."""
    short, verdict = finding.short, finding.verdict
    if short is None:
        error = f" (error bar {verdict.error_bar:.1e})" if verdict.error_bar else ""
        told = [finding.proof.told] if finding.proof is not None and finding.proven else []
        numbers = [f"- expected: `{verdict.expected}`{error}", f"- actual: `{verdict.actual}`"]
        return [finding.explanation.replace("\n", " "), "", verdict.reason, *told, "", *numbers]
    source = {
        "proven": "ball arithmetic encloses it", "a difference quotient": "by a difference quotient",
        "the nearest one-sided slope": "the nearer of the one-sided slopes",
    }.get(short.source, f"as {short.source} gives it")  # fmt: skip
    exact = finding.proof.enclosure if finding.proven and finding.proof is not None else ""
    return [
        f"`{short.what}` comes out as `{short.actual!r}` under {short.scenario}.", "",
        f"- expected: `{short.right!r}` ({source}{f' in `{exact}`' if exact else ''})",
        f"- actual: `{short.actual!r}`",
    ]  # fmt: skip


def _script(finding: Finding, library: str) -> list[str]:
    short = finding.short
    if short is not None:
        output = short.output
        return ["```python", short.script.rstrip(), "```", "", "It prints:", "", "```", output.rstrip(), "```"]
    return [
        f"This script needs {library} and NumPy. It exits with 1 while the bug is there.", "",
        "<details><summary>script</summary>", "", "```python", finding.script.rstrip(), "```", "", "</details>", "",
        "It prints:", "", "```", finding.script_output.rstrip(), "```",
    ]  # fmt: skip


def _affected(finding: Finding, others: Sequence[str], scenarios: Sequence[str]) -> list[str]:
    """Modes, types, siblings, releases and reports, a line each."""
    named = list(dict.fromkeys((*finding.verdict.names, *scenarios)))
    types = dict.fromkeys(r.dtype for r in finding.program.inputs.values() if r.differentiable)
    lines = [f"- Affected: {', '.join(named)}" + (f", seen in {', '.join(types)}" if types else "")]
    if finding.ordinary:
        lines.append("- It shows at other ordinary numbers as well.")
    elif finding.ordinary is False:
        lines.append("- It was not seen at other ordinary numbers: it is a matter of these inputs.")
    if others:
        lines.append(f"- The same cause shows in {', '.join(f'`{api}`' for api in others)}.")
    if since(finding.said):
        lines.append(f"- Since when: {since(finding.said)}.")
    if finding.label is not None and web_link(finding.label.link):
        lines.append(f"- {'Documented' if finding.label.label == BY_DESIGN else 'Related'}: {web_link(finding.label.link)}")
    return lines
