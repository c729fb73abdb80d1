"""Other ways to the same numbers: the static graph, and its primitive operators."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import paddle
from paddle.base import core

from gradfuzz.targets.base.tape import Function, Tensors


def static(point: Any) -> Function:
    """`paddle.jit.to_static`: a program is built once and run as one operator, with a backward program of its own."""
    inside = paddle.jit.not_to_static(lambda xs: point.function(xs))

    def called(xs):  # type: ignore[no-untyped-def]
        return inside(xs)

    made = paddle.jit.to_static(called, full_graph=True)

    def run(xs: Tensors) -> Any:
        with _home_is(tempfile.gettempdir()):
            return made(xs)

    return run


@contextmanager
def _home_is(folder: str) -> Iterator[None]:
    """Paddle writes the source that it makes of a function to the home folder, which a worker may not touch."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = before


def primitive(point: Any) -> Function:
    """The static graph decomposed into primitive operators, forward and backward: what compilers and distributed training run."""
    made = static(point)

    def run(xs: Tensors) -> Any:
        core._set_prim_all_enabled(True)
        try:
            return made(xs)
        finally:
            core._set_prim_all_enabled(False)

    return run


WAYS = {"static": static, "primitive": primitive}
