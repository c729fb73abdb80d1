"""Targets by name. A new target is one new entry here and one new folder beside this file."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from gradfuzz.errors import TargetError

if TYPE_CHECKING:
    from gradfuzz.targets.protocol import Target

FACTORIES = {
    "jax": "gradfuzz.targets.jax.target:JaxTarget",
    "tensorflow": "gradfuzz.targets.tensorflow.target:TensorflowTarget",
    "torch": "gradfuzz.targets.torch.target:TorchTarget",
}


def load_target(name: str, modules: tuple[str, ...] = ()) -> Target:
    """The target, with its library imported. TargetError if the library is not here."""
    if name not in FACTORIES:
        raise TargetError(f"unknown target {name!r}; known targets: {', '.join(sorted(FACTORIES))}")
    module, _, attribute = FACTORIES[name].partition(":")
    try:
        factory = getattr(importlib.import_module(module), attribute)
        for extra in modules:
            importlib.import_module(extra)
    except ImportError as error:
        raise TargetError(f"{name} cannot be imported here ({error}); install it, or name another --python") from None
    target: Target = factory(modules)
    return target
