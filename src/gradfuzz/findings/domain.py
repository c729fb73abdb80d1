"""Whether a Program's inputs are outside a documented domain, as a label's row describes it: a label for that holds nowhere else.

{"below": 0.0, "above": 1.0}      a number is less than 0 or more than 1
{"at_most": 0.0, "argument": 0}   a number of the call's first argument, or of the one of that name, is not positive
{"crossed": [0, 2]}               a number of the first argument is above the third's
{"moving": ["low", "high"]}       all that is differentiated stands in the arguments of these names, or positions
{"unsorted": 2}                   numbers of the third argument do not increase from each to the next
{"repeats": true}                 an integer comes twice among the numbers of one input
{"repeated": true}                an integer comes twice among the numbers of all inputs
{"binary": 0}                     every number of the first argument is 0 or 1
{"among": ["blank", 0, 1]}        the option, 0 unless it is given, is among the numbers of the second argument
{"beyond": 1}                     an integer of the second argument is no index into the last dimension of any floating input
{"zero": 1}, {"zero": "b"}        a number of the second argument, or of the one of that name, is zero
{"same": [0, 1]}                  the first two arguments have the same numbers
{"empty": [2, "offsets"]}         the third argument, or the one of that name, has no elements
{"masked": true}                  a row of truth values is true throughout
{"equal": [1, 2]}                 a number of the second argument is that of the third
{"diagonal": 0}                   a number on the diagonal of the first argument's matrices is not real and positive
{"deficient": 0}                  a matrix of the first argument is not of full rank
{"at": [[0, 0.0], [1, -1.0]]}     where a number of the first argument is 0, the second's is -1
{"indefinite": 0}                 a matrix of the first argument is not positive definite, read by its lower triangle
{"reflectors": [0, 1]}            a factor of the second argument is the inverse of a reflector's squared length, the first's columns
{"overlapping": true}             indices come from a pool whose windows overlap: one input may be the largest of several
{"made_over": ["f", -1, 0]}       the first argument is made by f over another dimension than its last, where `dim` or `axis` says which
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradfuzz.program.model import DISCRETE, Call, Expr, Program, Ref
from gradfuzz.program.values import materialise

CONDITIONS = {
    "below",
    "above",
    "at_most",
    "argument",
    "crossed",
    "moving",
    "unsorted",
    "repeats",
    "repeated",
    "binary",
    "among",
    "beyond",
    "zero",
    "same",
    "empty",
    "masked",
    "equal",
    "diagonal",
    "deficient",
    "made_over",
    "at",
    "indefinite",
    "reflectors",
    "overlapping",
}
# Two numbers are one where a derivative divides by their difference: half of the digits are gone.
CLOSE = 1e-8
_DIMENSION = ("dim", "axis")


def outside(program: Program, api: str, row: Mapping[str, Any]) -> bool:
    """Whether any input is outside. What cannot be made out counts as inside, so that nothing is labelled by mistake."""
    if row.get("repeats"):
        return any(_repeats(materialise(r)) for r in program.inputs.values() if r.dtype in DISCRETE and r.dtype != "bool")
    if row.get("repeated"):
        whole = [materialise(r).ravel() for r in program.inputs.values() if r.dtype in DISCRETE and r.dtype != "bool"]
        return bool(whole) and _repeats(np.concatenate(whole))
    if "binary" in row:
        numbers = _argument(program, api, row["binary"], real=False)
        return bool(numbers.size) and bool(((numbers == 0) | (numbers == 1)).all())
    if "among" in row:
        name, default, position = row["among"]
        return _option(program, api, name, default) in _argument(program, api, position)
    if "beyond" in row:
        labels = _argument(program, api, row["beyond"])
        sizes = [r.shape[-1] for r in program.inputs.values() if r.dtype not in DISCRETE and r.shape]
        return bool(labels.size and sizes) and bool(labels.max() >= max(sizes) or labels.min() < 0)
    if "diagonal" in row:
        matrices = _argument(program, api, row["diagonal"], real=False)
        on = np.diagonal(matrices, axis1=-2, axis2=-1) if matrices.ndim > 1 else matrices[:0]
        return bool(((on.imag != 0) | (on.real <= 0)).any())
    if "deficient" in row:
        return _deficient(_argument(program, api, row["deficient"], real=False))
    if "made_over" in row:
        return _made_over(program, api, *row["made_over"])
    if "at" in row:
        return _at(program, api, row["at"])
    if "indefinite" in row:
        return _indefinite(_argument(program, api, row["indefinite"], real=False))
    if "reflectors" in row:
        return _excluded(*(_argument(program, api, position, real=False) for position in row["reflectors"]))
    if row.get("overlapping"):
        return any(_overlaps(call) for call in program.calls())
    if "zero" in row:
        return bool((_argument(program, api, row["zero"], real=False) == 0).any())
    if "same" in row:
        one, other = (_argument(program, api, position, real=False) for position in row["same"])
        return bool(one.size) and np.array_equal(one, other)
    if "empty" in row:
        given = [_given(program, api, place) for place in row["empty"]]
        return any(program.inputs[g.name].elements == 0 for g in given if isinstance(g, Ref) and g.name in program.inputs)
    if row.get("masked"):
        return any(bool(materialise(r).all(axis=-1).any()) for r in program.inputs.values() if r.dtype == "bool" and r.shape)
    if "equal" in row:
        one, other = (_argument(program, api, position) for position in row["equal"])
        return bool(one.size and other.size) and bool(np.isin(one, other).any())
    if "moving" in row:
        given = [_given(program, api, position) for position in row["moving"]]
        moving = {name for name, recipe in program.inputs.items() if recipe.differentiable}
        return bool(moving) and moving <= {g.name for g in given if isinstance(g, Ref)}
    if "unsorted" in row:
        return bool((np.diff(_argument(program, api, row["unsorted"])) <= 0).any())
    if "crossed" in row:
        low, high = (_argument(program, api, position) for position in row["crossed"])
        try:
            return bool((low > high).any())  # bound by bound
        except ValueError:  # their shapes do not go together
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


def _deficient(matrices: Any) -> bool:
    if matrices.ndim < 2 or not matrices.size:
        return False
    return not np.isfinite(matrices).all() or bool((np.linalg.matrix_rank(matrices) < min(matrices.shape[-2:])).any())


def _at(program: Program, api: str, wanted: Sequence[tuple[int, float]]) -> bool:
    """Whether arguments have these numbers in one place, each its own."""
    there = [_argument(program, api, position, real=False) == number for position, number in wanted]
    try:
        return bool(np.logical_and.reduce(np.broadcast_arrays(*there)).any())
    except ValueError:  # their shapes do not go together
        return False


def _indefinite(matrices: Any) -> bool:
    if matrices.ndim < 2 or not matrices.size or matrices.shape[-1] != matrices.shape[-2] or not np.isfinite(matrices).all():
        return False
    return bool((np.linalg.eigvalsh(matrices) <= 0).any())


def _excluded(columns: Any, factors: Any) -> bool:
    """Whether a factor is the inverse of its reflector's squared length: a column below its diagonal, where it has a one."""
    if columns.ndim < 2 or not factors.ndim or factors.shape[:-1] != columns.shape[:-2]:
        return False
    lengths = 1 + (np.abs(np.tril(columns, -1)) ** 2).sum(axis=-2)[..., : factors.shape[-1]]
    return lengths.shape == factors.shape and bool((np.abs(factors * lengths - 1) < CLOSE).any())


