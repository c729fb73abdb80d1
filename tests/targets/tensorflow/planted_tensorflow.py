"""TensorFlow functions with one planted bug each, and their healthy twins."""

import tensorflow as tf

FACTOR = 1.0 + 1e-3


def _with_gradient(rule, output=lambda x: x**3):
    @tf.custom_gradient
    def function(x):
        return output(x), lambda upstream: rule(x, upstream)

    return function


healthy = _with_gradient(lambda x, up: 3 * x**2 * up)
wrong_gradient = _with_gradient(lambda x, up: FACTOR * 3 * x**2 * up)
wrong_at_zero = _with_gradient(lambda x, up: tf.where(x == 0, up, 3 * x**2 * up))
nan_at_zero = _with_gradient(lambda x, up: 3 * x**2 * up * tf.where(x == 0, float("nan") * x, tf.ones_like(x)))
raises_in_gradient = _with_gradient(lambda x, up: tf.reshape(up, [17]))


def wrong_second(x):
    """Right at order one; its gradient is made of a function whose own gradient is wrong."""
    return _second(x)


@tf.custom_gradient
def _second(x):
    return x**3, lambda upstream: 3 * (wrong_gradient(x) / x) * upstream


def wrong_output(x):
    """Another output where a graph is being built: only the eager run tells."""
    return x**3 if tf.executing_eagerly() else FACTOR * x**3


def numbers_wanted(x):
    """Cannot be traced: its branch depends on a number."""
    return x**3 if float(tf.reduce_sum(x)) > -1e9 else x


def no_derivative(x):
    """Declared to have none."""
    return tf.stop_gradient(x**3)


def half_declared(x, y):
    """Has no derivative with respect to y, by declaration."""
    return x**2 * tf.stop_gradient(y)


def unseeded(x):
    return x * tf.random.uniform(tf.shape(x), dtype=x.dtype)


def _square(x, wrong):
    """x², and half of its derivative where something is wrong."""
    return x * (tf.stop_gradient(x) if wrong else x)


def right(x):
    return _square(x, False)


def unknown_sizes(x):
    """As if a rule were another one where sizes are unknown."""
    return _square(x, x.shape[0] is None)


_last = []


def remembers(x):
    """As if something of a call with other shapes stayed behind."""
    other = bool(_last) and _last[0] != str(x.shape)
    _last[:] = [str(x.shape)]
    return _square(x, other)


@tf.custom_gradient
def looks_again(x):
    """As if a formula read a variable again instead of keeping what it was."""
    return x * x, lambda upstream: 2 * upstream * (variables[-1] if variables else x)


variables = []


def held(x):
    """As if an operator that reads a variable gave another gradient."""
    return _square(x, isinstance(x, tf.Variable))


def in_rows(x):
    """As if one for ragged rows did."""
    return _square(x, isinstance(x, tf.RaggedTensor))


def in_loop(x):
    """As if one within a loop did."""
    return _square(x, "while" in str(getattr(tf.compat.v1.get_default_graph(), "name", "")))


def tensors_only(x):
    if not isinstance(x, tf.Tensor):
        raise TypeError("tensors only")
    return _square(x, False)


calls = []


def counted(x, factor):
    """It notes how often it is traced or run."""
    calls.append(1)
    return _square(x, False) * factor
