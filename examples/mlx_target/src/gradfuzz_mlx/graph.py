"""What a function computes, read off its graph: which primitives, in which types, and how precise those are on this computer.

MLX records a graph before it computes anything, and hands it over to whoever asks (`export_function` with a callback).
"""

from __future__ import annotations

import io
import math
import re
from functools import lru_cache, partial
from typing import Any, NamedTuple

import mlx.core as mx
import numpy as np

from gradfuzz.targets.base.dtypes import UNITS as UNITS_BY_NAME
from gradfuzz.targets.base.nesting import Many, Tensors
from gradfuzz_mlx.arrays import UNITS
from gradfuzz_mlx.derivatives import MlxTransforms

_SINGLE = UNITS_BY_NAME["float32"]
_LABEL = re.compile(r'label ="(\w+)"')
# Primitives that move numbers or change their types: no rule of theirs is ever at fault alone.
MOVES = frozenset(
    {"AsType", "Broadcast", "BroadcastAxes", "Reshape", "ExpandDims", "Squeeze", "Flatten", "Unflatten", "Transpose", "Contiguous", "Copy"}
)
# A kernel for doubles that errs by this many units of them computes in single precision.
COARSE = 2.0**20
# Where kernels are tried: ordinary numbers inside every domain.
_AT = (0.11, 0.37, 0.59, 0.83)


class Graph(NamedTuple):
    """The primitives of a function, those of its derivatives, and the coarsest rounding unit at work in any of them."""

    names: frozenset[str]
    derivative: frozenset[str]
    unit: float


def graph_of(function: Many, xs: Tensors) -> Graph:
    """Nothing is computed for it."""
    names, unit = _primitives(function, xs)
    derivative: frozenset[str] = frozenset()
    for differentiated in (_gradients, _tangents):
        try:
            found, other = _primitives(partial(differentiated, function), xs)
        except Exception:  # what the library has no rule for
            continue
        derivative, unit = derivative | found, max(unit, other)
    return Graph(names, derivative, unit)


def _gradients(function: Many, xs: Tensors) -> Any:
    return MlxTransforms().pull(function, xs, function(xs))[1]


def _tangents(function: Many, xs: Tensors) -> Any:
    return MlxTransforms().push(function, xs, xs)[1]


def _primitives(function: Many, xs: Tensors) -> tuple[frozenset[str], float]:
    notes: list[dict[str, Any]] = []
    try:
        mx.export_function(notes.append, lambda *inputs: list(function(inputs)), *xs)
    except Exception:  # a primitive that cannot be exported; its name can still be drawn
        drawing = io.StringIO()
        mx.export_to_dot(drawing, *function(xs))
        names = frozenset(_LABEL.findall(drawing.getvalue()))
        return names, _SINGLE if names & coarse() else 0.0
    calls = [note for note in notes if note["type"] == "primitive"]
    units = [UNITS.get(dtype, 0.0) for call in calls for _, _, dtype in call["outputs"]]
    names = frozenset(call["name"] for call in calls)
    return names, max([*units, _SINGLE if names & coarse() else 0.0])


def _softmax(x: Any) -> Any:
    return np.exp(x) / np.exp(x).sum()


def _each(function: Any) -> Any:
    return lambda x: np.array([function(float(n)) for n in x])


# Primitive: (MLX's function, what it should give). erfinv is undone by erf.
_KERNELS: dict[str, tuple[Any, Any]] = {
    "Sin": (mx.sin, np.sin), "Cos": (mx.cos, np.cos), "Tan": (mx.tan, np.tan), "Sinh": (mx.sinh, np.sinh), "Cosh": (mx.cosh, np.cosh),
    "Tanh": (mx.tanh, np.tanh), "ArcSin": (mx.arcsin, np.arcsin), "ArcCos": (mx.arccos, np.arccos), "ArcTan": (mx.arctan, np.arctan),
    "ArcSinh": (mx.arcsinh, np.arcsinh), "ArcTanh": (mx.arctanh, np.arctanh), "Exp": (mx.exp, np.exp), "Expm1": (mx.expm1, np.expm1),
    "Log": (mx.log, np.log), "Log1p": (mx.log1p, np.log1p), "Sqrt": (mx.sqrt, np.sqrt), "Rsqrt": (mx.rsqrt, lambda x: 1 / np.sqrt(x)),
    "Sigmoid": (mx.sigmoid, lambda x: 1 / (1 + np.exp(-x))), "Erf": (mx.erf, _each(math.erf)), "Softmax": (mx.softmax, _softmax),
    "ErfInv": (lambda x: _each(math.erf)(np.array(mx.erfinv(x))), lambda x: x),
    "LogSumExp": (mx.logsumexp, lambda x: np.log(np.exp(x).sum())),
    "LogAddExp": (lambda x: mx.logaddexp(x, 0.5 * x), lambda x: np.logaddexp(x, 0.5 * x)),
    "Power": (lambda x: mx.power(x, x), lambda x: np.power(x, x)),
    "Convolution": (
        lambda x: mx.conv2d(x.reshape(1, 1, 2, 2), x[:2].reshape(1, 1, 1, 2)).reshape(-1),
        lambda x: x.reshape(2, 2) @ x[:2],
    ),
    "ArcTan2": (lambda x: mx.arctan2(x, 1 - x), lambda x: np.arctan2(x, 1 - x)),
}  # fmt: skip


@lru_cache(maxsize=1)
def coarse() -> frozenset[str]:
    """Primitives whose kernels for doubles are single precision inside, as measured once where they run."""
    x = np.array(_AT)
    given = mx.array(x, dtype=mx.float64)
    errors = {name: np.abs(np.array(ours(given)) / right(x) - 1).max() for name, (ours, right) in _KERNELS.items()}
    return frozenset(name for name, error in errors.items() if error > COARSE * UNITS_BY_NAME["float64"])
