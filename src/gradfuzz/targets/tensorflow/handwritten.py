"""Derivatives that people write for TensorFlow: functions under `tf.custom_gradient`."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from gradfuzz.targets.base.callers import made_in
from gradfuzz.targets.base.handwritten import INSIDE, HandWritten
from gradfuzz.targets.base.recording import Note
from gradfuzz.targets.tensorflow.recording import Call

KIND = "tf.custom_gradient"
# Where the package keeps hold of a function that was made under the decorator.
MARK = "_gradfuzz_rule"


class TensorflowHandWritten(HandWritten):
    """A package's functions with gradients of their own."""

    def listen(self) -> None:
        original, owner = tf.custom_gradient, self

        def custom_gradient(f: Any = None) -> Any:
            if f is None:
                return custom_gradient
            decorated = original(f)

            @functools.wraps(f)
            def call(*args: Any, **kwargs: Any) -> Any:
                result = decorated(*args, **kwargs)
                owner.heard(f.__module__, f.__qualname__, KIND, args, kwargs, call)
                return result

            setattr(call, MARK, True)
            return call

        for place in places(original):
            place.custom_gradient = custom_gradient

    def rules_in(self, module: Any) -> Iterator[tuple[Any, str, str]]:
        for name, value in list(vars(module).items()):
            # Asking a module that loads itself late for anything loads it.
            if inspect.isfunction(value) and value.__module__ == module.__name__:
                if getattr(value, MARK, False):
                    yield value, name, KIND
                elif made_in(value, ("custom_gradient",)):
                    yield value, name, KIND + INSIDE

    def note(self, path: str) -> Note:
        return Call(path, self.contents)

    def tensor(self, numbers: Any) -> Any:
        return tf.constant(numbers)


def places(function: Any) -> list[Any]:
    """Modules that have hold of the decorator: the public ones, and the one that others will take it from."""
    return [module for module in list(sys.modules.values()) if getattr(module, "__dict__", {}).get("custom_gradient") is function]
