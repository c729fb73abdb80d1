"""A finding as a text for an issue tracker."""

from __future__ import annotations

from typing import Any

NAMES = {"torch": "PyTorch", "jax": "JAX", "tensorflow": "TensorFlow", "oneflow": "OneFlow"}


def issue_text(document: dict[str, Any]) -> str:
    """Markdown: what is wrong, a script, expected and actual, versions."""
    library = NAMES.get(document["target"], document["target"])
    error = f" (error bar {document['error_bar']:.1e})" if document.get("error_bar") else ""
    lines = [
        f"# {document['api']}: {document['title']}",
        "",
        "## Describe the bug",
        "",
        document["explanation"],
        "",
        document["reason"],
        "",
        "The function, at the smallest inputs that show it:",
        "",
        "```python",
        document["text"].rstrip(),
        "```",
        "",
        "Here `tensor(shape, dtype, values)` is a tensor; the script below spells it out.",
        "",
        "## To reproduce",
        "",
        f"This script needs {library} and NumPy. It exits with 1 while the bug is there.",
        "",
        "<details><summary>script</summary>",
        "",
        "```python",
        document["reproducer"].rstrip(),
        "```",
        "",
        "</details>",
        "",
        "It prints:",
        "",
        "```",
        (document.get("script_output") or "").rstrip(),
        "```",
        "",
        "## Expected and actual",
        "",
        f"- expected: `{document['expected']}`{error}",
        f"- actual: `{document['actual']}`",
        "",
        "## Versions",
        "",
        f"- {library} {document['version']}, CPU",
        "",
        "Found with gradfuzz.",
    ]
    return "\n".join(lines) + "\n"
