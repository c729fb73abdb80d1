"""Arrays, OneFlow's tensors and its tape."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import oneflow as flow

from gradfuzz.errors import ProgramError
from gradfuzz.targets.base.dtypes import dtype_name
from gradfuzz.targets.base.tape import Array, Tape, Tensors

RNG_SEED = 20240229
DTYPES = {name: getattr(flow, name) for name in ("float64", "float32", "float16", "int64", "int32", "int8", "uint8", "bool")}


class OneFlowTape(Tape):
    """OneFlow's eager tape. It has no forward mode, and no rule by which a gradient is a function of its weights alone."""

    forward_mode = False

    def tensor(self, array: Array, dtype: str, layout: str = "contiguous") -> Any:
        if dtype not in DTYPES:
            raise ProgramError(f"OneFlow has no {dtype}")
        made = flow.tensor(np.ascontiguousarray(array).reshape(np.shape(array)), dtype=DTYPES[dtype])
        return lay_out(made, layout)

    def numbers(self, tensor: Any) -> Array:
        return tensor.detach().numpy()

    def dtype(self, tensor: Any) -> str:
        return dtype_name(tensor.dtype)

    def owns(self, value: Any) -> bool:
        return isinstance(value, flow.Tensor)

    def clone(self, tensor: Any) -> Any:
        return tensor.clone()

    def leaf(self, tensor: Any) -> Any:
        return tensor.detach().requires_grad_()

    def recorded(self, tensor: Any) -> bool:
        return bool(tensor.requires_grad)

    def recording(self, on: bool) -> AbstractContextManager[Any]:
        context: AbstractContextManager[Any] = flow.set_grad_enabled(on)
        return context

    def gradients(self, outputs: Tensors, leaves: Tensors, weights: Tensors, again: bool) -> Tensors:
        """By `backward`, since `autograd.grad` takes no leaf that is unreached."""
        flow.autograd.backward(list(outputs), list(weights), retain_graph=True, create_graph=again)
        found = [leaf.grad for leaf in leaves]
        for leaf in leaves:
            leaf.grad = None
        return found

    def inner(self, a: Tensors, b: Tensors) -> Any:
        total = self.tensor(np.zeros(()), "float64")
        for x, y in zip(a, b):
            total = total + flow.sum(x.to(flow.float64) * y.to(flow.float64))
        return total

    def cast(self, tensor: Any, dtype: str) -> Any:
        return tensor if self.dtype(tensor) == dtype else tensor.to(DTYPES[dtype])

    def seed(self) -> None:
        flow.manual_seed(RNG_SEED)

    def drawn(self) -> Any:
        return flow.get_rng_state().numpy().tobytes()


TAPE = OneFlowTape()


def lay_out(tensor: Any, layout: str) -> Any:
    """The same numbers as a view with strides of its own; layouts that OneFlow does not have leave the tensor as it is."""
    if layout in ("transposed", "channels_last") and tensor.ndim > 1:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "expanded" and tensor.ndim and tensor.shape[0]:
        return tensor[:1].clone().expand(tensor.shape)
    return tensor
