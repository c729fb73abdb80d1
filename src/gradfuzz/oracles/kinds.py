"""The kinds of disagreement in words: what a person reads first, and what it means. An oracle with a kind of its own adds it here."""

from __future__ import annotations

from dataclasses import dataclass

from gradfuzz.oracles.verdict import STATUS, Verdict

_ORDERS = {1: "gradient", 2: "second derivative", 3: "third derivative"}


@dataclass(frozen=True)
class Kind:
    """`title` is a line with room for {order}, {which} scenarios and the {reason}; `numeric`: it is held against a difference quotient."""

    title: str
    explanation: str
    numeric: bool = False


KINDS = {
    "gradient": Kind(
        "wrong {order} in {which}",
        "The derivative that AD computes differs from the numerical derivative by more than both error bars.\n"
        "All scenarios compute the same number, the projection <v, J u> of the Jacobian, so they must agree.",
        numeric=True,
    ),
    "accuracy": Kind(
        "inaccurate {order} in {which}",
        "AD and the function do not agree to all digits: the derivative differs from the numerical derivative of the function as\n"
        "it is computed, good to the error bar shown, by more than rounding of the inputs can explain. Digits are lost in the\n"
        "derivative, or else in the function itself.",
        numeric=True,
    ),
    "tail": Kind(
        "{order} is lost in {which}",
        "The derivative is an ordinary number, and nothing is left of it in what AD computes: it was lost beside something larger,\n"
        "as in a tail where a function is flat. Rounding the input by half a unit does not explain it.",
    ),
    "nonfinite": Kind(
        "{order} is not finite in {which}",
        "AD computes NaN or infinity where the numerical derivative is finite and settles.",
        numeric=True,
    ),
    "kink": Kind(
        "{order} outside the one-sided slopes in {which}",
        "At a kink AD may choose any slope between the one-sided derivatives; this one lies outside.",
        numeric=True,
    ),
    "value": Kind(
        "another output under {which}",
        "The same function at the same inputs must return the same output whether or not it is being differentiated.",
    ),
    "status": Kind(
        "{which} raises where the direct run works",
        "The function runs directly, and AD neither differentiates it nor says that it does not support it.",
    ),
    "malformed": Kind(
        "{order} of the wrong shape or type in {which}",
        "A gradient has the shape and type of its input, a tangent those of its output. This one has not.",
    ),
    "internal": Kind(
        "internal assertion fails in {which}",
        "The library's own assertion fails: whatever the inputs, that is a bug by its own account.",
    ),
    "way": Kind(
        "another {order} in {which}",
        "The same derivative at the same inputs, computed in another way the library offers (compiled or not, batched,\n"
        "linearised), is another number, by more than rounding of the inputs can explain.",
    ),
    "memory": Kind("{which} runs out of memory", "The function runs directly within the memory limit, and AD runs out of memory."),
    "precision": Kind(
        "{order} in lower precision is wrong in {which}",
        "In a lower precision AD is further from double precision than rounding the inputs can explain.",
    ),
    "crash": Kind(
        "{which} kills the process ({reason})", "The process dies. Whatever the inputs, a library must not take its process down."
    ),
    "timeout": Kind("{which} does not come back", "The function does not come back."),
}


# A status in the other direction.
ACCEPTED = Kind(
    "accepted under {which}, refused directly",
    "The function itself refuses these arguments, and under differentiation it takes them: one of the two is wrong.",
)


def in_words(verdict: Verdict) -> Kind:
    """The kind of a verdict."""
    return ACCEPTED if verdict.kind == STATUS and verdict.detail.get("direct") else KINDS[verdict.kind]


def title(verdict: Verdict) -> str:
    """One line that a maintainer reads first."""
    which = " and ".join(verdict.names)
    return in_words(verdict).title.format(order=_ORDERS.get(verdict.order, "derivative"), which=which, reason=verdict.reason)
