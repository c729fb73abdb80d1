"""Other ways to the same numbers: batched, through Jacobian rows, linearised; op by op; within loops, branches and solvers; a second time;
with a rule of a user's own.

Each has the form of `derivatives.derivative` and takes its place.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from gradfuzz.targets.base.nesting import Derivative, Many, Tensors
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.jax.derivatives import conjugate, derivative, inner

# How a batch's other member differs from the point: enough that mixing the two would show, and nearer to zero, where most functions are
# still inside their domain.
NEIGHBOUR = 0.75
# The derivative that a rule of a user's own gives to the identity: a number that no mistake makes by itself.
SCALE = 3.0
# Other shapes are looked for among this many.
MOST_SHAPES = 4


def batched(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """`vmap` over a batch of two: the point, and a neighbour with other numbers throughout."""
    batch = _paired((tuple(xs), tuple(us), tuple(v)))
    return _first(jax.vmap(lambda xs, us, v: derivative(function, xs, modes, us, v))(*batch))


def jacobian(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """`vmap` over directions at one point, the way Jacobians are made."""
    batch = _paired((tuple(us), tuple(v)))
    return _first(jax.vmap(lambda us, v: derivative(function, xs, modes, us, v))(*batch))


def linearized(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """Forward through `linearize`; reverse through `linear_transpose` of its linear map."""
    outputs, push = jax.linearize(lambda *inputs: tuple(function(inputs)), *xs)
    if not modes:
        return outputs, outputs
    if modes == ("f",):
        return outputs, push(*us[0])
    weights = tuple(conjugate(w) for w in v)
    return outputs, (inner(jax.linear_transpose(push, *us[0])(weights), us[0]),)


def again(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """The same call again: a compiled derivative, first with other shapes and other numbers; each call gives its inputs away."""
    compiled = jax.jit(lambda xs, us, v: derivative(function, xs, modes, us, v), donate_argnums=(0, 1, 2))
    answer: Any = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says which of the inputs it could make no use of
        for given in (*_other_shapes(function, xs, us), _neighbour((tuple(xs), tuple(us), tuple(v))), (tuple(xs), tuple(us), tuple(v))):
            answer = compiled(*jax.tree_util.tree_map(lambda a: jnp.array(a, copy=True), given))
    outputs, result = answer
    return outputs, result


def _other_shapes(function: Many, xs: Tensors, us: Sequence[Tensors]) -> Iterator[Any]:
    """Inputs, directions and weights with each axis of some size twice as long: the first such size that F takes."""
    for size in sorted({n for x in xs for n in x.shape if n}, reverse=True)[:MOST_SHAPES]:
        doubled = jax.tree_util.tree_map(lambda a: jnp.tile(a, [2 if n == size else 1 for n in a.shape]), (tuple(xs), tuple(us)))  # noqa: B023
        try:
            outputs = jax.eval_shape(lambda *inputs: tuple(function(inputs)), *doubled[0])
        except Exception:  # it does not take them
            continue
        yield (*doubled, tuple(jnp.ones(o.shape, o.dtype) for o in outputs))
        return


def _neighbour(arrays: Any) -> Any:
    return jax.tree_util.tree_map(lambda a: (a * NEIGHBOUR).astype(a.dtype), arrays)


def _paired(arrays: Any) -> Any:
    return jax.tree_util.tree_map(lambda a: jnp.stack([a, (a * NEIGHBOUR).astype(a.dtype)]), arrays)


def _first(answer: Any) -> tuple[Any, Any]:
    outputs, result = jax.tree_util.tree_map(lambda a: a[0], answer)
    return outputs, result


# In the place of F: control flow around it, which changes nothing -------------------------------------------------------------


def _around(place: Callable[[Many, Tensors], Any]) -> Derivative:
    """The plain derivative of what stands in F's place."""

    def way(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
        return derivative(lambda inputs: place(function, inputs), xs, modes, us, v)

    return way


def _checkpointed(function: Many, xs: Tensors) -> Any:
    """`checkpoint`: F is run again in the backward pass."""
    return jax.checkpoint(lambda *inputs: tuple(function(inputs)))(*xs)


def _batched_inside(function: Many, xs: Tensors) -> Any:
    """The derivative of `vmap`; `batched` is `vmap` of the derivative."""
    return _members(jax.vmap(lambda *inputs: tuple(function(inputs)))(*_paired(tuple(xs))))


def _scanned(function: Many, xs: Tensors) -> Any:
    """A step of `lax.scan`, the first of two."""
    return _members(jax.lax.scan(lambda carry, inputs: (carry, tuple(function(inputs))), 0, _paired(tuple(xs)))[1])


def _looped(function: Many, xs: Tensors) -> Any:
    """The only turn of a `fori_loop`."""
    return jax.lax.fori_loop(0, 1, lambda _, carry: tuple(function(xs)), _nothing(function, xs))


def _turned(function: Many, xs: Tensors) -> Any:
    """The only turn of a `while_loop`, which knows forward mode alone."""
    start = (jnp.zeros((), jnp.int32), _nothing(function, xs))
    return jax.lax.while_loop(lambda state: state[0] < 1, lambda state: (state[0] + 1, tuple(function(xs))), start)[1]


def _switched(function: Many, xs: Tensors) -> Any:
    """A branch of `lax.cond` that is chosen when it runs, whatever the numbers are."""
    low = jnp.asarray([jnp.sum(x).real < 1 for x in xs])
    chosen = jnp.all(low | ~low)
    return jax.lax.cond(chosen, lambda inputs: tuple(function(inputs)), lambda inputs: _nothing(function, xs), tuple(xs))


def _solved(function: Many, xs: Tensors) -> Any:
    """The solution of 2y = 2F by `custom_linear_solve`."""

    def half(_: Any, b: Any) -> Any:
        return jax.tree_util.tree_map(lambda a: a / 2, b)

    twice = jax.tree_util.tree_map(lambda a: 2 * a, tuple(function(xs)))
    return jax.lax.custom_linear_solve(lambda y: jax.tree_util.tree_map(lambda a: 2 * a, y), twice, half, half)


def _rooted(function: Many, xs: Tensors) -> Any:
    """The root of y - F by `custom_root`."""

    def rest(y: Any) -> Any:
        return jax.tree_util.tree_map(lambda a, b: a - b, y, tuple(function(xs)))

    return jax.lax.custom_root(
        rest, _nothing(function, xs), lambda f, y: jax.tree_util.tree_map(lambda a, b: a - b, y, f(y)), lambda _, y: y
    )


def _integrated(function: Many, xs: Tensors) -> Any:
    """The end of y' = F after a unit of time, by `odeint`."""
    from jax.experimental.ode import odeint

    start = _nothing(function, xs)
    if any(a.dtype != jnp.float64 for a in (*xs, *start)):
        raise NotImplementedError("an integrator is for real numbers in double precision")
    return _last(odeint(lambda y, t, *inputs: tuple(function(inputs)), start, jnp.asarray([0.0, 1.0]), *xs))


def _exported(function: Many, xs: Tensors) -> Any:
    """Through `jax.export`, with sizes that are symbols."""
    try:
        from jax import export

        sizes = [",".join(f"n{n}" if n > 1 else str(n) for n in x.shape) for x in xs]
        specs = export.symbolic_args_specs(tuple(xs), tuple(sizes))
        made = export.export(jax.jit(lambda *inputs: tuple(function(inputs))))(*specs)
    except Exception as error:  # sizes that must be known, custom calls that nobody promises to keep
        raise NotImplementedError(f"not with symbols for sizes: {str(error).splitlines()[0] if str(error) else error!r}") from None
    return made.call(*xs)


def _coordinates(function: Many, xs: Tensors) -> Any:
    """At matrices that came out of a product with COO."""
    from jax.experimental import sparse

    _all_matrices(xs)
    made = [sparse.COO((x.ravel(), *np.indices(x.shape, np.int32).reshape(2, -1)), shape=x.shape) for x in xs]
    return function([m @ jnp.eye(m.shape[1], dtype=m.dtype) for m in made])


def _all_matrices(xs: Tensors) -> None:
    if not all(x.ndim == 2 and x.size for x in xs):
        raise NotImplementedError("coordinate form is for matrices")


def _sparse(function: Many, xs: Tensors) -> Any:
    """At inputs in coordinate form, where F can be run on them. Zeros are kept: they have a derivative."""
    from jax.experimental import sparse

    _all_matrices(xs)
    try:
        made = [sparse.BCOO((x.ravel(), np.indices(x.shape, np.int32).reshape(2, -1).T), shape=x.shape) for x in xs]
        found = sparse.sparsify(lambda *inputs: tuple(function(inputs)))(*made)
        return tuple(o.todense() if isinstance(o, sparse.BCOO) else o for o in found)
    except (NotImplementedError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise NotImplementedError(f"not in coordinate form: {error}") from None


def _nothing(function: Many, xs: Tensors) -> tuple[Any, ...]:
    """Zeros like F's outputs."""
    return tuple(jnp.zeros(o.shape, o.dtype) for o in jax.eval_shape(lambda *inputs: tuple(function(inputs)), *xs))


def _members(outputs: Any) -> Any:
    return tuple(o[0] for o in outputs)


def _last(outputs: Any) -> Any:
    return tuple(o[-1] for o in outputs)


# Rules of a user's own: F stays F, and its derivative is SCALE times the true one ----------------------------------------------


_pushing = jax.custom_jvp(lambda x: x)
_pushing.defjvp(lambda primals, tangents: (primals[0], SCALE * tangents[0]))
_pulling = jax.custom_vjp(lambda x: x)
_pulling.defvjp(lambda x: (x, None), lambda _, g: (SCALE * g,))


def _ruled(rule: Callable[[Any], Any], way: Derivative) -> Derivative:
    """The way at F with the rule behind it, the derivative divided by SCALE."""

    def run(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
        outputs, result = way(lambda inputs: tuple(map(rule, function(inputs))), xs, modes, us, v)
        return outputs, result if not modes else tuple(r / SCALE for r in result)

    return run


EAGER = "eager"  # the plain way without the compiler around it
WAYS: dict[str, Derivative] = {
    EAGER: derivative,
    "batched": batched,
    "jacobian": jacobian,
    "linearized": linearized,
    "batched-inside": _around(_batched_inside),
    "checkpointed": _around(_checkpointed),
    "scanned": _around(_scanned),
    "looped": _around(_looped),
    "turned": _around(_turned),
    "switched": _around(_switched),
    "solved": _around(_solved),
    "rooted": _around(_rooted),
    "integrated": _around(_integrated),
    "sparse": _around(_sparse),
    "coordinates": _around(_coordinates),
    "exported": _around(_exported),
    "again": again,
}
# Ways in which rules of a user's own must be kept.
PUSHED = (EAGER, "batched", "linearized", "checkpointed", "scanned", "switched")
PULLED = (EAGER, "batched", "checkpointed", "scanned", "looped", "switched")
WAYS.update({
    "jvp-rule": _ruled(_pushing, derivative),
    "vjp-rule": _ruled(_pulling, derivative),
    **{f"jvp-rule-{name}": _ruled(_pushing, WAYS[name]) for name in PUSHED},
    **{f"vjp-rule-{name}": _ruled(_pulling, WAYS[name]) for name in PULLED},
})  # fmt: skip
# Those that have no compiler around them: what they compile, they compile themselves.
BY_HAND = (EAGER, "again", "exported", "jvp-rule-eager", "vjp-rule-eager")