def _overlaps(call: Call) -> bool:
    """Whether it is a pool that gives indices and whose stride is less than its window, where both are numbers."""
    options = dict(call.kwargs)
    if options.get("return_indices") is not True:
        return False
    numbers = [a for a in call.args if isinstance(a, int) and not isinstance(a, bool)]
    window = options.get("kernel_size", numbers[0] if numbers else None)
    stride = options.get("stride", numbers[1] if len(numbers) > 1 else None)
    return isinstance(window, int) and isinstance(stride, int) and 0 < stride < window


def _made_over(program: Program, api: str, func: str, dimension: int, position: int) -> bool:
    """Whether an argument is what a function makes of an input over another dimension."""
    value = _given(program, api, position)
    maker = next((s.value for s in program.statements if isinstance(value, Ref) and value.name in s.names), value)
    if not isinstance(maker, Call) or maker.func.rsplit(".", 1)[-1] != func or not maker.args:
        return False
    made_of = program.inputs.get(maker.args[0].name) if isinstance(maker.args[0], Ref) else None
    over = next((v for name, v in maker.kwargs if name in _DIMENSION), maker.args[1] if len(maker.args) > 1 else None)
    if made_of is None or not made_of.shape or not isinstance(over, int) or isinstance(over, bool):
        return False
    return (over - dimension) % len(made_of.shape) != 0


def _option(program: Program, api: str, name: str, default: Any) -> Any:
    given = next((dict(c.kwargs) for c in program.calls() if c.func == api), {})
    return given.get(name, default)


def _argument(program: Program, api: str, position: int | str, real: bool = True) -> Any:
    """The numbers of one argument of the API's call, by its position or name; none where they are computed or not there."""
    value = _given(program, api, position)
    if isinstance(value, Ref) and value.name in program.inputs:
        numbers = materialise(program.inputs[value.name])
        return numbers.real if real else numbers
    return np.array([value] if isinstance(value, (int, float)) else [], dtype=float)


def _given(program: Program, api: str, place: int | str) -> Expr:
    """One argument of the API's call, by its position or name; that of what it makes, where it makes a module. None where there is none."""
    call = next((c for c in program.calls() if c.func in (api, f".{api.rsplit('.', 1)[-1]}")), None)
    made = {name for s in program.statements if isinstance(s.value, Call) and s.value.func == api for name in s.names}
    called = next((c for c in program.calls() if c.func == "()" and isinstance(c.args[0], Ref) and c.args[0].name in made), None)
    chosen = called if called is not None else call
    if chosen is None:
        return None
    if isinstance(place, str):
        return dict(chosen.kwargs).get(place)
    args = chosen.args[1:] if called is not None else chosen.args
    return args[place] if place < len(args) else None
