"""Files of a report: they appear whole, and nothing that a store says decides where."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from gradfuzz.errors import GradfuzzError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.issue import issue_text

SCRIPTS = "findings"  # the folder of scripts and issue texts beside a report
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def file_name(identity: str) -> str:
    """A finding's id as the name of a file: itself if it can be one, else a name made from it. An id is data, perhaps a stranger's."""
    if _NAME.fullmatch(identity) and ".." not in identity:
        return identity
    return "finding-" + hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def write_text(path: Path, text: str) -> Path:
    return write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, content: bytes) -> Path:
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise GradfuzzError(f"{path} cannot be written ({error.strerror}); name another folder with --out") from None
    return path


def write_scripts(folder: Path, findings: list[Finding]) -> None:
    """A script and an issue text for each finding."""
    for finding in findings:
        name = file_name(finding.id)
        write_text(folder / SCRIPTS / f"{name}.py", finding.to_paste)
        write_text(folder / SCRIPTS / f"{name}.md", issue_text(finding))
