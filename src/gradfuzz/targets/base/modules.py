"""Stateful modules as functions: their parameters are inputs, their buffers are fresh copies on every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable

# module, its parameters and buffers by name, positional and named arguments -> what the module gives with these
Call = Callable[[Any, Mapping[str, Any], Sequence[Any], Mapping[str, Any]], Any]


class Module:
    """A module with its parameters taken out. `call` runs it with others in their place."""

    def __init__(self, module: Any, call: Call) -> None:
        self.module, self.call = module, call
        self.parameters = {name: p.detach().clone() for name, p in module.named_parameters()}
        self.buffers = {name: b.detach().clone() for name, b in module.named_buffers()}

    def bound(self, parameters: Sequence[Any]) -> BoundModule:
        return BoundModule(self, parameters)


class BoundModule:
    """The module with given parameters, as a plain function."""

    def __init__(self, owner: Module, parameters: Sequence[Any]) -> None:
        self.owner, self.values = owner, parameters

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = dict(zip(self.owner.parameters, self.values))
        state.update((name, buffer.clone()) for name, buffer in self.owner.buffers.items())
        return self.owner.call(self.owner.module, state, args, kwargs)


def call_with(module: Any, state: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call with other parameters and buffers, for libraries that have no call of their own for this.

    They are put where the module keeps its own, in dictionaries that are not asked what they are given, and taken out again.
    """
    places = []
    for path, tensor in state.items():
        owner, name = module, path
        while "." in name:
            step, _, name = name.partition(".")
            owner = getattr(owner, step)
        held = owner._parameters if name in owner._parameters else owner._buffers
        places.append((held, name, held[name]))
        held[name] = tensor
    try:
        return module(*args, **kwargs)
    finally:
        for held, name, own in reversed(places):
            held[name] = own
