"""What tokens cost: data, or what the user says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from gradfuzz.errors import GradfuzzError

_DATA = json.loads(Path(__file__).with_name("prices.json").read_text(encoding="utf-8"))
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")  # of a snapshot: it costs what its model costs


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    prompt: float
    completion: float
    said: str = ""  # where it is from

    def of(self, prompt: int, completion: int) -> float:
        return (prompt * self.prompt + completion * self.completion) / 1e6


def price_of(model: str, said: str | None, own_server: bool = False) -> Price | None:
    """The price of a model's tokens; None where nobody knows. `said`: as PROMPT,COMPLETION per million tokens."""
    if said is not None:
        try:
            prompt, completion = (float(part) for part in said.split(","))
        except ValueError:
            prompt = completion = -1.0
        if not (0 <= prompt < 1e6 and 0 <= completion < 1e6):
            raise GradfuzzError(f"--price {said!r} is not PROMPT,COMPLETION in dollars per million tokens, as in 0.15,0.60")
        return Price(prompt, completion, "--price")
    row = _DATA["models"].get(_DATED.sub("", model)) if not own_server else None
    return Price(row[0], row[1], f"{_DATA['source']}, {_DATA['as_of']}") if row else None
