"""What a compiler or a transform leaves behind when it fails: settings under which later derivatives are silently wrong."""

from __future__ import annotations

import contextlib
import gc
import traceback
from collections.abc import Iterator
from typing import Any

import torch
import torch.autograd.forward_ad as fwd


class LeftBehind(RuntimeError):
    """Whoever ran last has left the process in another state than it was in."""


@contextlib.contextmanager
def nothing_left() -> Iterator[None]:
    """The process is afterwards as it was before; LeftBehind if somebody else did not see to that."""
    if not hasattr(torch._C, "_ForceDispatchKeyGuard"):  # before 2.0
        yield
        return
    keys, hooks = _keys(), _hooks()
    level, error = fwd._current_level, ""
    raised: BaseException | None = None
    with torch._C._ForceDispatchKeyGuard(*keys):
        try:
            yield
        except Exception as failure:
            raised = failure
        error = _difference(keys)
        torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(0)
    fwd._current_level = level
    if hooks and not _hooks():
        torch._C._autograd._saved_tensors_hooks_enable()
        error = error or "hooks of saved tensors are still refused"
    if error:
        raise LeftBehind(f"{error} after {_first_line(raised) if raised is not None else 'it had run'}") from raised
    if raised is not None:
        raise raised


def let_go(error: BaseException) -> None:
    """Whatever an error's frames hold ends here and now.

    A compiler that fails leaves generators behind that stand in the middle of a `with`. Whenever those are collected, they put the
    dispatcher back to what it was when they began: that must not be later, in the middle of something else.
    """
    met: BaseException | None = error
    while met is not None:
        traceback.clear_frames(met.__traceback__)
        met = met.__cause__ or met.__context__
    gc.collect()


def _keys() -> tuple[Any, Any]:
    return torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()


def _hooks() -> bool:
    """Whether tensors that are saved for the backward pass may have hooks, as checkpointing needs; `torch.func` refuses them meanwhile."""
    return bool(torch._C._autograd._saved_tensors_hooks_is_enabled())


def _difference(before: tuple[Any, Any]) -> str:
    now = _keys()
    if str(now) != str(before):
        changed = "excluded" if str(now[1]) != str(before[1]) else "included"
        return f"the dispatcher's {changed} keys have changed from {before[changed == 'excluded']} to {now[changed == 'excluded']}"
    return "a functorch transform is still on its stack" if torch._C._functorch.peek_interpreter_stack() is not None else ""


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
