"""Reads a Program off running code: the outermost PyTorch calls, in order, with their arguments.

Tensors are wrapped in a subclass whose `__torch_function__` sees each call first. Inside a call the tensors are plain again,
so what a function does internally is not recorded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable

import numpy as np
import torch

from gradfuzz.errors import ProgramError
from gradfuzz.program.language import Language
from gradfuzz.program.model import Attr, Call, Expr, Item, Let, Name, Program, Ref, Slice, Tensor
from gradfuzz.targets.torch.recipes import recipe_of

BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "div": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and": "&", "or": "|", "xor": "^", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
UNARY = {"neg": "neg", "invert": "invert", "pos": "pos"}
INPUT_NAMES = "xabcdefghijklmnopqrstuvw"


class NotAProgram(ProgramError):
    """The code did something that a Program cannot say."""


class Watched(torch.Tensor):  # type: ignore[misc]
    """A tensor whose uses are written down by its transcriber."""

    transcriber: Transcriber

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        transcriber = next(_transcribers(args, kwargs or {}))
        return transcriber.call(func, args, kwargs or {})


def _transcribers(args: Any, kwargs: dict[str, Any]) -> Any:
    for value in _leaves((args, list(kwargs.values()))):
        if isinstance(value, Watched) and hasattr(value, "transcriber"):
            yield value.transcriber


def _leaves(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _leaves(part)
    else:
        yield value


class Transcriber:
    """Collects inputs and calls; `program()` reads them off at the end."""

    def __init__(self, language: Language, exact: bool = False) -> None:
        self.language, self.exact = language, exact
        self.inputs: list[Let] = []
        self.calls: list[Let] = []
        self.originals: dict[str, torch.Tensor] = {}  # the tensors behind the inputs, by name
        self.known: dict[int, Expr] = {}
        self.alive: list[Any] = []

    def input(self, tensor: torch.Tensor, structure: str | None = None) -> Watched:
        """Make a tensor an input of the Program."""
        if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
            raise NotAProgram(f"a tensor of layout {tensor.layout} on {tensor.device} is outside the language")
        index = len(self.inputs)
        name = INPUT_NAMES[index] if index < len(INPUT_NAMES) else f"x{index}"
        recipe: Tensor = recipe_of(tensor, index, structure, self.exact)
        self.inputs.append(Let((name,), recipe))
        self.originals[name] = tensor
        return self._track(tensor.detach(), Ref(name))

    def _track(self, tensor: torch.Tensor, expression: Expr) -> Watched:
        wrapped: Watched = tensor.as_subclass(Watched)
        wrapped.transcriber = self
        self.known[id(wrapped)] = expression
        self.alive.append(wrapped)
        return wrapped

    def watched(self, func: Any) -> Any:
        """A function that is recorded as one call even if it is Python code that PyTorch does not dispatch."""
        if public_name(func) is None:
            return func
        return lambda *args, **kwargs: self.call(func, args, kwargs)

    def call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        with torch._C.DisableTorchFunction():
            result = func(*_plain(args), **_plain(kwargs))
        if not _has_tensor(result):
            return result
        expression = self.expression(func, args, kwargs)
        name = f"y{len(self.calls)}"
        self.calls.append(Let((name,), expression))
        return self._wrap_result(result, Ref(name))

    def _wrap_result(self, result: Any, expression: Expr) -> Any:
        if isinstance(result, torch.Tensor):
            return self._track(result, expression)
        if isinstance(result, (tuple, list)):
            parts = [self._wrap_result(part, Item(expression, i)) for i, part in enumerate(result)]
            if hasattr(result, "n_fields"):  # PyTorch's named results
                return type(result)(parts)
            return tuple(parts) if isinstance(result, tuple) else parts
        return result

    def expression(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Expr:
        """The call as an expression; tensors not met before become inputs."""
        path = function_name(func)
        name = path.rsplit(".", 1)[-1]
        if name == "__get__":
            attribute = path.split(".")[-2]
            if attribute not in self.language.attributes:
                raise NotAProgram(f"attribute {attribute}")
            return Attr(self.expr(args[0]), attribute)
        if name == "__getitem__":
            return Item(self.expr(args[0]), self.expr(args[1]))
        bare = name.strip("_")
        if name.startswith("__") and not kwargs:
            if bare in BINARY and len(args) == 2:
                return Call(BINARY[bare], (self.expr(args[0]), self.expr(args[1])))
            if bare[0] == "r" and bare[1:] in BINARY and len(args) == 2:
                return Call(BINARY[bare[1:]], (self.expr(args[1]), self.expr(args[0])))
            if bare in UNARY:
                return Call(UNARY[bare], (self.expr(args[0]),))
        if name == "__abs__":
            path = "torch.Tensor.abs"
        reason = self.language.refusal(path)
        if reason:
            raise NotAProgram(reason)
        named = tuple((key, self.expr(value)) for key, value in kwargs.items() if not key.startswith("_"))
        return Call(path, tuple(self.expr(a) for a in args), named)

    def expr(self, value: Any) -> Expr:
        """An argument as an expression."""
        if isinstance(value, torch.Tensor):
            if id(value) not in self.known:
                # Made inside the code from nothing: a constant.
                self.known[id(value)] = self.known[id(self.input(value))]
                self.alive.append(value)
            return self.known[id(value)]
        if value is None or value is Ellipsis or isinstance(value, (bool, str, int, float, complex)):
            return value if type(value) in (bool, str, int, float, complex) or value is None or value is Ellipsis else _plain_number(value)
        if isinstance(value, (torch.dtype, torch.memory_format)):
            return Name(str(value))
        if isinstance(value, torch.Size):
            return tuple(int(n) for n in value)
        if isinstance(value, tuple):
            return tuple(self.expr(part) for part in value)
        if isinstance(value, list):
            return [self.expr(part) for part in value]
        if isinstance(value, slice):
            return Slice(self.expr(value.start), self.expr(value.stop), self.expr(value.step))
        if isinstance(value, np.generic):
            return self.expr(value.item())
        raise NotAProgram(f"an argument of type {type(value).__name__} is outside the language")

    def program(self, result: Any) -> Program:
        """The Program whose output is `result`."""
        if not self.calls:
            raise NotAProgram("no call was seen")
        output = self.expr(result)
        calls = self.calls
        if output != Ref(calls[-1].names[0]):
            calls = [*calls, Let(("out",), output)]
        return Program((*self.inputs, *_renamed(calls))).check()


def _renamed(calls: list[Let]) -> list[Let]:
    """A single result is called y."""
    return [Let(("y",), calls[0].value)] if len(calls) == 1 else calls


def _plain_number(value: Any) -> Any:
    kinds: tuple[Any, ...] = (bool, int, float, complex, str)
    for kind in kinds:
        if isinstance(value, kind):
            return kind(value)
    raise NotAProgram(f"number {value!r}")


def _plain(value: Any) -> Any:
    """The same arguments with plain tensors. Identity is kept for in-place calls: storage is shared."""
    if isinstance(value, Watched):
        return value.as_subclass(torch.Tensor)
    if isinstance(value, torch.Size):
        return value
    if isinstance(value, tuple):
        return tuple(_plain(part) for part in value)
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return value


def _has_tensor(value: Any) -> bool:
    return any(isinstance(leaf, torch.Tensor) for leaf in _leaves(value))


@lru_cache(maxsize=1)
def _names() -> dict[Any, str]:
    """Public path by function object; the shortest namespace first, so that torch.add wins over its aliases."""
    found: dict[Any, str] = {}
    spaces: list[tuple[str, Any]] = [
        ("torch.nn.functional", torch.nn.functional), ("torch.linalg", torch.linalg), ("torch.special", torch.special),
        ("torch.fft", torch.fft), ("torch", torch), ("torch.Tensor", torch.Tensor),
    ]  # fmt: skip
    masked = getattr(torch, "masked", None)
    if masked is not None:
        spaces.append(("torch.masked", masked))
    for space, owner in spaces:
        for name in dir(owner):
            if name.startswith("_") and not name.startswith("__"):
                continue
            value = getattr(owner, name, None)
            if value is None or isinstance(value, type):
                continue
            if isinstance(value, type(torch.Tensor.real)) or type(value).__name__ == "property":
                getter: Callable[..., Any] = value.__get__
                found.setdefault(_key(getter), f"{space}.{name}.__get__")
            elif callable(value):
                found.setdefault(_key(value), f"{space}.{name}")
    return found


def _key(func: Any) -> Any:
    try:
        hash(func)
        return func
    except TypeError:
        return id(func)


def public_name(func: Any) -> str | None:
    """The public path of a function, if it has one."""
    return _names().get(_key(func))


def function_name(func: Any) -> str:
    """The public path of a function that PyTorch dispatches; NotAProgram if it has none."""
    path = public_name(func)
    if path is None:
        try:
            path = torch.overrides.resolve_name(func)
        except Exception:
            path = None
    if not path:
        raise NotAProgram(f"{getattr(func, '__name__', func)} has no public name")
    return str(path)
