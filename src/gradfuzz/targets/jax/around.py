"""What may stand around F and changes nothing: control flow, loops, solvers, checkpoints, batches, meshes.

A place takes a function and all that it is given (whole numbers beside the differentiable inputs, where F takes them unknown), and
gives what that function gives.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from gradfuzz.targets.base.nesting import Derivative, Many, Tensors
from gradfuzz.targets.jax.derivatives import derivative
from gradfuzz.targets.jax.whole import floating, whole

# How a batch's other member differs from the point: enough that mixing the two would show, and nearer to zero, where most functions are
# still inside their domain, and indices inside their range.
NEIGHBOUR = 0.75

# The part of a mean that numbers are compared with: those that are alike are above it, whatever rounding does to their mean.
PART = 0.7320508

Given = tuple[Any, ...]
Call = Callable[..., tuple[Any, ...]]
Place = Callable[[Call, Given], Any]


def around(place: Place) -> Derivative:
    """The plain derivative of what stands in F's place."""

    def way(function: Many, xs: Tensors, modes: Any, us: Any, v: Tensors) -> tuple[Any, Any]:
        def placed(inputs: Tensors) -> tuple[Any, ...]:
            return floating(place(*whole(function).operands(inputs)))

        return derivative(placed, xs, modes, us, v)

    return way


def neighbour(arrays: Any) -> Any:
    return jax.tree_util.tree_map(lambda a: (a * NEIGHBOUR).astype(a.dtype), arrays)


def paired(arrays: Any, axis: int = 0) -> Any:
    return jax.tree_util.tree_map(lambda a: jnp.stack([a, (a * NEIGHBOUR).astype(a.dtype)], axis), arrays)


def kept_apart(arrays: Any) -> Any:
    """The same, of which the other member is a constant: what is not finite there is nobody's derivative."""
    return jax.tree_util.tree_map(lambda a: jnp.stack([a, jax.lax.stop_gradient((a * NEIGHBOUR).astype(a.dtype))]), arrays)


def nothing(call: Call, given: Given) -> tuple[Any, ...]:
    """Zeros like the outputs."""
    return tuple(jnp.zeros(o.shape, o.dtype) for o in jax.eval_shape(call, *given))


def _first(outputs: Any) -> tuple[Any, ...]:
    return tuple(o[0] for o in outputs)


# Run again, batched, compiled, on a mesh ---------------------------------------------------------------------------------------


def checkpointed(call: Call, given: Given) -> Any:
    """`checkpoint`: F is run again in the backward pass."""
    return jax.checkpoint(call)(*given)


def checkpointed_partly(call: Call, given: Given) -> Any:
    """`checkpoint` that keeps products of matrices, as within loops."""
    return jax.checkpoint(call, prevent_cse=False, policy=jax.checkpoint_policies.dots_saveable)(*given)


def batched_inside(call: Call, given: Given) -> Any:
    """The derivative of `vmap`, over the last axis; `batched` is `vmap` of the derivative."""
    return tuple(o[..., 0] for o in jax.vmap(call, in_axes=-1, out_axes=-1)(*paired(given, -1)))


def batched_first(call: Call, given: Given) -> Any:
    """The derivative of `vmap` over the first of several operands alone: rules for batches have a branch for each choice of them."""
    if len(given) < 2:
        raise NotImplementedError("there is one operand only")
    return _first(jax.vmap(call, in_axes=(0, *(None for _ in given[1:])))(paired(given[0]), *given[1:]))


def jitted_inside(call: Call, given: Given) -> Any:
    """The derivative of what is compiled; it hands its operands on beside its outputs."""
    return jax.jit(lambda *operands: (operands, call(*operands)))(*given)[1]


def sharded(call: Call, given: Given) -> Any:
    """A part of `shard_map`, on a mesh of one device."""
    if not hasattr(jax, "shard_map"):
        raise NotImplementedError("this release has another shard_map")
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()[:1]), ("part",))
    spec = jax.sharding.PartitionSpec("part")
    mapped = jax.shard_map(
        lambda *parts: tuple(o[None] for o in call(*(part[0] for part in parts))), mesh=mesh, in_specs=spec, out_specs=spec
    )  # fmt: skip
    return _first(mapped(*(a[None] for a in given)))


# Comparisons -------------------------------------------------------------------------------------------------------------------


def compared(call: Call, given: Given) -> Any:
    """Each output; what is above a part of its mean, chosen by a comparison and by a mask, less the same by `relu`; and found again."""
    return tuple((_chosen(o) + _sorted(o)) / 2 for o in floating(call(*given)))


def _chosen(output: Any) -> Any:
    size = output.real
    least = PART * (jnp.mean(size, axis=-1, keepdims=True) if size.ndim else size)
    more, above = size - least, size > least
    nothing = jnp.where(above, more, jnp.zeros_like(more)) - jax.nn.relu(more)
    return output + (nothing + (more * above - jax.nn.relu(more))).astype(output.dtype)


