"""The single-argument ops of a target, found by trying: what maps one tensor to one of its shape, each element by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Callable

import numpy as np

from gradfuzz.program.model import Call, Expr, Item, Let, Program, Ref, Slice, Tensor, Values
from gradfuzz.targets.base.callables import callables, required
from gradfuzz.targets.base.protocol import Refusal, Target, Vec
from gradfuzz.targets.base.scenario import FORWARD, REVERSE

Array = Any

# Numbers on both sides of the usual edges (0, ±1), none of them special to any function.
PROBE = (-2.31, -1.17, -0.71, -0.23, 0.11, 0.37, 0.59, 0.83, 1.29, 1.73, 5.53)
# The elements that are changed to see whether others notice: no regular pattern, which a shift could map to itself.
CHANGED = [0, 1, 3, 7, 8]
# What a function that converts is asked to convert to.
CAST_TO = ("float64", "float32", "bfloat16", "int64", "int32")
_DTYPE_PARAMETERS = ("dtype", "new_dtype")


@dataclass(frozen=True)
class Op:
    """One way to call one function with one tensor. `after` are the literals behind the tensor."""

    func: str
    after: tuple[Any, ...] = ()

    def call(self, argument: Expr) -> Call:
        return Call(self.func, (argument, *self.after))

    @property
    def name(self) -> str:
        """What people call it: sin, cast_float32."""
        return "_".join([self.func.rsplit(".", 1)[-1], *map(str, self.after)])

    def to_json(self) -> list[Any]:
        return [self.func, *self.after]

    @staticmethod
    def from_json(data: list[Any]) -> Op:
        return Op(str(data[0]), tuple(data[1:]))


def program_of(ops: Iterable[Op], x: Tensor) -> Program:
    """The chain of ops, innermost first, at an input."""
    statements = [Let(("x",), x)]
    last = "x"
    for number, op in enumerate(ops, 1):
        name = f"y{number}"
        statements.append(Let((name,), op.call(Ref(last))))
        last = name
    return Program(tuple(statements))


def listed(numbers: Iterable[float], dtype: str = "float64") -> Tensor:
    values = tuple(float(n) for n in numbers)
    return Tensor((len(values),), dtype, Values("listed", (values,)))


def candidates(target: Target) -> Iterator[Op]:
    """Calls worth trying, by what functions say of their parameters."""
    for name, function in callables(target.language):
        needed = required(function)
        if needed is None or len(needed) <= 1:
            yield Op(name)
        elif len(needed) == 2 and needed[1] in _DTYPE_PARAMETERS:
            yield from (Op(name, (dtype,)) for dtype in CAST_TO)


def find_ops(target: Target, trying: Callable[[int], bool] = lambda _: True) -> list[Op]:
    """Every op that works elementwise, the first name of each: aliases give the same bits, values and derivatives alike.

    Trying out a call may kill the process: `trying` is told its number before, and says no if it has done so already.
    """
    seen: set[bytes] = set()
    found = []
    for count, op in enumerate(candidates(target)):
        print_of = fingerprint(target, op) if trying(count) else None
        if print_of is not None and print_of not in seen:
            seen.add(print_of)
            found.append(op)
    return found


def fingerprint(target: Target, op: Op) -> bytes | None:
    """Values and derivatives at the probe, as bytes; None unless the op is elementwise."""
    try:
        program = program_of([op], listed(PROBE))
        outputs = target.point(program).first()
        # What is a tuple of tensors, or a plain number, cannot be multiplied, or has no parts. What is not floating is so times the input.
        whole = Item(Ref("y1"), Slice(None, None, None))
        product = Call("*", (Ref("y1"), 1.0)) if outputs else Call("*", (whole, Ref("x")))
        return _bits(target, Program((*program.statements, Let(("y2",), product))))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # whatever a library raises at a call that does not fit
        return None


def _bits(target: Target, program: Program) -> bytes | None:
    x = np.array(PROBE)
    point = target.point(program)
    outputs = point.first()
    if len(outputs) != 1 or outputs[0].shape != x.shape or outputs[0].dtype.kind != "f" or point.random or point.mutates:
        return None
    value = outputs[0]
    if not np.isfinite(value).any():
        return None
    turned = target.point(program, [x[::-1].copy()]).first()[0]
    changed, others = x.copy(), np.ones(x.shape, bool)
    changed[CHANGED], others[CHANGED] = 0.47, False
    kept = target.point(program, [changed]).first()[0]
    if not (_same(turned[::-1], value) and _same(kept[others], value[others])):
        return None
    parts = [value]
    for scenario in (FORWARD, REVERSE):
        try:
            parts.extend(np.asarray(r) for r in point.run(scenario, [Vec([np.ones(x.shape)])], Vec([np.ones(x.shape, value.dtype)])).result)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            refusal: Refusal = target.classify(error)
            parts.append(np.frombuffer(refusal.kind.encode(), np.uint8))
    return b"|".join(p.dtype.str.encode() + p.tobytes() for p in parts)


def _same(a: Array, b: Array) -> bool:
    """Equal up to what a vectorised kernel's tail does differently."""
    return bool(np.allclose(a, b, rtol=1e-6, atol=0.0, equal_nan=True))


def choose(ops: list[Op], globs: Iterable[str]) -> list[Op]:
    """Ops whose short or full name fits one of the globs; all without globs."""
    wanted = list(globs)
    if not wanted:
        return ops
    return [op for op in ops if any(fnmatchcase(op.name, g) or fnmatchcase(op.func, g) for g in wanted)]
