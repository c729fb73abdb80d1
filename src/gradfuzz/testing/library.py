"""The seam between a person's function and the library that differentiates it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, Protocol

from gradfuzz.errors import GradfuzzError
from gradfuzz.targets.protocol import Modes, Outcome, Refusal, scenario_name
from gradfuzz.testing.adapters import Adapter

Array = Any
# Tensors in, the floating tensors among the outputs out.
Function = Callable[[Sequence[Any]], list[Any]]


class Unsupported(NotImplementedError):
    """The library cannot compute this derivative, and nobody promised that it would."""


class WrongGradientShape(RuntimeError):
    """A gradient that cannot belong to its input."""


class Library(Protocol):
    """How one library makes tensors and differentiates functions of them."""

    name: str
    version: str
    highest_order: int
    forward_mode: bool

    def session(self) -> AbstractContextManager[Any]:
        """Entered around a whole check: settings that the check needs, undone afterwards."""

    def opened(self, function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function with its own parameters among the inputs, if it is an object that has any."""

    def owns(self, value: Any) -> bool:
        """Whether the value is a tensor of this library's."""

    def dtype(self, tensor: Any) -> str:
        """The element type by NumPy's name; bfloat16 too."""

    def tensor(self, array: Array, dtype: str) -> Any:
        """A tensor of the array's numbers. The array is the tensor's own from now on: it may share the memory."""

    def array(self, tensor: Any) -> Array:
        """The tensor's numbers; bfloat16 comes as float32."""

    def draws(self, call: Callable[[], Any]) -> tuple[Any, bool]:
        """What the call returns, and whether it drew random numbers (False where that cannot be known)."""

    def reseed(self) -> None:
        """Make the generator draw the same numbers again."""

    def derivative(self, function: Function, xs: Sequence[Any], modes: Modes, us: Sequence[list[Array]], v: list[Array]) -> Outcome:
        """The scenario at xs along us, contracted with v where reverse mode does that. `modes` has at least one."""

    def classify(self, error: BaseException) -> Refusal:
        """Read an error of the library's."""


def pick(library: Any, inputs: Sequence[Any]) -> Library:
    """The library that is meant: an Adapter, a name, or (None) the one that the inputs belong to."""
    if isinstance(library, Adapter):
        from gradfuzz.testing.home_made import HomeMade

        return HomeMade(library)
    if isinstance(library, str):
        return _named(library)
    if library is not None:
        raise GradfuzzError(f"library={library!r}: give an Adapter or one of the names {', '.join(_IMPORTED)}")
    for name, module in _IMPORTED.items():
        if module in sys.modules and name != "autograd" and any(_named(name).owns(x) for x in leaves(inputs)):
            return _named(name)
    if "autograd" in sys.modules:
        return _named("autograd")
    raise GradfuzzError(
        "the inputs do not say which library the function is written for; give tensors of it, or say library='jax', "
        "library='autograd' or library=Adapter(...)"
    )


def leaves(value: Any) -> list[Any]:
    """What is inside tuples, lists and dicts, in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    return [value]


@lru_cache(maxsize=64)
def dtype_name(dtype: Any) -> str:
    """float64 and so on. NumPy spells a name out anew each time, which takes as long as a small op."""
    return str(dtype).removeprefix("torch.")


def unavailable(modes: Modes, why: str) -> Unsupported:
    return Unsupported(f"{scenario_name(modes)}: {why}")


# The name people use, and the module whose import shows that the library is in use.
_IMPORTED = {"torch": "torch", "jax": "jax", "tensorflow": "tensorflow", "autograd": "autograd"}
_made: dict[str, Library] = {}


def _named(name: str) -> Library:
    if name not in _IMPORTED:
        raise GradfuzzError(f"library={name!r} is not known; known: {', '.join(_IMPORTED)}, or an Adapter for your own")
    if name not in _made:
        try:
            _made[name] = _make(name)
        except ImportError as error:
            raise GradfuzzError(f"{name} cannot be imported here ({error}); install it") from None
    return _made[name]


def _make(name: str) -> Library:
    if name == "torch":
        from gradfuzz.testing.torch_library import TorchLibrary

        return TorchLibrary()
    if name == "jax":
        from gradfuzz.testing.jax_library import JaxLibrary

        return JaxLibrary()
    if name == "tensorflow":
        from gradfuzz.testing.tensorflow_library import TensorflowLibrary

        return TensorflowLibrary()
    from gradfuzz.testing.autograd_library import AutogradLibrary

    return AutogradLibrary()
