"""Everything that a Program can reach on each library is of a listed kind: looked at name by name, and type by type."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gradfuzz.errors import ProgramError
from gradfuzz.targets.base.kinds import origin
from gradfuzz.targets.homes import load_target
from tests.hostile.walk import let_through

# Said anew here, in other words than in the targets' own data: what classes may descend from, whose functions they may be, how many names
# there must at least be.
BASES = {
    "torch": ["torch.nn.Module", "torch.distributions.transforms.Transform"],
    "jax": [
        "tuple",
        "numpy.generic",
        "jax.lax.RaggedDotDimensionNumbers",
        "jax.scipy.interpolate.RegularGridInterpolator",
        "jax.scipy.stats.gaussian_kde",
    ],
    "tensorflow": [
        "numpy.generic",
        "keras.layers.Layer",
        "keras.losses.Loss",
        "keras.metrics.Metric",
        "keras.regularizers.Regularizer",
        "keras.constraints.Constraint",
        "keras.initializers.Initializer",
        "tensorflow.linalg.LinearOperator",
        "tensorflow.SparseTensor",
        "tensorflow.compat.v1.distributions.Distribution",
        "tensorflow.IndexedSlices",
        "tensorflow.TensorShape",
        "tensorflow.zeros_initializer",
        "tensorflow.python.ops.init_ops_v2.Initializer",
        "tensorflow.python.ops.init_ops.Initializer",
    ],
}
PACKAGES = {"torch": ("torch",), "jax": ("jax",), "tensorflow": ("tensorflow", "keras")}
LEAST = {"torch": 3000, "jax": 900, "tensorflow": 3000}
CONSTANTS = (bool, int, float, complex, str, type(None), enum.Enum)
# Words that a function's name or parameters have if it goes anywhere but to its tensors.
WORDS = {
    "load", "save", "open", "file", "files", "filename", "filenames", "fname", "path", "dir", "directory", "url", "uri",
    "address", "callback", "command", "cmd", "exec", "eval", "compile", "import", "hub", "download", "system", "spawn", "fork",
    "socket", "pickle", "dump", "script", "ffi", "plugin", "subprocess", "server"
}  # fmt: skip
ORDINARY = {"einsum_path"}  # the order of contractions


@pytest.fixture(scope="module", params=["torch", "jax", "tensorflow"])
def target(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param)
    return load_target(request.param)


def test_every_name_that_is_let_through_is_of_a_listed_kind(target):
    bases = tuple(filter(None, map(_class, BASES[target.name])))
    count = 0
    for path, value in let_through(target):
        count += 1
        assert not isinstance(value, ModuleType), path
        assert not any(part.startswith("_") for part in path.split(".")), path
        if isinstance(value, CONSTANTS) or _is_dtype(value):
            continue
        if isinstance(value, type):
            assert issubclass(value, bases), path
            continue
        assert callable(value), path
        home = origin(value)
        assert home.partition(".")[0] in PACKAGES[target.name] or path == "jax.lax.DotDimensionNumbers", (path, home)
        assert path.rpartition(".")[2] in ORDINARY or not WORDS & set(_words(path.rpartition(".")[2])), path
        assert not WORDS & {word for name in _parameters(value) for word in _words(name)}, (path, _parameters(value))
    assert count > LEAST[target.name]


STRANGERS = [
    importlib,
    np,
    np.save,
    open,
    exec,
    print,
    __import__,
    type,
    object,
    int,
    "text",
    3,
    2.5,
    None,
    (),
    [],
    {},
    set(),
    slice(1),
    range(3),
    importlib.import_module,
    inspect,
    re.compile("a"),
    Exception("a"),
    open.__self__,
    np.float64(1.0).dtype,
    lambda: 1,
    (i for i in ()),
    iter(()),
    memoryview(b"a"),
    b"a",
    bytearray(b"a"),
]


@pytest.mark.parametrize("stranger", STRANGERS, ids=lambda s: type(s).__name__)
def test_what_is_no_value_of_the_library_can_be_asked_for_nothing(target, stranger):
    kinds = target.compiler.kinds
    for name in dir(stranger):
        with pytest.raises(ProgramError):
            kinds.check_method(stranger, name)
    if not isinstance(stranger, tuple):
        with pytest.raises(ProgramError):
            kinds.check_attribute(stranger, "T")
    with pytest.raises(ProgramError):
        kinds.check_called(stranger)


def test_functions_and_classes_of_the_library_have_no_methods_for_programs(target):
    kinds = target.compiler.kinds
    for path, value in let_through(target):
        if callable(value):
            for name in ("lower", "mro", "register_buffer", "from_config", "defjvp", "overloads", "trace", "save", "apply"):
                with pytest.raises(ProgramError):
                    kinds.check_method(value, name)
            with pytest.raises(ProgramError):
                kinds.check_attribute(value, "T")
        assert path


def test_tensors_are_asked_for_nothing_private_and_nothing_that_leaves_the_library(target):
    language = target.language
    for name in (
        "__class__",
        "_value",
        "__reduce__",
        "numpy",
        "tolist",
        "tofile",
        "tobytes",
        "dump",
        "register_hook",
        "apply_",
        "backward",
    ):
        assert language.method_refusal(name), name
    for name in ("__class__", "__dict__", "data", "grad_fn", "device", "_base", "__globals__"):
        assert language.attribute_refusal(name), name


def _class(path: str) -> Any:
    if "." not in path:
        return {"tuple": tuple}[path]
    home, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(home), name)
    except (ImportError, AttributeError):
        return None


def _is_dtype(value: Any) -> bool:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return kind.endswith((".dtype", ".tensortype", ".memory_format", ".layout", ".DType", "._ScalarMeta", ".ReparameterizationType"))


def _words(name: str) -> list[str]:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")


def _parameters(value: Any) -> list[str]:
    try:
        return list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return []
