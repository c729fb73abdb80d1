"""Another device than the processor, in full precision."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import jax


@contextlib.contextmanager
def on(device: str) -> Iterator[None]:
    """New arrays are made there. NotImplementedError where there is none; called after the fork only.

    Products of matrices are as precise as their types: what a device does by default is another precision.
    """
    try:
        (there, *_) = jax.devices(device)
    except RuntimeError as error:
        raise NotImplementedError(f"there is no device {device!r} here: {str(error).splitlines()[0]}") from None
    with jax.default_device(there), jax.default_matmul_precision("highest"):
        yield
