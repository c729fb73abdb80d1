"""Functions that go wrong in one way of running, silently: each gives x² and, where the bug is, half of its derivative."""

import torch


def _wrong(x, where):
    return x * x.detach() if where else x * x


def healthy(x):
    return _wrong(x, False)


def compiled(x):
    """As if a compiler dropped a part of the derivative."""
    return _wrong(x, torch.compiler.is_compiling())


def batched(x):
    """As if a batching rule dropped it."""
    wrapped = x
    while torch._C._functorch.is_functorch_wrapped_tensor(wrapped) and not torch._C._functorch.is_batchedtensor(wrapped):
        wrapped = torch._C._functorch.get_unwrapped(wrapped)
    return _wrong(x, torch._C._functorch.is_batchedtensor(wrapped))


def strided(x):
    """As if a kernel for other memory layouts did."""
    return _wrong(x, not x.is_contiguous())


def checkpointed(x):
    """As if the second run were another one."""
    return _wrong(x, torch._C._autograd._top_saved_tensors_default_hooks(False) is not None)


def autocast(x):
    return _wrong(x, torch.is_autocast_enabled("cpu"))


def deterministic(x):
    return _wrong(x, torch.are_deterministic_algorithms_enabled())


def draws(x):
    """Random numbers: what checkpointing draws again must be what was drawn."""
    return x * torch.rand_like(x)
