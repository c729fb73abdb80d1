"""Derivatives that people write for PyTorch: subclasses of `torch.autograd.Function`, and operators with a gradient in `torch.library`.

An operator that `custom_op` made is an object of its module. One that was registered by its name alone (`register_autograd("mine::f", …)`,
a kernel for `Autograd`) is not: there the functions are found that call `torch.ops.mine.f`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from gradfuzz.program.model import DISCRETE, DTYPES, Expr, Let, Name, Ref, Tensor
from gradfuzz.targets.base.callers import called_in, made_in
from gradfuzz.targets.base.handwritten import INSIDE, HandWritten
from gradfuzz.targets.base.made_up import leaves
from gradfuzz.targets.base.recording import Note
from gradfuzz.targets.torch.tensors import to_numpy

FUNCTION, OPERATOR, REGISTERED = "torch.autograd.Function", "torch.library operator", "torch.library registration"


class TorchHandWritten(HandWritten):
    """A package's Functions and operators."""

    CALLERS = frozenset({REGISTERED})

    def listen(self) -> None:
        original = torch.autograd.Function.__dict__["apply"].__func__
        owner = self

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(cls, *args, **kwargs)
            owner.heard(cls.__module__, f"{cls.__qualname__}.apply", FUNCTION, args, kwargs, functools.partial(original, cls))
            return result

        torch.autograd.Function.apply = classmethod(apply)
        custom = _operator_class()
        if custom is not None:
            called = custom.__call__

            def call(self: Any, *args: Any, **kwargs: Any) -> Any:
                result = called(self, *args, **kwargs)
                owner.heard(self._init_fn.__module__, self._init_fn.__qualname__, OPERATOR, args, kwargs)
                return result

            custom.__call__ = call

    def rules_in(self, module: Any) -> Iterator[tuple[Any, str, str]]:
        custom, registered = _operator_class(), _registered()
        for name, value in list(vars(module).items()):
            if inspect.isclass(value) and issubclass(value, torch.autograd.Function) and value.__module__ == module.__name__:
                if "backward" in _defined(value) or "jvp" in _defined(value):
                    yield value, f"{value.__qualname__}.apply", FUNCTION
            elif custom is not None and isinstance(value, custom) and _differentiated(value, module):
                yield value, name, OPERATOR
            elif inspect.isfunction(value) and value.__module__ == module.__name__:
                if registered and _operators(value) & registered:
                    yield value, name, REGISTERED
                elif made_in(value, ("Function",)):
                    yield value, name, FUNCTION + INSIDE

    def note(self, path: str) -> Note:
        return _Call(path, self.contents)

    def tensor(self, numbers: Any) -> Any:
        return torch.from_numpy(numbers).requires_grad_()

    def meant(self, rule: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
        try:
            with torch.enable_grad():  # whoever called it may have switched that off
                outputs = [o for o in leaves(rule(*arguments)) if o.requires_grad]
                found = torch.autograd.grad(outputs, tensors, [torch.ones_like(o) for o in outputs], allow_unused=True)
        except Exception:  # what is the matter is for the campaign to say
            return arguments
        absent = {id(t) for t, g in zip(tensors, found) if g is None}
        return tuple(a.detach() if id(a) in absent else a for a in arguments) if len(absent) < len(tensors) else arguments

    def arguments(self, rule: Any) -> list[inspect.Parameter]:
        owner: Any = getattr(rule, "__self__", None)
        if not isinstance(owner, type(torch.autograd.Function)):
            return super().arguments(rule)
        found = list(inspect.signature(owner.forward).parameters.values())
        return found if "setup_context" in _defined(owner) else found[1:]  # the context comes first where one call does both


def _defined(kind: type) -> set[str]:
    """What a class and its own ancestors define, without what every Function has."""
    return {name for c in kind.__mro__ if c is not torch.autograd.Function and c.__module__.split(".")[0] != "torch" for name in vars(c)}


def _differentiated(operator: Any, module: Any) -> bool:
    """Whether an operator of the module's own has a gradient registered."""
    return operator._init_fn.__module__ == module.__name__ and getattr(operator, "_backward_fn", None) is not None


def _registered() -> set[str]:
    """Operators with a kernel for autograd, as `namespace.name`; those of `custom_op` only with a gradient."""
    made = getattr(getattr(getattr(torch, "_library", None), "custom_ops", None), "OPDEFS", {})
    without = {name.replace("::", ".") for name, operator in dict(made).items() if getattr(operator, "_backward_fn", None) is None}
    kernels = [key.split("/") for key in getattr(torch.library, "_impls", ()) if key.endswith("/Autograd")]
    return {".".join(parts[:2]).split(".default")[0] for parts in kernels} - without


def _operators(function: Any) -> set[str]:
    """What a function's own text calls under `torch.ops`, as `namespace.name`."""
    found = (call.partition("ops.") for call in called_in(function))
    return {".".join(rest.split(".")[:2]) for before, ops, rest in found if ops and before in ("", "torch.")}


def _operator_class() -> Any:
    """The class of operators that `torch.library.custom_op` makes; None in releases that have none."""
    return getattr(getattr(getattr(torch, "_library", None), "custom_ops", None), "CustomOpDef", None)


class _Call(Note):
    def program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # A tensor that is not to be differentiated has no gradient on purpose, unless none of them is: then nobody has said.
        tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor)]
        self._said = any(t.requires_grad for t in tensors)
        return super().program(args, kwargs)

    def own(self, value: Any) -> Expr:
        if isinstance(value, torch.Tensor):
            held = to_numpy(value.detach().cpu()) if value.layout == torch.strided else None
            found = self.array(tuple(value.shape), str(value.dtype).replace("torch.", ""), held)
            if self._said and not value.requires_grad and isinstance(found, Ref):
                self.inputs[-1] = _constant(self.inputs[-1])
            return found
        if isinstance(value, torch.dtype) and str(value).replace("torch.", "") in DTYPES:
            return Name(str(value))
        if isinstance(value, torch.Size):
            return tuple(int(n) for n in value)
        return super().own(value)


def _constant(let: Let) -> Let:
    recipe: Tensor = let.value
    return let if recipe.dtype in DISCRETE else Let(let.names, replace(recipe, grad=False, structure="constant"))
