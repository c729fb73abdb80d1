"""A model's guess at the cause of a finding. It is shown as a guess, kept nowhere but in the cache, and no verdict knows of it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from gradfuzz.errors import GradfuzzError
from gradfuzz.findings.finding import Finding
from gradfuzz.llm.answers import GUESS
from gradfuzz.llm.asking import Ask, Asking
from gradfuzz.llm.prompting import Prompts
from gradfuzz.oracles.check import Options
from gradfuzz.pool.executor import Executor
from gradfuzz.program import to_json

MOST_RULES = 3  # whose formulas go into the prompt


@dataclass(frozen=True)
class Guess:
    """What a model thinks."""

    cause: str
    fix: str = ""
    confidence: str = ""


def formulas(finding: Finding, pool: Executor) -> str:
    """The formula of the rule at fault; where that is not known, of the rules that the Program reaches."""
    rules = [finding.rule] if finding.rule else []
    if not rules:
        event = pool.run("examine", program=to_json(finding.program), options=Options(1).to_json())
        rules = list(event.data.get("rules", ()))[:MOST_RULES]
    told = [str(pool.run("formula", rule=rule).data.get("formula", "")) for rule in rules]
    return "\n\n".join(text for text in told if text)


def explain(finding: Finding, formula: str, prompts: Prompts, asking: Asking) -> Guess:
    """Ask for the root cause. GradfuzzError if there is no answer."""
    reply = asking.one(Ask(-1, "explain", prompts.explain(finding, formula), "guess", GUESS))
    if reply is None or not reply.content.strip():
        why = asking.unanswered[-1] if asking.unanswered else "the answer is empty"
        raise GradfuzzError(f"there is no explanation: {why}")
    return read_guess(reply.content)


def read_guess(content: str) -> Guess:
    """The answer's parts; the whole of it as the cause where it has none."""
    start, end = content.find("{"), content.rfind("}")
    try:
        data = json.loads(content[start : end + 1], strict=False) if 0 <= start < end else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("cause"), str):
        return Guess(content.strip())
    return Guess(data["cause"], *(str(data.get(key, "")) for key in ("fix", "confidence")))
