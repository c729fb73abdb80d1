"""Arrays, Paddle's tensors and its tape."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import paddle
from paddle.base import core

from gradfuzz.targets.base.dtypes import dtype_name
from gradfuzz.targets.base.functions import Unsupported
from gradfuzz.targets.base.tape import Array, Tape, Tensors

RNG_SEED = 20240229
_generator = core.default_cpu_generator()


class PaddleTape(Tape):
    """Paddle's dynamic graph. Tensors say with `stop_gradient` that they are not recorded."""

    def tensor(self, array: Array, dtype: str, layout: str = "contiguous") -> Any:
        made = paddle.to_tensor(np.asarray(array), place=_CPU)
        if self.dtype(made) != dtype:
            made = made.astype(dtype)
        return lay_out(made, layout)

    def numbers(self, tensor: Any) -> Array:
        if tensor.dtype == paddle.bfloat16:
            tensor = tensor.detach().astype("float32")
        return tensor.numpy()

    def dtype(self, tensor: Any) -> str:
        return dtype_name(tensor.dtype)

    def owns(self, value: Any) -> bool:
        if isinstance(value, paddle.Tensor):
            return bool(value.is_dense())
        return isinstance(value, paddle.pir.Value)  # a tensor of a static graph while that is being built

    def clone(self, tensor: Any) -> Any:
        return tensor.clone()

    def leaf(self, tensor: Any) -> Any:
        made = tensor.detach()
        made.stop_gradient = False
        return made

    def recorded(self, tensor: Any) -> bool:
        return not tensor.stop_gradient

    def recording(self, on: bool) -> AbstractContextManager[Any]:
        context: AbstractContextManager[Any] = paddle.enable_grad() if on else paddle.no_grad()
        return context

    def gradients(self, outputs: Tensors, leaves: Tensors, weights: Tensors, again: bool) -> Tensors:
        given = list(outputs), list(leaves), list(weights)
        found: Sequence[Any] = paddle.grad(*given, create_graph=again, retain_graph=True, allow_unused=True)
        if any(g is not None and g.is_selected_rows() for g in found):
            raise Unsupported("a gradient in rows, as `sparse=True` asks for")
        return [None if g is None or not g._is_initialized() else g for g in found]

    def inner(self, a: Tensors, b: Tensors) -> Any:
        total = self.tensor(np.zeros(()), "float64")
        for x, y in zip(a, b):
            if x.is_complex() or y.is_complex():
                total = total + paddle.sum((paddle.real(x) * paddle.real(y) + paddle.imag(x) * paddle.imag(y)).astype("float64"))
            else:
                total = total + paddle.sum(x.astype("float64") * y.astype("float64"))
        return total

    def cast(self, tensor: Any, dtype: str) -> Any:
        return tensor if self.dtype(tensor) == dtype else tensor.astype(dtype)

    def written(self, tensor: Any) -> Any:
        return tensor.inplace_version

    def seed(self) -> None:
        _generator.manual_seed(RNG_SEED)

    def drawn(self) -> Any:
        return [word for word in str(_generator.get_state()).split() if not word.startswith("0x")]  # an address, another each time


_CPU = paddle.CPUPlace()
TAPE = PaddleTape()


def lay_out(tensor: Any, layout: str) -> Any:
    """The same numbers as a view with strides of its own; layouts that Paddle does not have leave the tensor as it is."""
    if layout in ("transposed", "channels_last") and tensor.ndim > 1:
        return tensor.mT.contiguous().mT
    if layout in ("transposed", "strided", "channels_last") and tensor.ndim:
        return paddle.repeat_interleave(tensor, 2, axis=-1)[..., ::2]
    if layout == "offset":
        return paddle.concat([paddle.zeros([3], tensor.dtype), tensor.flatten()])[3:].reshape(tensor.shape)
    if layout == "expanded" and tensor.ndim and tensor.shape[0]:
        return tensor[:1].clone().expand(tensor.shape)
    return tensor
