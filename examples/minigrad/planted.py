"""The same library with ten planted bugs: each is the healthy engine with one part replaced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minigrad import rules
from minigrad.engine import HEALTHY, Engine, unbroadcast


@dataclass(frozen=True)
class Bug:
    """A planted bug, what is wrong with it, and the op at which it shows."""

    name: str
    what: str
    op: str
    engine: Engine


def _rule(op: str, rule: Any) -> Engine:
    return replace(HEALTHY, rules={**HEALTHY.rules, op: rule})


def _minus_is_plus(g, a, b, out):
    return g, g


def _tanh_without_square(g, a, out):
    return (g * (1 - out),)


def _softmax_diagonal_only(g, a, out):
    return (g * out * (1 - out),)


def _matmul_square_not_transposed(g, a, b, out):
    left, right = rules.matmul(g, a, b, out)
    return left, (a @ g if a.shape[-1] == a.shape[-2] else right)


def _cross_entropy_forgets_last_class(g, logits, out, labels):
    wrong = rules.cross_entropy(g, logits, out, labels)[0].copy()
    last = labels == logits.shape[-1] - 1
    wrong[last, -1] += g / len(labels)
    return (wrong,)


def _reshape_in_other_order(g, a, out):
    return (g.reshape(a.shape, order="F" if g.ndim != a.ndim else "C"),)


def _sums_the_wrong_axis(gradient, shape):
    lead = gradient.ndim - len(shape)
    summed = gradient.sum(axis=tuple(range(lead)))
    if summed.shape == shape:
        return summed
    return np.resize(summed.sum(axis=0), shape)


def _wrong_at_column(gradient, shape):
    right = unbroadcast(gradient, shape)
    if len(shape) == 2 and shape[0] > 1 and shape[1] == 1 and gradient.shape != shape:
        return right / gradient.shape[-1]  # the mean where the sum belongs
    return right


def _stale() -> Engine:
    seen: dict[Any, tuple[np.ndarray, ...]] = {}

    def first_of_its_shape(op, arrays):
        return seen.setdefault((op, tuple(a.shape for a in arrays)), arrays)

    return replace(HEALTHY, remember=first_of_its_shape)


def planted() -> list[Bug]:
    """All ten, made anew: a stale graph is stale from its first use on."""
    return [
        Bug("sign", "a - b sends +g to b", "sub", _rule("sub", _minus_is_plus)),
        Bug("factor", "tanh multiplies with 1 - y instead of 1 - y²", "tanh", _rule("tanh", _tanh_without_square)),
        Bug("jacobian", "softmax has the diagonal of its Jacobian alone", "softmax", _rule("softmax", _softmax_diagonal_only)),
        Bug("square", "a @ b forgets to transpose a when a is square", "matmul", _rule("matmul", _matmul_square_not_transposed)),
        Bug("edge class", "cross-entropy does not subtract 1 for the last class", "cross_entropy",
            _rule("cross_entropy", _cross_entropy_forgets_last_class)),
        Bug("rank", "reshape that changes the rank reads the gradient column by column", "reshape",
            _rule("reshape", _reshape_in_other_order)),
        Bug("axis", "undoing a broadcast sums axis 0 whatever was broadcast", "add", replace(HEALTHY, unbroadcast=_sums_the_wrong_axis)),
        Bug("column", "only at shape (n, 1), undoing a broadcast averages", "mul", replace(HEALTHY, unbroadcast=_wrong_at_column)),
        Bug("used twice", "a tensor that is used twice keeps its last gradient alone", "square",
            replace(HEALTHY, accumulate=lambda before, more: more)),
        Bug("stale graph", "an op's backward uses what its first call of that shape kept", "exp", _stale()),
    ]  # fmt: skip
