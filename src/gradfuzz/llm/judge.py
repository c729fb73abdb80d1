"""The judge of a round: what its answers brought, and what each of it cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from gradfuzz.llm.bandit import worth
from gradfuzz.llm.knowledge import Known


@dataclass(frozen=True)
class Item:
    """One program or parameter set of a model's, and what became of it."""

    id: int
    phase: str  # program, parameters
    aim: str
    api: str
    valid: bool
    again: bool = False  # after it was sent back once
    reason: str = ""
    message: str = ""
    rules: tuple[str, ...] = ()  # that it reached by itself
    replaced: bool = False  # it was refused, sent back, and another came in its place

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Judgement:
    """What a round brought."""

    items: int = 0
    valid: int = 0
    refused: dict[str, int] = field(default_factory=dict)  # by reason, at the first try and at the second
    mended: int = 0  # refused first, valid after they were sent back
    rules: int = 0
    pairs: int = 0
    bugs: int = 0
    tokens: int = 0
    cost: float | None = None

    @property
    def dry(self) -> bool:
        return not (self.rules or self.pairs or self.bugs)

    @property
    def share(self) -> float:
        return self.valid / self.items if self.items else 0.0

    def line(self) -> str:
        """All of it in a line."""
        parts = [f"{self.valid} of {self.items} valid ({100 * self.share:.0f} %{f', {self.mended} of them mended' if self.mended else ''})"]
        for count, one, many in ((self.rules, "rule", "rules"), (self.pairs, "pair", "pairs"), (self.bugs, "bug", "bugs")):
            parts.append(f"{count} new {one if count == 1 else many}{self._each(count)}")
        parts.append(f"{self.tokens} tokens" + (f", ${self.cost:.4f}" if self.cost is not None else ""))
        return "; ".join(parts)

    def _each(self, count: int) -> str:
        if not count:
            return ""
        money = f", ${self.cost / count:.5f}" if self.cost is not None else ""
        return f" ({self.tokens / count:.0f} tokens{money} each)"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Judgement:
        return Judgement(**data)


Arm = tuple[str, str, float]  # API, aim, what it was worth


def judge(items: list[Item], before: Known, after: Known, tokens: int, cost: float | None) -> tuple[Judgement, list[Arm]]:
    """(what the round brought, what each API and aim brought). `after` is what the round's own campaign reached.

    Pairs and bugs are known by the API of the seed. Where several aims of one round wrote for the same API they share what it brought.
    """
    rules = (after.rules | {rule for item in items for rule in item.rules}) - before.rules
    known_pairs = before.all_pairs
    pairs = {api: found - known_pairs for api, found in after.pairs.items()}
    bugs = {identity: api for identity, api in after.bugs.items() if identity not in before.bugs}
    refused, final = [item for item in items if not item.valid], [item for item in items if not item.replaced]
    found = Judgement(
        len(final), len(items) - len(refused), dict(Counter(item.reason for item in refused).most_common()),
        sum(item.valid and item.again for item in items), len(rules), len(set().union(*pairs.values()) if pairs else ()),
        len(bugs), tokens, cost,
    )  # fmt: skip
    arms: dict[tuple[str, str], float] = {}
    for item in items:
        own = len(set(item.rules) - before.rules)
        value = worth(sum(api == item.api for api in bugs.values()), own, len(pairs.get(item.api, ()))) if item.valid else 0.0
        arms[item.api, item.aim] = max(value, arms.get((item.api, item.aim), 0.0))
    return found, [(api, aim, value) for (api, aim), value in arms.items()]
