"""PyTorch's public surface: functions, methods and modules behind the namespaces that Programs may call."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

from gradfuzz.program.language import Language
from gradfuzz.targets.torch.modules import is_module_class


def public(language: Language) -> Iterator[tuple[str, str]]:
    """(path, form) of everything public that may be called; form is function, method, module or object."""
    for space in language.namespaces:
        if space.startswith("torch.ops") or space.endswith("*"):
            continue
        home = _home(space)
        for name in sorted(dir(home)) if home is not None else []:
            path = f"{space}.{name}"
            if name.startswith("_") or language.refusal(path):
                continue
            value = getattr(home, name, None)
            if space == "torch.Tensor":
                if callable(value) and language.method_refusal(name) is None and not isinstance(value, property):
                    yield path, "method"
            elif is_module_class(value):
                yield path, "module"
            elif isinstance(value, type):
                if space == "torch.distributions.transforms" and not inspect.isabstract(value):
                    yield path, "object"
            elif callable(value) and not isinstance(value, ModuleType) and _computes(space, name, value):
                yield path, "function"


def _computes(space: str, name: str, value: Any) -> bool:
    """Whether this is a function of tensors rather than a helper that the module happens to hold."""
    if space == "torch":
        return getattr(value, "__module__", None) == "torch.functional" or bool(_schemas(name))
    home = getattr(value, "__module__", None)
    return home is None or home.startswith(("torch.nn", "torch.masked", "torch.sparse", "torch._C", "torch.functional"))


def _schemas(name: str) -> list[Any]:
    try:
        return list(torch._C._jit_get_schemas_for_operator(f"aten::{name}"))
    except RuntimeError:
        return []


def _home(space: str) -> Any:
    if space == "torch.Tensor":
        return torch.Tensor
    try:
        return importlib.import_module(space)
    except ImportError:
        return None
