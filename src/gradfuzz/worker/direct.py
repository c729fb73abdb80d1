"""The direct run by itself: before a derivative that raises is held against it, it must give the same in two processes.

Each process leaves other numbers in the memory that it hands out, so that an output that nobody has written is another one there. And the
outputs have the shapes that the library infers for them, where it can.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from typing import Any, Optional, cast

from gradfuzz.errors import Poisoned
from gradfuzz.findings.inside.confirm import same_outputs
from gradfuzz.oracles.trial import run_alone
from gradfuzz.program import gate
from gradfuzz.program.codec import from_json
from gradfuzz.program.model import Program
from gradfuzz.targets.base.protocol import Inferring, Target
from gradfuzz.targets.base.scenario import DIRECT
from gradfuzz.worker.wire import packed, unpacked

Shape = Sequence[Optional[int]]
# glibc's mallopt: memory that is freed is filled with this byte, and memory that is handed out with its complement.
M_PERTURB = -6
# Repeated, these bytes and their complements are four numbers of ordinary size in every floating type, no two of them close.
LEFT_BEHIND = (0xBF, 0xC0)


def direct(target: Target, job: dict[str, Any]) -> dict[str, Any]:
    """A Program's direct outputs, and why nothing may be held against them: in words, or nothing.

    `job` has the Program, which of the two processes this is, and of the second what the first one has seen; `random`: other numbers are
    no surprise.
    """
    program = gate.check(from_json(job["program"]), target.language)
    _leave_behind(LEFT_BEHIND[job["turn"]])
    try:
        outputs = run_alone(target, program, DIRECT).outputs
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        refusal = target.classify(error)
        if refusal.kind == "poisoned":
            raise Poisoned from error
        return {"outputs": [], "unsound": f"the direct run raises in another process: {refusal.message[:300]}"}
    return {"outputs": [packed(o) for o in outputs], "unsound": _unsound(target, program, outputs, job)}


def _unsound(target: Target, program: Program, outputs: Sequence[Any], job: dict[str, Any]) -> str:
    shapes, inferred = [o.shape for o in outputs], inferred_shapes(target, program)
    if inferred is not None and not (len(shapes) == len(inferred) and all(map(_fits, shapes, inferred))):
        return f"the direct run gives outputs of shapes {shapes}, and the library infers {[tuple(s) for s in inferred]}"
    if job.get("than") is None:
        return ""
    before = [unpacked(o) for o in job["than"]]
    if [(o.shape, o.dtype) for o in before] != [(o.shape, o.dtype) for o in outputs]:
        return "the direct run gives outputs of other shapes or types in another process"
    return "" if job.get("random") or same_outputs(before, outputs) else "the direct run gives other numbers in another process"


def inferred_shapes(target: Target, program: Program) -> list[Shape] | None:
    """The shapes of the floating outputs as the library infers them; None where it cannot, or nobody has told us how to ask."""
    if not hasattr(target, "inferred"):
        return None
    try:
        return list(cast(Inferring, target).inferred(program))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # what it has no rule for, or what hangs on the numbers
        return None


def _fits(shape: Shape, inferred: Shape) -> bool:
    return len(shape) == len(inferred) and all(wanted in (None, size) for size, wanted in zip(shape, inferred))


def _leave_behind(byte: int) -> None:
    """From now on memory that nobody has written to holds this byte or its complement, where the C library can do that."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(M_PERTURB, byte)
