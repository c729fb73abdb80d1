"""MLX for people's own functions: the derivatives and the refusals of campaigns, on the CPU for as long as a check runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import mlx.core as mx

from gradfuzz.targets.base.functions import Array, Function, Functions
from gradfuzz.targets.base.protocol import Outcome
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz_mlx.arrays import to_mlx, to_numpy
from gradfuzz_mlx.derivatives import derivative


class MlxFunctions(Functions):
    """The installed MLX."""

    version = version("mlx")
    own_integers = True

    @contextmanager
    def session(self) -> Iterator[None]:
        """Double precision is there on the CPU alone."""
        before = mx.default_device()
        mx.set_default_device(mx.cpu)
        try:
            yield
        finally:
            mx.set_default_device(before)

    def owns(self, value: Any) -> bool:
        return isinstance(value, mx.array)

    def tensor(self, array: Array, dtype: str) -> Any:
        return to_mlx(array, dtype)

    def array(self, tensor: Any) -> Array:
        return to_numpy(tensor)

    def derivative(self, function: Function, xs: Sequence[Any], scenario: Scenario, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        directions = [[to_mlx(d, self.dtype(x)) for d, x in zip(u, xs)] for u in us]
        weights = [to_mlx(w, self.dtype(o)) for w, o in zip(v, function(xs))]
        outputs, result = derivative(function, xs, scenario.modes, directions, weights)
        return self.outcome(scenario, outputs, result)
