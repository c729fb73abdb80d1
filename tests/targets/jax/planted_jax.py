"""JAX functions with one planted bug each, and their healthy twins."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import custom_batching

FACTOR = 1.0 + 1e-3


def _with_jvp(rule):
    function = jax.custom_jvp(lambda x: x**3)
    function.defjvp(lambda primals, tangents: (primals[0] ** 3, rule(primals[0], tangents[0])))
    return function


def _with_vjp(pull, output=lambda x: x**3):
    function = jax.custom_vjp(lambda x: x**3)
    function.defvjp(lambda x: (output(x), x), lambda x, ct: (pull(x, ct),))
    return function


healthy = _with_jvp(lambda x, t: 3 * x**2 * t)
wrong_jvp = _with_jvp(lambda x, t: FACTOR * 3 * x**2 * t)
wrong_at_zero = _with_jvp(lambda x, t: jnp.where(x == 0, t, 3 * x**2 * t))
nan_at_zero = _with_jvp(lambda x, t: 3 * x**2 * t * jnp.where(x == 0, jnp.nan, 1.0))
healthy_vjp = _with_vjp(lambda x, ct: 3 * x**2 * ct)
wrong_vjp = _with_vjp(lambda x, ct: FACTOR * 3 * x**2 * ct)
wrong_output = _with_vjp(lambda x, ct: 3 * x**2 * ct, output=lambda x: FACTOR * x**3)


def _single_inside(function):
    """The function in single precision, between doubles."""
    return lambda x: function(x.astype(jnp.float32)).astype(x.dtype)


healthy_single_inside = _single_inside(healthy)
wrong_single_inside = _single_inside(_with_jvp(lambda x, t: 1.03 * 3 * x**2 * t))


@jax.custom_jvp
def wrong_second(x):
    return x**3


_slope = _with_jvp(lambda x, t: FACTOR * 3 * x**2 * t)  # x³, differentiated wrongly, stands for a wrong rule one order up


@wrong_second.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return x**3, 3 * (_slope(x) / x) * t


@custom_batching.custom_vmap
def wrong_batching(x):
    return jnp.sin(x)


@wrong_batching.def_vmap
def _(axis_size, in_batched, x):
    return jnp.sin(x) * FACTOR, in_batched[0]


@jax.custom_jvp
def wrong_when_compiled(x):
    """Takes another way inside a compilation, as code that looks at its arguments' types does."""
    return x**3 if isinstance(x, jax.core.Tracer) else x**3 * FACTOR


wrong_when_compiled.defjvp(lambda primals, tangents: (wrong_when_compiled(primals[0]), 3 * primals[0] ** 2 * tangents[0]))


def _arcsinh(slope):
    function = jax.custom_jvp(jnp.arcsinh)
    function.defjvp(lambda primals, tangents: (jnp.arcsinh(primals[0]), slope(primals[0]) * tangents[0]))
    return function


squares = _arcsinh(lambda x: jax.lax.rsqrt(x * x + 1))  # which overflow long before it does
does_not_square = _arcsinh(lambda x: jax.lax.rsqrt(1 + (1 / x) ** 2) / abs(x))


def masked(x):
    """A root where there is one, and minus infinity elsewhere."""
    inside = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(inside), -jnp.inf)


def masked_carelessly(x):
    """The same with the branch that is not taken left as it is: nothing times NaN in reverse mode."""
    return jnp.where(x > 0, jnp.sqrt(x), -jnp.inf)


def masked_wrongly(x):
    """The same with a wrong rule where there is a root."""
    inside = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, wrong_jvp(inside), -jnp.inf)


def healthy_batching(x):
    return jnp.sin(x)


def numbers_wanted(x):
    """Cannot be compiled: its branch depends on a number."""
    return x**3 if float(jax.lax.stop_gradient(jnp.sum(x))) > -1e9 else x


def untraceable(x):
    """Has a value and no derivative: its branch depends on a number that is being differentiated."""
    return x**3 if float(jnp.sum(x)) > -1e9 else x


wrong_in_single = _with_vjp(lambda x, g: 3 * x**2 * g * (1.0 if x.dtype == jnp.float64 else FACTOR))


@jax.custom_jvp
def refuses_directly(x):
    """Its rule knows nothing of the check."""
    raise ValueError("needs at least 7 rows")


refuses_directly.defjvp(lambda primals, tangents: (primals[0] ** 3, 3 * primals[0] ** 2 * tangents[0]))


def refuses_always(x):
    raise ValueError("needs at least 7 rows")


def _square(x, wrong):
    """x², and half of its derivative where something is wrong."""
    return x * (jax.lax.stop_gradient(x) if wrong else x)


def right(x):
    return _square(x, False)


def symbols(x):
    """As if a rule were another one where sizes are symbols."""
    return _square(x, not isinstance(x.shape[0], int))


_last = []


def remembers(x):
    """As if something of a call with other shapes stayed behind."""
    other = bool(_last) and _last[0] != x.shape
    _last[:] = [x.shape]
    return _square(x, other)


def _layers(x):
    """Of a traced array, what each transform sees of it, outermost first."""
    while isinstance(x, jax.core.Tracer):
        yield type(x).__name__
        x = getattr(x, "primal", getattr(x, "val", None))


def _differ(x, y, name):
    return any(name in layer for layer in _layers(x)) != any(name in layer for layer in _layers(y))


def mixed(x, y):
    """As if a rule for batches were wrong where not all operands have one."""
    return _square(x, _differ(x, y, "Batch")) * y


def refuses_mixed(x, y):
    if _differ(x, y, "Batch"):
        raise ValueError("shapes do not match")
    return x * y


def alone(x, y):
    """As if a rule were wrong where one of its tangents is known to be zero."""
    one = hasattr(x, "primal") != hasattr(y, "primal")
    return _square(x, one) * _square(y, one)


def picked(x, i):
    """As if a rule were wrong where indices are not known beforehand."""
    return _square(x, isinstance(i, jax.core.Tracer))[i]


def picked_rightly(x, i):
    return _square(x, False)[i]


def picked_by_number(x, i):
    return x[int(np.asarray(i)[0])] * x