def _sorted(output: Any) -> Any:
    """By whole numbers alone: the order of its elements, and the way back."""
    flat = output.reshape(-1)
    order = jnp.argsort(flat.real)
    return flat[order][jnp.argsort(order)].reshape(output.shape)


# Loops and branches ------------------------------------------------------------------------------------------------------------


def scanned(call: Call, given: Given) -> Any:
    """A step of `lax.scan`, the first of two."""
    return _first(jax.lax.scan(lambda carry, operands: (carry, call(*operands)), 0, paired(given))[1])


def carried(call: Call, given: Given) -> Any:
    """The second step of `lax.scan`, all operands being in its carry."""
    return tuple(o[-1] for o in jax.lax.scan(lambda carry, _: (carry, call(*carry)), given, None, length=2)[1])


def scanned_backwards(call: Call, given: Given) -> Any:
    """The last step of a `lax.scan` from the end, both turns of which are written out."""

    def step(carry: Any, operands: Given) -> Any:
        return carry + 1, call(*operands)

    return _first(jax.lax.scan(step, 0, paired(given), reverse=True, unroll=2)[1])


def mapped(call: Call, given: Given) -> Any:
    """The first turn of `lax.map` in batches of two, one of three members being left over."""
    if "batch_size" not in inspect.signature(jax.lax.map).parameters:
        raise NotImplementedError("this release maps one by one")
    three = jax.tree_util.tree_map(lambda a: jnp.concatenate([a, a[1:]]), kept_apart(given))
    return _first(jax.lax.map(lambda operands: call(*operands), three, batch_size=2))


def looped(call: Call, given: Given) -> Any:
    """The only turn of a `fori_loop`."""
    return jax.lax.fori_loop(0, 1, lambda _, carry: call(*given), nothing(call, given))


def turned(call: Call, given: Given) -> Any:
    """The only turn of a `while_loop`, which knows forward mode alone."""
    start = (jnp.zeros((), jnp.int32), nothing(call, given))
    return jax.lax.while_loop(lambda state: state[0] < 1, lambda state: (state[0] + 1, call(*given)), start)[1]


def stepped(call: Call, given: Given) -> Any:
    """The only turn of a `while_loop` that counts by two, past its end: a compiler may reckon how often it turns."""
    start = (0, nothing(call, given))
    return jax.lax.while_loop(lambda state: state[0] < 1, lambda state: (state[0] + 2, call(*given)), start)[1]


def switched(call: Call, given: Given) -> Any:
    """A branch of `lax.cond` that is chosen when it runs, whatever the numbers are."""
    low = jnp.asarray([jnp.sum(x).real < 1 for x in given])
    return jax.lax.cond(jnp.all(low | ~low), call, lambda *_: nothing(call, given), *given)


def switched_batched(call: Call, given: Given) -> Any:
    """A branch of `lax.cond` in `vmap`, which chooses another one for the other member: both are run, and one is selected."""
    chosen = jnp.stack([jnp.bool_(True), jnp.bool_(False)])

    def one(choice: Any, *operands: Any) -> Any:
        return jax.lax.cond(choice, call, lambda *_: nothing(call, given), *operands)

    return _first(jax.vmap(one)(chosen, *kept_apart(given)))


def referred(call: Call, given: Given) -> Any:
    """Read from references that the outputs were written to."""
    if not hasattr(jax, "new_ref"):
        raise NotImplementedError("this release has no references")
    outputs = call(*given)
    places = [jax.new_ref(jnp.zeros(o.shape, o.dtype)) for o in outputs]
    for place, o in zip(places, outputs):
        place[...] = o
    return tuple(place[...] for place in places)


def accumulated(call: Call, given: Given) -> Any:
    """Added up in references by the two turns of a `scan` that closes over them."""
    if not hasattr(jax, "new_ref"):
        raise NotImplementedError("this release has no references")
    outputs = floating(call(*given))
    places = [jax.new_ref(jnp.zeros(o.shape, o.dtype)) for o in outputs]

    def step(turn: Any, factor: Any) -> Any:
        for place, o in zip(places, outputs):
            place[...] = place[...] + o * factor.astype(o.dtype)
        return turn + 1, None

    jax.lax.scan(step, 0, jnp.asarray([0.75, 0.25]))
    return tuple(place[...] for place in places)


def referred_again(call: Call, given: Given) -> Any:
    """References that are made inside of a checkpoint, which is run again in the backward pass."""
    return jax.checkpoint(lambda *operands: accumulated(call, operands))(*given)


# Solvers: floating outputs are their unknowns -----------------------------------------------------------------------------------


def solved(call: Call, given: Given) -> Any:
    """The solution of 2y = 2F by `custom_linear_solve`."""

    def half(_: Any, b: Any) -> Any:
        return jax.tree_util.tree_map(lambda a: a / 2, b)

    return jax.lax.custom_linear_solve(_twice, _twice(floating(call(*given))), half, half)


