"""Whether a Program's inputs are outside a documented domain, as a label's row describes it: a label for that holds nowhere else.

{"below": 0.0, "above": 1.0}      a number is less than 0 or more than 1
{"at_most": 0.0, "argument": 0}   a number of the call's first argument is not positive
{"crossed": [0, 2]}               a number of the first argument is above one of the third
{"repeats": true}                 an integer comes twice among the numbers of one input
{"among": ["blank", 0, 1]}        the option, 0 unless it is given, is among the numbers of the second argument
{"beyond": 1}                     an integer of the second argument is no index into the last dimension of any floating input
{"equal": [1, 2]}                 a number of the second argument is that of the third
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradfuzz.program.model import DISCRETE, Expr, Program, Ref
from gradfuzz.program.values import materialise

CONDITIONS = {"below", "above", "at_most", "argument", "crossed", "repeats", "among", "beyond", "equal"}


def outside(program: Program, api: str, row: Mapping[str, Any]) -> bool:
    """Whether any input is outside. What cannot be made out counts as inside, so that nothing is labelled by mistake."""
    if row.get("repeats"):
        return any(_repeats(materialise(r)) for r in program.inputs.values() if r.dtype in DISCRETE and r.dtype != "bool")
    if "among" in row:
        name, default, position = row["among"]
        return _option(program, api, name, default) in _argument(program, api, position)
    if "beyond" in row:
        labels = _argument(program, api, row["beyond"])
        sizes = [r.shape[-1] for r in program.inputs.values() if r.dtype not in DISCRETE and r.shape]
        return bool(labels.size and sizes) and bool(labels.max() >= max(sizes) or labels.min() < 0)
    if "equal" in row:
        one, other = (_argument(program, api, position) for position in row["equal"])
        return bool(one.size and other.size) and bool(np.isin(one, other).any())
    if "crossed" in row:
        low, high = (_argument(program, api, position) for position in row["crossed"])
        return bool(low.size and high.size) and bool(low.max() > high.min())
    if "argument" in row:
        numbers = [_argument(program, api, row["argument"])]
    else:
        numbers = [materialise(r) for r in program.inputs.values() if r.dtype not in DISCRETE]
    return any(_outside(n.real, row) for n in numbers)


def _outside(n: Any, row: Mapping[str, Any]) -> bool:
    below, above, most = row.get("below", -np.inf), row.get("above", np.inf), row.get("at_most", -np.inf)
    return bool(((n < below) | (n > above) | ((n <= most) & np.isfinite(most))).any())


def _repeats(n: Any) -> bool:
    return len(np.unique(n)) < int(n.size)


def _option(program: Program, api: str, name: str, default: Any) -> Any:
    given = next((dict(c.kwargs) for c in program.calls() if c.func == api), {})
    return given.get(name, default)


def _argument(program: Program, api: str, position: int) -> Any:
    """The numbers of one argument of the API's call, by its position; none where they are computed or not there."""
    call = next((c for c in program.calls() if c.func == api), None)
    value: Expr = call.args[position] if call is not None and position < len(call.args) else None
    if isinstance(value, Ref) and value.name in program.inputs:
        return materialise(program.inputs[value.name]).real
    return np.array([value] if isinstance(value, (int, float)) else [], dtype=float)
