"""Inputs as people write them: `x: float64[3, 4]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradfuzz.errors import GradfuzzError
from gradfuzz.program.limits import MAX_RANK
from gradfuzz.program.model import DISCRETE, DTYPES, STRUCTURES

_FORM = re.compile(
    r"^\s*(?:(?P<name>[A-Za-z]\w*)\s*:)?\s*(?P<dtype>[a-z]+[0-9]*)"
    r"\s*(?:\[(?P<shape>[^\]]*)\])?\s*(?P<structure>[a-z_]+)?\s*$"
)
EXAMPLE = 'write it as in "x: float64[3, 4]"'


@dataclass(frozen=True)
class Input:
    """A name, a dtype, a shape and perhaps a structure."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    structure: str | None = None

    def recipe(self, seed: int) -> str:
        """The input as a line of Program text."""
        values = "integers(0, 2" if self.dtype in DISCRETE else "normal("
        separator = ", " if self.dtype in DISCRETE else ""
        structure = f', structure="{self.structure}"' if self.structure else ""
        shape = f"({self.shape[0]},)" if len(self.shape) == 1 else f"({', '.join(map(str, self.shape))})"
        return f'{self.name} = tensor({shape}, "{self.dtype}", {values}{separator}seed={seed}){structure})'

    def array(self, seed: int) -> Any:
        """Numbers to begin with: normal, or zeros and ones for whole numbers."""
        rng = np.random.default_rng(seed)
        if self.dtype in DISCRETE:
            return rng.integers(0, 2, self.shape).astype(self.dtype)
        if self.dtype not in ("float64", "float32"):
            raise GradfuzzError(f"{self.dtype} has no NumPy form here; use float64")
        return np.asarray(rng.standard_normal(self.shape), self.dtype)

    def strategy(self) -> Any:
        """A Hypothesis strategy of such arrays."""
        from hypothesis import strategies as st
        from hypothesis.extra import numpy as hnp

        from gradfuzz.testing import strategies

        if self.dtype in DISCRETE:
            return hnp.arrays(self.dtype, self.shape, elements=st.integers(0, 1) if self.dtype != "bool" else None)
        named = {"symmetric": strategies.symmetric, "positive_definite": strategies.positive_definite}
        if self.structure in named:
            return named[self.structure](self.shape[-1])
        drawn = strategies.simplex(self.shape) if self.structure == "simplex" else strategies.arrays(self.shape)
        return drawn if self.dtype == "float64" else drawn.map(lambda a: a.astype(self.dtype))


def parse_input(text: str, position: int = 0) -> Input:
    """Read one input; GradfuzzError with the form to use for anything else."""
    match = _FORM.match(text)
    if not match:
        raise GradfuzzError(f"input {text!r} is not understood; {EXAMPLE}")
    name, dtype, structure = match["name"] or f"x{position}", match["dtype"], match["structure"]
    if dtype not in DTYPES:
        raise GradfuzzError(f"input {text!r}: unknown dtype {dtype}; use one of {', '.join(DTYPES)}")
    if structure is not None and structure not in STRUCTURES:
        raise GradfuzzError(f"input {text!r}: unknown structure {structure}; use one of {', '.join(STRUCTURES)}")
    try:
        shape = tuple(int(part) for part in (match["shape"] or "").split(",") if part.strip())
    except ValueError:
        raise GradfuzzError(f"input {text!r}: a shape is a list of whole numbers; {EXAMPLE}") from None
    if len(shape) > MAX_RANK or any(side < 0 for side in shape):
        raise GradfuzzError(f"input {text!r}: a shape has at most {MAX_RANK} sizes, none below zero")
    return Input(name, dtype, shape, structure)
