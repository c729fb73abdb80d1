"""What people say of findings, in a file that is kept beside the store and can be handed on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from gradfuzz.errors import StoreError
from gradfuzz.findings.finding import Finding

REAL, FALSE, DULL, BY_DESIGN = "real", "false", "dull", "by-design"
# What may be said of a finding, and what it means.
JUDGEMENTS = {
    REAL: "a maintainer would accept it",
    FALSE: "AD is right, or there is no derivative there",
    DULL: "true, and nobody would care",
    BY_DESIGN: "the library's documentation says it",
}
FORM = 1
MOST = 1 << 24  # bytes of a file; one judgement is a few hundred
_TEXTS = ("id", "target", "version", "key", "judgement", "why")


@dataclass(frozen=True)
class Judgement:
    """One finding, judged. The key is what makes it the same finding in another campaign, whatever its id."""

    id: str
    target: str
    version: str
    key: str
    judgement: str
    why: str


def place(it: Judgement | Finding) -> tuple[str, str, str]:
    """What makes it the same in every campaign: the release and the key."""
    return it.target, it.version, it.key


def beside(store: Path) -> Path:
    """Where a store's judgements are kept unless somebody says otherwise."""
    return store.with_name(store.name + ".judgements.json")


def judge(finding: Finding, judgement: str, why: str) -> Judgement:
    """StoreError for a word that is none."""
    if judgement not in JUDGEMENTS:
        known = "; ".join(f"{word}: {meaning}" for word, meaning in JUDGEMENTS.items())
        raise StoreError(f"{judgement!r} is no judgement; say one of {known}")
    if not why.strip():
        raise StoreError("say why, in a sentence: a judgement without a reason is of no use to anybody else")
    return Judgement(finding.id, finding.target, finding.version, finding.key, judgement, why.strip())


def read_judgements(path: Path) -> list[Judgement]:
    """What a file says; nothing where there is none. A file may be a stranger's: StoreError for whatever is not as it should be."""
    try:
        if not path.exists():
            return []
        if path.stat().st_size > MOST:
            raise StoreError(f"{path} is too large for a file of judgements; name another with --judgements")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}); name another with --judgements") from None
    except (ValueError, RecursionError):
        raise StoreError(f"{path} is not a file of judgements; name another with --judgements") from None
    if not isinstance(data, dict) or not isinstance(rows := data.get("judgements"), list):
        raise StoreError(f"{path} is not a file of judgements; name another with --judgements")
    if data.get("form") != FORM:
        raise StoreError(f"{path} is of form {data.get('form')!r}, this gradfuzz knows {FORM}; upgrade gradfuzz")
    for row in rows:
        whole = isinstance(row, dict) and set(row) == set(_TEXTS) and all(isinstance(value, str) for value in row.values())
        if not whole or row["judgement"] not in JUDGEMENTS:
            raise StoreError(f"{path} has a judgement that is none; mend it, or name another with --judgements")
    return [Judgement(**row) for row in rows]


def add_judgements(path: Path, new: list[Judgement]) -> None:
    """Keep judgements; a new one takes the place of what was said of the same finding and release before. The file appears whole."""
    said = {place(j): j for j in (*read_judgements(path), *new)}
    text = json.dumps({"form": FORM, "judgements": [asdict(j) for j in said.values()]}, indent=1, ensure_ascii=False) + "\n"
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", errors="backslashreplace")
        part.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}); name another with --judgements") from None
