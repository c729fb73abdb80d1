"""The compiler's decompositions without the compiler: operators, and those that their derivatives call, are replaced as they run.

Some three plain calls rather than a compilation, so that every mutant can afford it; what it shows is what `torch.compile` computes with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable

import torch
from torch.utils._pytree import tree_map

from gradfuzz.targets.base.protocol import Outcome, Vec
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.torch.compile import check
from gradfuzz.targets.torch.derivatives import NestingUnsupported, Tensors
from gradfuzz.targets.torch.leaks import let_go

if TYPE_CHECKING:
    from gradfuzz.targets.torch.point import TorchPoint

NAME = "decompositions"
HALVES = (torch.float16, torch.bfloat16)


def decomposed_as_it_runs(point: TorchPoint, xs: Tensors, modes: Modes, us: Sequence[Vec], v: Vec | None) -> Outcome:
    """F and its derivative, every operator of theirs by its decomposition where it has one."""
    check(point)
    if any(x.dtype in HALVES or x.is_complex() for x in (*xs, *point.others())):
        raise NotImplementedError("half precision is computed in single by generated code, complex numbers are left to the library")
    found = table()
    if found is None:
        raise NestingUnsupported("this release has no table of decompositions")
    try:
        with found():
            return point.in_tape(point.function, xs, modes, us, v)
    except Exception as error:  # the compiler may well take another path there; whether it raises, its own ways say
        let_go(error)
        raise NestingUnsupported(f"a decomposition raises: {error}") from None


def _resolved(value: Any) -> Any:
    return value.resolve_conj().resolve_neg() if isinstance(value, torch.Tensor) else value


@lru_cache(maxsize=1)
def table() -> Callable[[], Any] | None:
    """What to run under, made anew each time; None where this release has none. Importing it takes a second."""
    try:
        import torch._inductor.lowering  # noqa: F401 - some of them ask it
        from torch._dispatch.python import enable_python_dispatcher
        from torch._inductor.decomposition import decompositions
        from torch.utils._python_dispatch import TorchDispatchMode
    except ImportError:
        return None

    class Decomposing(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            rule = decompositions.get(func)
            if rule is not None:
                # The compiler's tensors are neither conjugated nor negated by a bit; what is written to must stay what it is.
                given = (args, kwargs) if func._schema.is_mutable else tree_map(_resolved, (args, kwargs))
                with self:
                    found = rule(*given[0], **given[1])
                if found is not NotImplemented:
                    return found
            return func(*args, **kwargs)

    @contextmanager
    def decomposing() -> Iterator[None]:
        # Some operators are taken apart where they are dispatched, as the compiler has it when it traces.
        with enable_python_dispatcher(), Decomposing():
            yield

    return decomposing
