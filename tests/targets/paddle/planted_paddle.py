"""Paddle functions with one planted bug each, and their healthy twins."""

import paddle
from paddle.autograd import PyLayer

FACTOR = 1.0 + 1e-3


def _made(slope):
    """x³ with a gradient of its own."""

    class Cube(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensor()
            return gradient * slope(x)

    return Cube


_HEALTHY = _made(lambda x: 3 * x * x)
_WRONG = _made(lambda x: 3 * x * x * FACTOR)
_WRONG_AGAIN = _made(lambda x: 3 * x * x.detach())
_NOT_A_NUMBER = _made(lambda x: 3 * x * x * paddle.where(x == 0, paddle.full_like(x, float("nan")), paddle.ones_like(x)))
_WRONG_SHAPE = _made(lambda x: paddle.sum(3 * x * x))


def healthy(x):
    return _HEALTHY.apply(x)


def wrong_reverse(x):
    return _WRONG.apply(x)


def wrong_second(x):
    return _WRONG_AGAIN.apply(x)


def nan_at_zero(x):
    return _NOT_A_NUMBER.apply(x)


def wrong_when_static(x):
    """Takes another way inside a static graph, as code that asks where it runs does."""
    return x * x * x if paddle.in_dynamic_mode() else x * x * x * FACTOR


def healthy_when_static(x):
    return x * x * x


def wrong_in_single(x):
    return (_WRONG if x.dtype == paddle.float32 else _HEALTHY).apply(x)


class WrongLayer(paddle.nn.Layer):
    """y = w x³, wrong in x."""

    def __init__(self):
        super().__init__()
        self.w = self.create_parameter([1])

    def forward(self, x):
        return _WRONG.apply(x) * self.w
