"""Other ways to the same numbers: batched, through Jacobian rows, linearised, input by input; op by op; within loops, branches and solvers;
a second time; under stricter settings; with a rule of a user's own.

Each has the form of `derivatives.derivative` and takes its place.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Callable

import jax
import jax.numpy as jnp

from gradfuzz.targets.base.nesting import Derivative, Many, Tensors
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.jax import around
from gradfuzz.targets.jax.around import neighbour, paired
from gradfuzz.targets.jax.derivatives import conjugate, derivative, inner
from gradfuzz.targets.jax.whole import floating, whole

# The derivative that a rule of a user's own gives to the identity: a number that no mistake makes by itself.
SCALE = 3.0
# Other shapes are looked for among this many.
MOST_SHAPES = 4


def batched(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """`vmap` over a batch of two: the point, and a neighbour with other numbers throughout."""
    call, given = whole(function).operands(xs)
    beside = given[len(xs) :]

    def one(xs: Tensors, beside: Tensors, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
        return derivative(lambda inputs: floating(call(*inputs, *beside)), xs, modes, us, v)

    return _first(jax.vmap(one)(*paired((tuple(xs), beside, tuple(us), tuple(v)))))


def batched_rest(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """`vmap` over all operands but the first, which is the same for all members, as are directions and weights."""
    call, given = whole(function).operands(xs)
    if len(given) < 2:
        raise NotImplementedError("there is one operand only")

    def one(*rest: Any) -> tuple[Any, Any]:
        inputs, beside = (given[0], *rest[: len(xs) - 1]), rest[len(xs) - 1 :]
        return derivative(lambda inputs: floating(call(*inputs, *beside)), inputs, modes, us, v)

    return _first(jax.vmap(one)(*paired(given[1:])))


def jacobian(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """`vmap` over directions at one point, the way Jacobians are made."""
    batch = paired((tuple(us), tuple(v)))
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


def taylor(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """Taylor mode by `jet`, which has rules of its own. Of order two it gives what is twice along one direction: two of them make any."""
    from jax.experimental.jet import jet

    def along(u: Tensors) -> Any:
        series = [[d, *(jnp.zeros_like(d) for _ in modes[1:])] for d in u]
        try:
            return jet(lambda *inputs: tuple(function(inputs)), tuple(xs), series)
        except Exception as error:  # few functions have such a rule, and not all that lack it say so
            raise NotImplementedError(f"not by Taylor series: {str(error).splitlines()[0] if str(error) else error!r}") from None

    if modes == ("f",):
        outputs, found = along(us[0])
        return outputs, tuple(terms[0] for terms in found)
    if modes != ("f", "f"):
        raise NotImplementedError("Taylor mode is forward mode")
    (outputs, more), (_, less) = (along([a + sign * b for a, b in zip(*us)]) for sign in (1, -1))
    return outputs, tuple((a[1] - b[1]) / 4 for a, b in zip(more, less))


def outlived(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """A compiled function gives the derivative away as a function, which another one calls."""
    if len(modes) != 1:
        raise NotImplementedError("there is one function to give away")

    def forward(*inputs: Any) -> tuple[Any, ...]:
        return tuple(function(inputs))

    def giving(*inputs: Any) -> tuple[Any, Any]:
        outputs, rest = (jax.linearize if modes == ("f",) else jax.vjp)(forward, *inputs)
        if jax.tree_util.all_leaves([rest]):
            raise NotImplementedError("this release gives a function that no other can take")
        return outputs, rest

    outputs, rest = jax.jit(giving)(*xs)
    if modes == ("f",):
        return outputs, jax.jit(lambda push, *u: push(*u))(rest, *us[0])
    return outputs, (inner(jax.jit(lambda pull, w: pull(w))(rest, tuple(conjugate(w) for w in v)), us[0]),)


def apart(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """Each input differentiated by itself, the others being constants: of their tangents rules are told that they are zero."""
    if len(xs) < 2:
        raise NotImplementedError("there is one input only")
    if not modes:
        return derivative(function, xs, modes, us, v)
    outputs: Any = None
    total: list[Any] | None = None
    for index in range(len(xs)):

        def alone(inputs: Tensors, index: int = index) -> Any:
            return function([*xs[:index], *inputs, *xs[index + 1 :]])

        outputs, result = derivative(alone, (xs[index],), modes, [(u[index],) for u in us], v)
        total = list(result) if total is None else [a + b for a, b in zip(total, result)]
    return outputs, tuple(total or ())


def again(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """The same call again: a compiled derivative, first with other shapes and other numbers; each call gives its inputs away."""
    compiled = jax.jit(lambda xs, us, v: derivative(function, xs, modes, us, v), donate_argnums=(0, 1, 2))
    answer: Any = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says which of the inputs it could make no use of
        for given in (*_other_shapes(function, xs, us), neighbour((tuple(xs), tuple(us), tuple(v))), (tuple(xs), tuple(us), tuple(v))):
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


def _first(answer: Any) -> tuple[Any, Any]:
    outputs, result = jax.tree_util.tree_map(lambda a: a[0], answer)
    return outputs, result


# Under other settings ----------------------------------------------------------------------------------------------------------


def _under(settings: Callable[[], Sequence[AbstractContextManager[Any]]], refusing: bool = False) -> Derivative:
    """The plain derivative while settings hold; `refusing`: F itself may refuse to run under them, and then nothing is asked."""

    def way(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
        with _all(settings()):
            if refusing:
                try:
                    function(xs)
                except Exception as error:
                    raise NotImplementedError(f"not under these settings: {error}") from None
            return derivative(function, xs, modes, us, v)

    return way


def _all(contexts: Sequence[AbstractContextManager[Any]]) -> AbstractContextManager[Any]:
    stack = ExitStack()
    for context in contexts:
        stack.enter_context(context)
    return stack


# Rules of a user's own: F stays F, and its derivative is SCALE times the true one ----------------------------------------------


_pushing = jax.custom_jvp(lambda x: x)
_pushing.defjvp(lambda primals, tangents: (primals[0], SCALE * tangents[0]))
_branching = jax.custom_jvp(lambda x: x)
_looping = jax.custom_jvp(lambda x: x)
_pulling = jax.custom_vjp(lambda x: x)
_pulling.defvjp(lambda x: (x, None), lambda _, g: (SCALE * g,))


def _branches(primals: Any, tangents: Any) -> Any:
    """A rule that asks its operand which of two formulas to take, which say the same."""
    (x,), (t,) = primals, tangents
    return x, jax.lax.cond(jnp.sum(x).real < 1, lambda t: SCALE * t, lambda t: (SCALE - 1) * t + t, t)


def _loops(primals: Any, tangents: Any) -> Any:
    """A rule that adds up, as often as its operand says: never more than once."""
    (x,), (t,) = primals, tangents
    more = jnp.where(jnp.isfinite(jnp.sum(x)), 1.0, 1.0)
    return x, jax.lax.fori_loop(0, 2, lambda _, total: total + more.astype(t.dtype) * t, t)


_branching.defjvp(_branches)
_looping.defjvp(_loops)


def _ruled(rule: Callable[[Any], Any], way: Derivative) -> Derivative:
    """The way at F with the rule behind it, the derivative divided by SCALE. What can be done with F can be done with the rule as well."""

    def run(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
        try:
            outputs, result = way(whole(function).behind(rule), xs, modes, us, v)
        except NotImplementedError as error:
            way(function, xs, modes, us, v)  # it may be F that cannot
            raise RuntimeError("with a rule of a user's own it cannot be done, and without one it can") from error
        return outputs, result if not modes else tuple(r / SCALE for r in result)

    return run


EAGER = "eager"  # the plain way without the compiler around it
WAYS: dict[str, Derivative] = {
    EAGER: derivative,
    "batched": batched,
    "batched-rest": batched_rest,
    "jacobian": jacobian,
    "linearized": linearized,
    "taylor": taylor,
    "outlived": outlived,
    "apart": apart,
    "batched-inside": around.around(around.batched_inside),
    "batched-first": around.around(around.batched_first),
    "checkpointed": around.around(around.checkpointed),
    "checkpointed-partly": around.around(around.checkpointed_partly),
    "jitted-inside": around.around(around.jitted_inside),
    "sharded": around.around(around.sharded),
    "scanned": around.around(around.scanned),
    "carried": around.around(around.carried),
    "scanned-backwards": around.around(around.scanned_backwards),
    "mapped": around.around(around.mapped),
    "looped": around.around(around.looped),
    "turned": around.around(around.turned),
    "stepped": around.around(around.stepped),
    "switched": around.around(around.switched),
    "switched-batched": around.around(around.switched_batched),
    "compared": around.around(around.compared),
    "referred": around.around(around.referred),
    "accumulated": around.around(around.accumulated),
    "accumulated-checkpointed": around.around(around.referred_again),
    "solved": around.around(around.solved),
    "solved-counting": around.around(around.solved_counting),
    "rooted": around.around(around.rooted),
    "rooted-counting": around.around(around.rooted_counting),
    "integrated": around.around(around.integrated),
    "integrated-counting": around.around(around.integrated_counting),
    "sparse": around.around(around.sparse),
    "coordinates": around.around(around.coordinates),
    "exported": around.around(around.exported),
    "again": again,
    "unjitted": _under(lambda: [jax.disable_jit()]),
    "checked": _under(lambda: [jax.enable_checks(True)]),
    "strict": _under(lambda: [jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise")], refusing=True),
}
# Ways in which rules of a user's own must be kept.
PUSHED = (EAGER, "batched", "linearized", "checkpointed", "scanned", "switched", "jitted-inside", "sharded")
PULLED = (EAGER, "batched", "checkpointed", "scanned", "looped", "switched", "jitted-inside", "sharded")
# Those in which rules are that have control flow of their own.
BRANCHING, LOOPING = ("batched", "batched-inside", "linearized", "scanned"), ("batched-inside", "linearized", "checkpointed")
WAYS.update({
    **{f"branching-rule-{name}": _ruled(_branching, WAYS[name]) for name in BRANCHING},
    **{f"looping-rule-{name}": _ruled(_looping, WAYS[name]) for name in LOOPING},
    "jvp-rule": _ruled(_pushing, derivative),
    "vjp-rule": _ruled(_pulling, derivative),
    **{f"jvp-rule-{name}": _ruled(_pushing, WAYS[name]) for name in PUSHED},
    **{f"vjp-rule-{name}": _ruled(_pulling, WAYS[name]) for name in PULLED},
})  # fmt: skip
# Those that have no compiler around them: what they compile, they compile themselves.
BY_HAND = (
    EAGER, "again", "outlived", "exported", "jitted-inside", "unjitted", "checked", "strict", "jvp-rule-eager", "vjp-rule-eager",
    "jvp-rule-jitted-inside", "vjp-rule-jitted-inside",
)  # fmt: skip
# Those of which a trace says nothing, or which compile when they are traced.
COMPUTING = (EAGER, "again", "exported", "unjitted")
