"""minigrad: a small tensor autograd in NumPy, made to be tested."""

from minigrad.ops import (
    absolute,
    add,
    concat,
    cross_entropy,
    div,
    exp,
    getitem,
    log,
    log_softmax,
    matmul,
    max,
    mean,
    mul,
    neg,
    power,
    relu,
    reshape,
    sigmoid,
    softmax,
    sqrt,
    sub,
    sum,
    tanh,
    transpose,
)
from minigrad.tensor import Tensor

__all__ = [
    "Tensor", "absolute", "add", "concat", "cross_entropy", "div", "exp", "getitem", "log", "log_softmax", "matmul", "max", "mean",
    "mul", "neg", "power", "relu", "reshape", "sigmoid", "softmax", "sqrt", "sub", "sum", "tanh", "transpose",
]  # fmt: skip
