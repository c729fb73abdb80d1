"""The books as tables: tokens by phase, and everything about each program."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from gradfuzz.errors import GradfuzzError
from gradfuzz.llm.ledger import PLAN, REPLY, ROUND, Ledger, Row

USAGE, PROGRAMS = "usage_summary.csv", "program_summary.csv"


def usage_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """Tokens and money by phase and model, and in all."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in ledger.of(REPLY):
        groups[str(row["phase"]), str(row["model"])].append(row)
    found = [_usage(phase, model, rows) for (phase, model), rows in sorted(groups.items())]
    return [*found, _usage("total", "", [row for rows in groups.values() for row in rows])]


def _usage(phase: str, model: str, rows: list[Row]) -> dict[str, Any]:
    paid = [row for row in rows if row["paid"]]
    totals = [row["prompt"] + row["completion"] for row in paid]
    priced = all(row["cost"] is not None for row in paid)
    return {
        "phase": phase, "model": model, "requests": len(paid), "from_cache": len(rows) - len(paid),
        "prompt_tokens": sum(row["prompt"] for row in paid), "completion_tokens": sum(row["completion"] for row in paid),
        "total_tokens": sum(totals), "mean_tokens": round(sum(totals) / max(1, len(totals)), 1),
        "min_tokens": min(totals, default=0), "max_tokens": max(totals, default=0),
        "cost_usd": round(sum(row["cost"] for row in paid), 6) if priced else "",
        "estimated_requests": sum(bool(row["estimated"]) for row in paid), "seconds": round(sum(row["seconds"] for row in paid), 1),
    }  # fmt: skip


def program_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """One row for each program that was planned."""
    asks = {ask["id"]: ask for row in ledger.of(PLAN) for ask in row["asks"]}
    replies: dict[int, list[Row]] = defaultdict(list)
    for row in ledger.of(REPLY):
        if row["paid"]:
            replies[row["id"]].append(row)
    items: dict[int, list[Row]] = defaultdict(list)
    for row in ledger.of(ROUND):
        for item in row["items"]:
            items[item["id"]].append(item)
    return [_program(ask, replies[identity], items[identity]) for identity, ask in sorted(asks.items())]


def _program(ask: dict[str, Any], replies: list[Row], items: list[Row]) -> dict[str, Any]:
    def tokens(phase: str) -> int:
        return sum(row["prompt"] + row["completion"] for row in replies if row["phase"].startswith(phase))

    def count(phase: str, valid: bool | None = None) -> int:
        return sum(item["phase"] == phase and not item["replaced"] and (valid is None or item["valid"] == valid) for item in items)

    reasons = Counter(item["reason"] for item in items if not item["valid"])
    priced = all(row["cost"] is not None for row in replies)
    return {
        "id": ask["id"], "apis": " ".join(api["name"] for api in ask["apis"]), "aim": ask["aim"], "requests": len(replies),
        "prompt_tokens": sum(row["prompt"] for row in replies), "completion_tokens": sum(row["completion"] for row in replies),
        "program_tokens": tokens("program"), "parameter_tokens": tokens("parameters"), "total_tokens": tokens(""),
        "cost_usd": round(sum(row["cost"] for row in replies), 6) if priced else "", "programs": count("program"),
        "programs_valid": count("program", True), "parameter_sets": count("parameters"), "parameter_sets_valid": count("parameters", True),
        "mended": sum(bool(item["valid"] and item["again"]) for item in items),
        "refused": "; ".join(f"{n} {reason}" for reason, n in reasons.most_common()),
        "rules_reached": len({rule for item in items for rule in item["rules"]}),
    }  # fmt: skip


def write_summaries(ledger: Ledger, folder: Path) -> list[dict[str, Any]]:
    """Both tables, as CSV; returns the rows of usage, the total last."""
    usage = usage_rows(ledger)
    _write(folder / USAGE, usage)
    _write(folder / PROGRAMS, program_rows(ledger))
    return usage


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["id"], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(value) for key, value in row.items()})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(text.getvalue(), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise GradfuzzError(f"{path} cannot be written ({error.strerror}); name another folder with --to") from None


def _cell(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula is kept from being one."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
