"""Other ways to the same derivatives, by name. A way puts another function in F's place, or another derivative in that of the tape and dual
numbers.

F under other settings is in settings.py, other derivatives are in transformed.py; what compiles is in compile.py, with control flow in
flow.py, what a compiler would compute with in decompose.py, what calls another form of an operator in forms.py, what comes before or
between calls in again.py, what stands beside F in beside.py, and beside F inside of what is compiled in inside.py, what becomes of its
outputs in outputs.py, numbers and sizes that a compiler does not know in symbols.py, rules of a user's own in own_rule.py. A way that a
release lacks is unsupported.
"""

from __future__ import annotations

from gradfuzz.targets.torch import (
    again,
    beside,
    decompose,
    detours,
    flow,
    forms,
    inside,
    outputs,
    recurrent,
    settings,
    symbols,
    transformed,
)
from gradfuzz.targets.torch.compile import BACKENDS, compiled
from gradfuzz.targets.torch.own_rule import Hooked, HookedBehind, ScaledByHand, of_kind, on_tape, registered, takes_registered, with_rule
from gradfuzz.targets.torch.rule_kinds import KINDS
from gradfuzz.targets.torch.settings import InPlaceOfF
from gradfuzz.targets.torch.transformed import InPlaceOfD

FUNCTIONS: dict[str, InPlaceOfF] = {
    **settings.FUNCTIONS,
    "in-place": forms.in_place,
    "out": forms.out,
    "foreach": forms.foreach,
    "sparse": forms.sparse,
    "jagged": forms.jagged,
    "jagged-first": forms.jagged_first,
    **again.FUNCTIONS,
    **beside.FUNCTIONS,
    **inside.FUNCTIONS,
    **flow.FUNCTIONS,
    **recurrent.FUNCTIONS,
    **detours.FUNCTIONS,
    **outputs.FUNCTIONS,
    **symbols.FUNCTIONS,
}
DERIVATIVES: dict[str, InPlaceOfD] = {
    **transformed.DERIVATIVES,
    decompose.NAME: decompose.decomposed_as_it_runs,
    **{name: compiled(backend) for name, backend in BACKENDS.items()},
    **again.DERIVATIVES,
    **beside.DERIVATIVES,
    **inside.DERIVATIVES,
    **outputs.DERIVATIVES,
    **symbols.DERIVATIVES,
}
# Ways in which a rule of a user's own must be kept, and those in which its hooks must.
RULED = ("functional", "batched", "batched-inside", "aot_eager", "decomposed", "compiled-outside")
HOOKED = ("aot_eager", "decomposed")
# Those in which rules of other kinds must be.
OF_KINDS = ("aot_eager", "decomposed")
# The same of an operator of a user's own, with a rule that was registered.
REGISTERED = ("functional", "aot_eager")
DERIVATIVES.update({
    "rule": with_rule(on_tape(lambda point: point.function)),
    "rule-nested": with_rule(on_tape(lambda point: point.function)),
    "rule-checkpointed": with_rule(on_tape(settings.checkpointed)),
    **{f"rule-{name}": with_rule(DERIVATIVES[name]) for name in RULED},
    "rule-compiled-batched": with_rule(DERIVATIVES["compiled-batched"], rule=lambda modes: ScaledByHand),
    **{f"hook-{name}": with_rule(DERIVATIVES[name], Hooked) for name in HOOKED},
    **{f"hook-behind-{name}": with_rule(DERIVATIVES[name], HookedBehind) for name in HOOKED},
    **{f"rule-{kind}": with_rule(on_tape(lambda point: point.function), rule=of_kind(KINDS[kind])) for kind in KINDS},
    **{
        f"rule-{kind}-{name}": with_rule(DERIVATIVES[name], rule=of_kind(KINDS[kind]))
        for kind in KINDS
        for name in OF_KINDS
    },
    "registered": with_rule(on_tape(lambda point: point.function), rule=registered),
    **{f"registered-{name}": takes_registered(with_rule(DERIVATIVES[name], rule=registered)) for name in REGISTERED},
})  # fmt: skip
WAYS = (*DERIVATIVES, *FUNCTIONS)
# Those of which a release without a compiler has none.
COMPILED = (decompose.NAME, *(name for name in WAYS if "compiled-" in name or "symbolic" in name or name.endswith(tuple(BACKENDS))))
