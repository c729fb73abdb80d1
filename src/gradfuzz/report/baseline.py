"""What was known before: the findings of an earlier report. Against it only what is new counts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from gradfuzz.errors import StoreError
from gradfuzz.findings.finding import Finding

FORM = 1
MOST = 1 << 28  # bytes; a report of five thousand findings has some tens of millions


@dataclass(frozen=True)
class Baseline:
    """Findings by library and key: a bug that an older release had, too, is not new in the next one."""

    keys: frozenset[tuple[str, str]] | None = None  # None: there is none, and everything is new

    def __contains__(self, finding: Finding) -> bool:
        return self.keys is not None and (finding.target, finding.key) in self.keys


def read_baseline(path: Path) -> Baseline:
    """What `gradfuzz report --format json` wrote. StoreError, in one line, for anything else."""
    try:
        if path.stat().st_size > MOST:
            raise StoreError(f"--baseline {path}: too large for a report; name a file that `gradfuzz report --format json` wrote")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StoreError(f"--baseline {path}: {error.strerror}; make one with `gradfuzz report --format json`") from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or not isinstance(rows := data.get("findings"), list):
        raise StoreError(f"--baseline {path}: not a report; name a file that `gradfuzz report --format json` wrote")
    if data.get("form") != FORM:
        raise StoreError(f"--baseline {path}: of form {data.get('form')!r}, this gradfuzz knows {FORM}; make it anew")
    pairs = [(row.get("target"), row.get("key")) for row in rows if isinstance(row, dict)]
    return Baseline(frozenset((target, key) for target, key in pairs if isinstance(target, str) and isinstance(key, str)))
