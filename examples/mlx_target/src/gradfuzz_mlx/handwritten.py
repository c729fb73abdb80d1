"""Derivatives that people write for MLX: `mx.custom_function` with a `vjp` or `jvp`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import mlx.core as mx
import numpy as np

from gradfuzz.targets.base.handwritten import HandWritten
from gradfuzz.targets.base.recording import Note
from gradfuzz_mlx.recording import Call

KIND = "mx.custom_function"
MADE = mx.custom_function


class MlxHandWritten(HandWritten):
    """A package's functions with rules of their own."""

    def listen(self) -> None:
        mx.custom_function = lambda function: _Heard(function, self)

    def rules_in(self, module: Any) -> Iterator[tuple[Any, str, str]]:
        seen: set[int] = set()
        for name, value in sorted(vars(module).items(), key=lambda item: item[0].startswith("_")):
            # `@f.vjp` hands f on, so that the name of the rule stands for it, too; `_` is no name to call it by.
            if name.strip("_") and isinstance(value, (MADE, _Heard)) and id(value) not in seen and not _elsewhere(value, module):
                seen.add(id(value))
                if isinstance(value, _Heard):
                    value.place = (module.__name__, name)
                yield value, name, KIND

    def arguments(self, rule: Any) -> list[inspect.Parameter]:
        return list(inspect.signature(getattr(rule, "function", rule)).parameters.values())

    def note(self, path: str) -> Note:
        return Call(path, self.contents)

    def tensor(self, numbers: Any) -> Any:
        return mx.array(numbers.astype(np.float32))


class _Heard:
    """A function under the decorator; it tells of its calls once it is known under which name it is found."""

    def __init__(self, function: Any, owner: HandWritten) -> None:
        self.function, self.owner, self.made = function, owner, MADE(function)
        self.place: tuple[str, str] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.made(*args, **kwargs)
        if self.place is not None:
            self.owner.heard(*self.place, KIND, args, kwargs)
        return result

    def __getattr__(self, name: str) -> Any:
        """vjp, jvp and vmap, which hand on what they were asked of."""
        take = getattr(self.made, name)

        def taken(rule: Any) -> _Heard:
            take(rule)
            return self

        return taken


def _elsewhere(value: Any, module: Any) -> bool:
    """Whether an object says that it comes from another module, as one does that was imported."""
    said = getattr(getattr(value, "function", value), "__module__", None)
    return said not in (None, "mlx.core", module.__name__)
