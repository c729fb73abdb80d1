"""Functions with one planted bug each, and their healthy twin: the test of the tester."""

import mlx.core as mx

FACTOR = 1.0 + 1e-3


def _cube(x):
    return x * x * x


def _made(slope, **rules):
    """x³ with a gradient of its own."""
    function = mx.custom_function(_cube)

    @function.vjp
    def vjp(primals, cotangent, output):
        return cotangent * slope(primals)

    for name, rule in rules.items():
        getattr(function, name)(rule)
    return function


_healthy = _made(lambda x: 3 * x * x)
_wrong_reverse = _made(lambda x: 3 * x * x * FACTOR)
_wrong_second = _made(lambda x: 3 * x * mx.stop_gradient(x))
_wrong_batch = _made(lambda x: 3 * x * x, vmap=lambda inputs, axes: (_cube(inputs) + inputs[::-1], axes))


def healthy(x):
    return _healthy(x)


def wrong_reverse(x):
    return _wrong_reverse(x)


def wrong_second(x):
    return _wrong_second(x)


def wrong_batch(x):
    return _wrong_batch(x)
