"""A finding as a text for an issue tracker."""

from __future__ import annotations

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.history import since
from gradfuzz.targets.homes import homes

# What a tracker calls its sections where the target's folder does not say.
HEADINGS = {"bug": "Describe the bug", "script": "To reproduce", "versions": "Versions"}


def issue_text(finding: Finding) -> str:
    """Markdown: what is wrong, a script, expected and actual, versions."""
    home = homes().get(finding.target)
    library = home.title if home is not None else finding.target
    headings = {**HEADINGS, **(home.about.get("tracker", {}) if home is not None else {})}
    verdict = finding.verdict
    error = f" (error bar {verdict.error_bar:.1e})" if verdict.error_bar else ""
    lines = [
        f"# {finding.api}: {finding.title}",
        "",
        f"## {headings['bug']}",
        "",
        finding.explanation,
        "",
        verdict.reason,
        *(["", finding.proof.told] if finding.proof is not None and finding.proven else []),
        "",
        "The function, at the smallest inputs that show it:",
        "",
        "```python",
        finding.text.rstrip(),
        "```",
        "",
        "Here `tensor(shape, dtype, values)` is a tensor; the script below spells it out.",
        "",
        f"## {headings['script']}",
        "",
        f"This script needs {library} and NumPy. It exits with 1 while the bug is there.",
        "",
        "<details><summary>script</summary>",
        "",
        "```python",
        finding.script.rstrip(),
        "```",
        "",
        "</details>",
        "",
        "It prints:",
        "",
        "```",
        finding.script_output.rstrip(),
        "```",
        "",
        "## Expected and actual",
        "",
        f"- expected: `{verdict.expected}`{error}",
        f"- actual: `{verdict.actual}`",
        "",
        f"## {headings['versions']}",
        "",
        f"- {library} {finding.version}, CPU",
        *([f"- {since(finding.said)}"] if since(finding.said) else []),
        "",
        "Found with gradfuzz.",
    ]
    return "\n".join(lines) + "\n"