def solved_counting(call: Call, given: Given) -> Any:
    """The same by a solver that says how many turns it took."""

    def half(_: Any, b: Any) -> Any:
        return jax.tree_util.tree_map(lambda a: a / 2, b), jnp.ones((), jnp.int32)

    return jax.lax.custom_linear_solve(_twice, _twice(floating(call(*given))), half, half, has_aux=True)[0]


def rooted(call: Call, given: Given) -> Any:
    """The root of y - F by `custom_root`."""
    return jax.lax.custom_root(_rest(call, given), _start(call, given), lambda f, y: _minus(y, f(y)), lambda _, y: y)


def rooted_counting(call: Call, given: Given) -> Any:
    """The same by a solver that says how many turns it took."""

    def solve(f: Any, y: Any) -> Any:
        return _minus(y, f(y)), jnp.ones((), jnp.int32)

    return jax.lax.custom_root(_rest(call, given), _start(call, given), solve, lambda _, y: y, has_aux=True)[0]


def integrated(call: Call, given: Given) -> Any:
    """The end of y' = F after a unit of time, by `odeint`. Whole numbers stay outside of it."""
    from jax.experimental.ode import odeint

    floats = [floating([a]) != () for a in given]

    def velocity(y: Any, t: Any, *inputs: Any) -> Any:
        moving = iter(inputs)
        return floating(call(*(next(moving) if floats_here else a for a, floats_here in zip(given, floats))))

    _real(call, given)
    return _end(odeint(velocity, _start(call, given), jnp.asarray([0.0, 1.0]), *floating(given)))


def integrated_counting(call: Call, given: Given) -> Any:
    """The same with a whole number among what the velocity is given."""
    from jax.experimental.ode import odeint

    _real(call, given)
    times = jnp.ones((), jnp.int32)
    inputs = floating(given)
    if len(inputs) < len(given):
        raise NotImplementedError("it has whole numbers of its own")
    return _end(
        odeint(lambda y, t, n, *z: tuple(n * o for o in floating(call(*z))), _start(call, given), jnp.asarray([0.0, 1.0]), times, *inputs)
    )


def _real(call: Call, given: Given) -> None:
    if any(a.dtype != jnp.float64 for a in (*floating(given), *_start(call, given))):
        raise NotImplementedError("an integrator is for real numbers in double precision")


def _start(call: Call, given: Given) -> tuple[Any, ...]:
    return floating(nothing(call, given))


def _end(outputs: Any) -> tuple[Any, ...]:
    return tuple(o[-1] for o in outputs)


def _twice(y: Any) -> Any:
    return jax.tree_util.tree_map(lambda a: 2 * a, y)


def _minus(a: Any, b: Any) -> Any:
    return jax.tree_util.tree_map(lambda x, y: x - y, a, b)


def _rest(call: Call, given: Given) -> Callable[[Any], Any]:
    return lambda y: _minus(y, floating(call(*given)))


# Other forms of the inputs, and of F --------------------------------------------------------------------------------------------


def exported(call: Call, given: Given) -> Any:
    """Through `jax.export`, with sizes that are symbols."""
    try:
        from jax import export

        sizes = [",".join(f"n{n}" if n > 1 else str(n) for n in x.shape) for x in given]
        specs = export.symbolic_args_specs(given, tuple(sizes))
        made = export.export(jax.jit(call))(*specs)
    except Exception as error:  # sizes that must be known, custom calls that nobody promises to keep
        raise NotImplementedError(f"not with symbols for sizes: {str(error).splitlines()[0] if str(error) else error!r}") from None
    return made.call(*given)


def coordinates(call: Call, given: Given) -> Any:
    """At matrices that came out of a product with COO."""
    from jax.experimental import sparse

    _all_matrices(given)
    made = [sparse.COO((x.ravel(), *np.indices(x.shape, np.int32).reshape(2, -1)), shape=x.shape) for x in given]
    return call(*(m @ jnp.eye(m.shape[1], dtype=m.dtype) for m in made))


def sparse(call: Call, given: Given) -> Any:
    """At inputs in coordinate form, where F can be run on them. Zeros are kept: they have a derivative."""
    from jax.experimental import sparse

    _all_matrices(given)
    try:
        made = [sparse.BCOO((x.ravel(), np.indices(x.shape, np.int32).reshape(2, -1).T), shape=x.shape) for x in given]
        found = sparse.sparsify(call)(*made)
        return tuple(o.todense() if isinstance(o, sparse.BCOO) else o for o in found)
    except (NotImplementedError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise NotImplementedError(f"not in coordinate form: {error}") from None


def _all_matrices(given: Given) -> None:
    if not all(x.ndim == 2 and x.size and floating([x]) for x in given):
        raise NotImplementedError("coordinate form is for matrices")
