"""How a target spells what is not found by trying: calls with an axis, several operands or a type."""

from __future__ import annotations

from functools import lru_cache

from gradfuzz.errors import TargetError
from gradfuzz.program.model import Expr
from gradfuzz.program.parse import parse
from gradfuzz.targets.homes import homes


@lru_cache(maxsize=8)
def dialect(target: str) -> dict[str, Expr]:
    """Expressions over a, b, c, d by what they do. TargetError for a target without any."""
    home = homes()[target]
    calls = home.data("dialect").get("calls", {})
    if not calls:
        raise TargetError(f"there is no dialect of {target} for graphs; known: {', '.join(known_dialects())}")
    inputs = "".join(f'{name} = tensor((), "float64", full(1.0))\n' for name in "abcd")
    return {kind: parse(f"{inputs}y = {text}\n", home.language()).statements[-1].value for kind, text in calls.items()}


def known_dialects() -> list[str]:
    return sorted(name for name, home in homes().items() if home.data("dialect"))
