"""Seeds from the inputs that JAX tests its own primitives with. They ship inside the library; reading them needs absl-py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradfuzz.errors import ProgramError
from gradfuzz.program.language import Language
from gradfuzz.program.model import Program
from gradfuzz.targets.jax.transcribe import Transcriber

PER_GROUP = 6
TRIES = 24
FLOATING = ("float64", "float32", "complex128", "complex64")


def harness_programs(language: Language) -> Iterator[tuple[str, Program]]:
    """(name, Program) from each group of harnesses; nothing where they or absl-py are missing."""
    try:
        from jax._src.internal_test_util.test_harnesses import all_harnesses
    except (ImportError, SystemExit):
        return
    groups: dict[str, list[Any]] = defaultdict(list)
    for harness in all_harnesses:
        if str(np.dtype(harness.dtype)) in FLOATING and harness.filter("cpu"):
            groups[harness.group_name].append(harness)
    transcriber = Transcriber(language)
    for group, harnesses in groups.items():
        found = 0
        stride = max(1, len(harnesses) // TRIES)
        for harness in harnesses[::stride]:
            if found >= PER_GROUP:
                break
            try:
                program = transcriber.transcribe(harness.dyn_fun, harness.dyn_args_maker(np.random.RandomState(0)))
            except (ProgramError, TypeError, ValueError, NotImplementedError, KeyError, AttributeError, AssertionError):
                continue
            found += 1
            yield f"{group}:{harness.name}", program
