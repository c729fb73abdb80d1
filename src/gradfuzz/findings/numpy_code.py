"""Recipes as NumPy code, for scripts that must not import gradfuzz."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.program.model import COMPLEXES, Tensor, Values
from gradfuzz.program.text import number_text, shape_text
from gradfuzz.program.values import SMALL, materialise

LISTED = 64


def array_code(recipe: Tensor) -> str:
    """An expression whose value is the recipe's array, up to its dtype."""
    if recipe.elements <= LISTED:
        numbers = materialise(recipe).ravel().tolist()
        return f"np.array([{', '.join(_number(n) for n in numbers)}]).reshape({shape_text(recipe.shape)})"
    count = recipe.elements
    if recipe.dtype in COMPLEXES:
        numbers = draw_code(recipe.values, 2 * count)
        # Not the sum of the one part and i times the other: that makes NaN of infinities.
        flat = f"(lambda a: np.stack([a[:{count}], a[{count}:]], -1).astype(float).view(complex)[:, 0])({numbers})"
        if recipe.values.kind == "listed" and any(isinstance(n, complex) for n in recipe.values.args[0]):
            flat = draw_code(recipe.values, count)
    else:
        flat = draw_code(recipe.values, count)
    code = _structured(f"({flat}).reshape({shape_text(recipe.shape)})", recipe.structure)
    return f"({code})[:1].repeat({recipe.shape[0]}, 0)" if recipe.expanded else code


def draw_code(values: Values, count: int) -> str:
    """The same draw as gradfuzz.program.values.draw makes."""
    rng = f"np.random.default_rng({values.seed or 0})"
    args = values.args
    if values.kind in ("normal", "uniform", "arange"):
        first, second = (tuple(args) + (0.0, 1.0)[len(args) :])[:2]
        if values.kind == "normal":
            return f"{_number(first)} + {_number(second)} * {rng}.standard_normal({count})"
        if values.kind == "uniform":
            return f"{_number(first)} + ({_number(second)} - {_number(first)}) * {rng}.random({count})"
        return f"{_number(first)} + {_number(second)} * np.arange({count})"
    if values.kind == "integers":
        return f"{rng}.integers({args[0]}, {args[1]}, {count}).astype(float)"
    if values.kind == "choice":
        return f"np.array([{', '.join(map(_number, args[0]))}])[{rng}.integers(0, {len(args[0])}, {count})]"
    if values.kind == "onehot":
        return f"np.eye({count})[int({rng}.integers(0, {count}))]"
    if values.kind == "full":
        return f"np.full({count}, {_number(args[0])})"
    if values.kind == "listed":
        return f"np.resize(np.array([{', '.join(map(_number, args[0]))}]), {count})"
    base = f"({draw_code(args[0], count)})"
    return {
        "scaled": lambda: f"{base} * {_number(args[1])}",
        "planted": lambda: f"np.where(np.arange({count}) % {max(1, int(args[2]))} == 0, {_number(args[1])}, {base})",
        "rounded": lambda: f"np.round({base} / {_number(args[1])}) * {_number(args[1])}",
        "sorted": lambda: f"np.sort({base})",
        "close": lambda: f"{base}[:1].repeat({count}) + {_number(args[1])} * np.arange({count})",
        "positive": lambda: f"np.abs({base})",
    }[values.kind]()


def _structured(code: str, structure: str | None) -> str:
    if structure is None:
        return code
    return {
        "symmetric": f"(lambda a: (a + a.conj().swapaxes(-1, -2)) / 2)({code})",
        "positive_definite": f"(lambda a: a @ a.conj().swapaxes(-1, -2) / a.shape[-1] + np.eye(a.shape[-1]))({code})",
        "lower": f"np.tril({code})",
        "upper": f"np.triu({code})",
        "simplex": f"(lambda a: np.abs(a) / np.abs(a).sum(-1, keepdims=True))({code})",
        "positive": f"(lambda a: np.where(a > 0, a, np.abs(a) + (a == 0) * {SMALL}))({code})",
        "unit": f"(lambda a: np.where((a > 0) & (a < 1), a, np.clip(np.where(np.isfinite(a), np.abs(a) % 1.0, 0.5), {SMALL}, {1 - SMALL})))"
        f"({code})",
        "sorted": f"np.sort({code}, axis=-1)",
        "real": code,
        "constant": code,
    }[structure]


def _number(number: Any) -> str:
    if isinstance(number, (bool, np.bool_)):
        return str(bool(number))
    if isinstance(number, int):
        return str(number)
    return number_text(number).replace('float("nan")', "np.nan").replace('float("inf")', "np.inf").replace('float("-inf")', "-np.inf")
