"""Other ways to the same numbers: op by op, compiled by XLA, persistent tapes, symbolic gradients, Jacobians, vectorised maps; once more;
with a rule of a user's own.

Each has the form of `derivatives.derivative` and takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import tensorflow as tf

from gradfuzz.targets.base.nesting import Derivative, Many, Tensors
from gradfuzz.targets.base.scenario import Modes
from gradfuzz.targets.tensorflow.derivatives import NoGradient, derivative, inner, some

# How a batch's other member differs from the point: enough that mixing the two would show, and nearer to zero, where most functions are
# still inside their domain.
NEIGHBOUR = 0.75
# A Jacobian has a row for each output element; one with more entries is not made.
JACOBIAN_ROWS = 64
JACOBIAN_ENTRIES = 4096
# The derivative that a rule of a user's own gives to the identity: a number that no mistake makes by itself.
SCALE = 3.0
# Other shapes are looked for among this many.
MOST_SHAPES = 4
# The part of a mean that numbers are compared with: those that are alike are above it, whatever rounding does to their mean.
PART = 0.7320508


def persistent(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """Reverse mode on a tape that is kept: the second gradient taken from it must be the first."""
    if modes != ("r",):
        return derivative(function, xs, modes, us, v)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(list(xs))
        outputs = function(xs)
    for _ in range(2):
        gradients = some(tape.gradient(outputs, list(xs), output_gradients=list(v)))
    return outputs, [inner(gradients, us[0])]


def symbolic(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """`tf.gradients` in a graph; forward mode as the gradient of the gradient with respect to its weights."""
    outputs = function(xs)
    if not modes:
        return outputs, outputs
    if modes == ("r",):
        return outputs, [inner(some(tf.gradients(outputs, list(xs), grad_ys=list(v))), us[0])]
    weights = [tf.identity(w) for w in v]
    gradients = some(tf.gradients(outputs, list(xs), grad_ys=weights))
    kept = [(tf.convert_to_tensor(g), u) for g, u in zip(gradients, us[0]) if g is not None]
    tangents = some(tf.gradients([g for g, _ in kept], weights, grad_ys=[tf.cast(u, g.dtype) for g, u in kept]))
    return outputs, [tf.zeros_like(o) if t is None else tf.convert_to_tensor(t) for t, o in zip(tangents, outputs)]


def _jacobian(pfor: bool) -> Derivative:
    def way(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
        """The whole Jacobian by `tape.jacobian`, contracted with both directions."""
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(list(xs))
            outputs = function(xs)
        if not modes:
            return outputs, outputs
        rows = sum(int(o.shape.num_elements() or 0) for o in outputs)
        if rows > JACOBIAN_ROWS or rows * sum(int(x.shape.num_elements() or 0) for x in xs) > JACOBIAN_ENTRIES:
            raise NotImplementedError("the Jacobian is too large to be made here")
        if any(o.dtype.is_complex for o in outputs):
            raise NotImplementedError("rows of complex Jacobians are half of them")
        found = [tape.jacobian(o, list(xs), experimental_use_pfor=pfor) for o in outputs]
        some([part for row in found for part in row])
        tangents = [_times(row, us[0], o) for row, o in zip(found, outputs)]
        return outputs, tangents if modes == ("f",) else [inner(tangents, v)]

    return way


def _times(row: list[Any], u: Tensors, output: Any) -> Any:
    """J u for one output: each part of the row has the output's shape, then an input's."""
    total = tf.zeros_like(output)
    for part, d in zip(row, u):
        if part is None:
            continue
        wide = tf.reshape(part, tf.concat([tf.shape(output), [tf.size(d)]], 0))  # -1 would be any number where nothing is
        flat = tf.reshape(tf.cast(d, wide.dtype), [-1])
        terms = tf.math.conj(tf.where(flat != 0, wide, tf.zeros((), wide.dtype))) * flat
        total = total + tf.cast(tf.math.real(tf.reduce_sum(terms, -1)), output.dtype)
    return total


def vectorized(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """`tf.vectorized_map` over a batch of two: the point, and a neighbour with other numbers throughout."""
    given = (list(xs), [list(u) for u in us], list(v))
    batch = tf.nest.map_structure(lambda a: tf.stack([a, a * tf.cast(NEIGHBOUR, a.dtype)]), given)
    answer = tf.vectorized_map(lambda parts: derivative(function, parts[0], modes, parts[1], parts[2]), batch)
    outputs, result = tf.nest.map_structure(lambda a: a[0], answer)
    return outputs, result


def apart(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """Each input differentiated by itself, the others being constants: rules leave out what nobody asked for."""
    if len(xs) < 2:
        raise NotImplementedError("there is one input only")
    found = []
    for index, x in enumerate(xs):

        def alone(inputs: Tensors, index: int = index) -> Any:
            return function([*xs[:index], *inputs, *xs[index + 1 :]])

        try:
            found.append(derivative(alone, [x], modes, [[u[index]] for u in us], v))
        except NoGradient:  # of this one
            continue
    if not found:
        raise NoGradient("no derivative is declared along any input")
    return found[0][0], [sum(parts[1:], parts[0]) for parts in zip(*(result for _, result in found))]


def again(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """The same call again: a traced F that was called with other shapes, where it takes them, and with other numbers."""
    traced = tf.function(lambda *inputs: tuple(function(list(inputs))), autograph=False, reduce_retracing=True)
    for size in sorted({n for x in xs for n in x.shape if n}, reverse=True)[:MOST_SHAPES]:
        doubled = [tf.tile(x, [2 if n == size else 1 for n in x.shape]) for x in xs]
        try:
            traced(*doubled)
            break
        except Exception:  # it does not take them
            continue
    traced(*[x * tf.cast(NEIGHBOUR, x.dtype) for x in xs])
    return derivative(lambda inputs: list(traced(*inputs)), xs, modes, us, v)


class OfPlan:
    """F at its fixed numbers. What a way traces of it takes those as operands, as the plain graph does: so it serves a whole family."""

    def __init__(self, of_all: Callable[[Tensors, Tensors], Any], fixed: Tensors, kept: dict[Any, Any]) -> None:
        self.of_all, self.fixed, self.kept = of_all, fixed, kept

    def __call__(self, inputs: Tensors) -> Any:
        return self.of_all(inputs, self.fixed)


def _once(function: Many, key: Any, make: Callable[[Callable[[Tensors, Tensors], Any]], Any]) -> tuple[Any, Tensors]:
    """What is made of a function of inputs and fixed numbers, once for a family; and the fixed numbers."""
    if not isinstance(function, OfPlan):
        return make(lambda inputs, _: function(inputs)), ()
    if key not in function.kept:
        function.kept[key] = make(function.of_all)
    return function.kept[key], function.fixed


def compiled_shapeless(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """The whole derivative by XLA, from a trace that knows no sizes: they are bounded and padded when it runs."""
    given = (tuple(xs), tuple(tuple(u) for u in us), tuple(v))
    fixed = function.fixed if isinstance(function, OfPlan) else ()
    unknown = tf.nest.map_structure(lambda a: tf.TensorSpec([None] * a.shape.rank, a.dtype), given)
    signature = (*unknown, tuple(tf.TensorSpec(a.shape, a.dtype) for a in fixed))

    def make(of_all: Callable[[Tensors, Tensors], Any]) -> Any:
        def whole(xs: Any, us: Any, v: Any, fixed: Any) -> Any:
            return derivative(lambda inputs: of_all(inputs, list(fixed)), list(xs), modes, us, list(v))

        return tf.function(whole, autograph=False, jit_compile=True, input_signature=signature)

    traced, fixed = _once(function, modes, make)
    _needs_no_sizes(traced)
    outputs, result = traced(*given, tuple(fixed))
    return outputs, result


def assigned(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """The same call again: reverse mode of variables that get other values between the call and its backward pass."""
    if modes != ("r",):
        raise NotImplementedError("only reverse mode has a pass of its own that something could come before")
    variables = [tf.Variable(x) for x in xs]
    with tf.GradientTape() as tape:
        outputs = function([tf.convert_to_tensor(w) for w in variables])
    seen = [tf.identity(o) for o in outputs]
    for w, x in zip(variables, xs):
        w.assign(1 - x * tf.cast(NEIGHBOUR, x.dtype))
    return seen, [inner(some(tape.gradient(outputs, variables, output_gradients=list(v))), us[0])]


def variables(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
    """Reverse mode at variables themselves, which some operators read in part and give sparse gradients."""
    if modes != ("r",):
        raise NotImplementedError("only a tape watches variables")
    given = [tf.Variable(x) for x in xs]
    with tf.GradientTape() as tape:
        try:
            outputs = function(given)
        except Exception as error:
            raise NotImplementedError(f"it takes no variables: {str(error).splitlines()[0] if str(error) else error!r}") from None
    return outputs, [inner(some(tape.gradient(outputs, given, output_gradients=list(v))), us[0])]


# In the place of F: control flow around it, which changes nothing -------------------------------------------------------------


def _around(place: Callable[[Many, Tensors], Any]) -> Derivative:
    """The plain derivative of what stands in F's place."""

    def way(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
        return derivative(lambda inputs: list(place(function, list(inputs))), xs, modes, us, v)

    return way


def _recomputed(function: Many, xs: Tensors) -> Any:
    """`tf.recompute_grad`: F is run again in the backward pass."""
    return tf.recompute_grad(lambda *inputs: function(list(inputs)))(*xs)


def _compiled_inside(function: Many, xs: Tensors) -> Any:
    """A function that XLA compiles, differentiated from outside: what backward needs crosses its border."""
    count = len(xs)

    def make(of_all: Callable[[Tensors, Tensors], Any]) -> Any:
        return tf.function(lambda *given: tuple(of_all(list(given[:count]), list(given[count:]))), autograph=False, jit_compile=True)

    compiled, fixed = _once(function, COMPILED_INSIDE, make)
    return compiled(*xs, *fixed)


def _vectorized_inside(function: Many, xs: Tensors) -> Any:
    """The derivative of `tf.vectorized_map`; `vectorized` is the map of the derivative."""
    batch = [tf.stack([x, tf.stop_gradient(x * tf.cast(NEIGHBOUR, x.dtype))]) for x in xs]
    return [o[0] for o in tf.vectorized_map(lambda inputs: list(function(list(inputs))), batch)]


def _looped(function: Many, xs: Tensors) -> Any:
    """The only turn of a `tf.while_loop`."""
    outputs = [tf.zeros_like(o) for o in function(xs)]
    state = tf.while_loop(lambda i, *_: i < 1, lambda i, *_: (i + 1, *function(xs)), (tf.constant(0), *outputs))
    return state[1:]


def _counted(function: Many, xs: Tensors) -> Any:
    """Times how far a loop has counted that goes by two, past its end, and divided by it: a compiler may reckon how often it turns."""
    (count,) = tf.while_loop(lambda i: i < 1, lambda i: (i + 2,), (tf.constant(0),))
    return [o * tf.cast(count, o.dtype) / tf.cast(2, o.dtype) for o in function(xs)]


def _kept(function: Many, xs: Tensors) -> Any:
    """Through a `tf.TensorArray`."""
    outputs = function(xs)
    arrays = [tf.TensorArray(o.dtype, 2, clear_after_read=False).write(0, o).write(1, tf.zeros_like(o)) for o in outputs]
    return [array.read(0) for array in arrays]


def _switched(function: Many, xs: Tensors) -> Any:
    """A branch of `tf.cond` that is chosen when it runs, whatever the numbers are."""
    low = tf.math.real(tf.reduce_sum(xs[0])) < 1
    chosen = tf.logical_or(low, tf.logical_not(low))
    return tf.cond(chosen, lambda: list(function(xs)), lambda: [tf.zeros_like(o) for o in function(xs)])


def _compared(function: Many, xs: Tensors) -> Any:
    """Each output; what is above a part of its mean, chosen by a comparison and by a mask, less the same by `relu`; and found again."""
    return [(_chosen(o) + _sorted(o)) / tf.cast(2, o.dtype) for o in function(xs)]


def _chosen(output: Any) -> Any:
    size = tf.math.real(output)
    least = tf.cast(PART, size.dtype) * (tf.reduce_mean(size, -1, keepdims=True) if size.shape.rank else size)
    more, above = size - least, size > least
    nothing = tf.where(above, more, tf.zeros_like(more)) - tf.nn.relu(more)
    nothing_again = more * tf.cast(above, more.dtype) - tf.nn.relu(more)
    return output + tf.cast(nothing + nothing_again, output.dtype)


def _sorted(output: Any) -> Any:
    """By whole numbers alone: the order of its elements, and the way back."""
    flat = tf.reshape(output, [-1])
    order = tf.argsort(tf.math.real(flat), stable=True)
    return tf.reshape(tf.gather(tf.gather(flat, order), tf.argsort(order, stable=True)), tf.shape(output))


def _shapeless(function: Many, xs: Tensors) -> Any:
    """In a traced function that knows no sizes, where it can be traced so."""
    signature = [tf.TensorSpec([None] * x.shape.rank, x.dtype) for x in xs]
    traced = tf.function(lambda *inputs: tuple(function(list(inputs))), autograph=False, input_signature=signature)
    _needs_no_sizes(traced)
    return traced(*xs)


def _needs_no_sizes(traced: Any) -> None:
    try:
        traced.get_concrete_function()
    except Exception as error:
        raise NotImplementedError(f"it needs to know sizes: {str(error).splitlines()[0] if str(error) else error!r}") from None


def _mapped(function: Many, xs: Tensors) -> Any:
    """The first turn of `tf.map_fn`, which is a loop that writes to a TensorArray."""
    batch = [tf.stack([x, tf.stop_gradient(x * tf.cast(NEIGHBOUR, x.dtype))]) for x in xs]
    types = [o.dtype for o in function(xs)]
    return [o[0] for o in tf.map_fn(lambda inputs: list(function(inputs)), batch, fn_output_signature=types)]


def _scanned(function: Many, xs: Tensors) -> Any:
    """The first turn of `tf.scan`, which carries the outputs of the turn before."""
    batch = [tf.stack([x, tf.stop_gradient(x * tf.cast(NEIGHBOUR, x.dtype))]) for x in xs]
    return [o[0] for o in tf.scan(lambda _, inputs: list(function(inputs)), batch, [tf.zeros_like(o) for o in function(xs)])]


def _ragged(function: Many, xs: Tensors) -> Any:
    """At ragged tensors with rows of one length, where F can be run on them; what comes out is laid out as without."""
    if not all(x.shape.rank and x.shape.rank > 1 and x.shape.num_elements() for x in xs):
        raise NotImplementedError("ragged tensors have rows")
    try:
        outputs = function([tf.RaggedTensor.from_tensor(x) for x in xs])
        return [tf.reshape(o, usual.shape) for o, usual in zip(outputs, function(xs))]
    except Exception as error:
        raise NotImplementedError(f"not with ragged rows: {str(error).splitlines()[0] if str(error) else error!r}") from None


def _scaled(x: Any) -> Any:
    """The identity, with SCALE for its derivative by a rule of its own."""
    return tf.custom_gradient(lambda z: (tf.identity(z), lambda g: g * tf.cast(SCALE, g.dtype)))(x)


def _ruled(way: Derivative) -> Derivative:
    """The way at F with the rule behind it, the derivative divided by SCALE."""

    def run(function: Many, xs: Tensors, modes: Modes, us: Sequence[Tensors], v: Tensors) -> tuple[Any, Any]:
        outputs, result = way(lambda inputs: [_scaled(o) for o in function(inputs)], xs, modes, us, v)
        return outputs, result if not modes else [r / tf.cast(SCALE, r.dtype) for r in result]

    return run


EAGER, COMPILED, PERSISTENT = "eager", "compiled", "persistent"  # the plain way without a graph around it, and with XLA around that
COMPILED_INSIDE = "compiled-inside"
WAYS: dict[str, Derivative] = {
    EAGER: derivative,
    COMPILED: derivative,
    PERSISTENT: persistent,
    "symbolic": symbolic,
    "jacobian": _jacobian(pfor=True),
    "unrolled": _jacobian(pfor=False),
    "vectorized": vectorized,
    "apart": apart,
    "vectorized-inside": _around(_vectorized_inside),
    COMPILED_INSIDE: _around(_compiled_inside),
    "recomputed": _around(_recomputed),
    "looped": _around(_looped),
    "counted": _around(_counted),
    "kept": _around(_kept),
    "switched": _around(_switched),
    "mapped": _around(_mapped),
    "scanned": _around(_scanned),
    "compared": _around(_compared),
    "ragged": _around(_ragged),
    "shapeless": _around(_shapeless),
    "compiled-shapeless": compiled_shapeless,
    "again": again,
    "assigned": assigned,
    "variables": variables,
}
# Ways that XLA compiles as a whole, too.
WITHIN_XLA = ("mapped", "jacobian", "compared", "counted")
WAYS.update({f"{COMPILED}-{name}": WAYS[name] for name in WITHIN_XLA})
# Ways in which a rule of a user's own must be kept.
RULED = (EAGER, COMPILED, COMPILED_INSIDE, "symbolic", "vectorized", "vectorized-inside", "recomputed", "looped", "switched")
WAYS.update({"rule": _ruled(derivative), **{f"rule-{name}": _ruled(WAYS[name]) for name in RULED}})
# Those that have no graph around them, those of them that need none inside either, and those that XLA compiles.
BY_HAND = (
    EAGER, COMPILED_INSIDE, "compiled-shapeless", "again", "assigned", "variables", f"rule-{EAGER}",
    f"rule-{COMPILED_INSIDE}",
)  # fmt: skip
WITHOUT_GRAPH = (EAGER, "assigned", "variables", f"rule-{EAGER}", PERSISTENT)
BY_XLA = (COMPILED, f"rule-{COMPILED}", *(f"{COMPILED}-{name}" for name in WITHIN_XLA))
