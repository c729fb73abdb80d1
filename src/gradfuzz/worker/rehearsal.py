"""What every fresh worker reads of a library before it can look into a suspicion, read once for all of them."""

from __future__ import annotations

import contextlib

from gradfuzz.findings.inside.calls import is_compiled, remember_text
from gradfuzz.findings.inside.controls import parameter_names
from gradfuzz.findings.inside.documented import documented, undocumented
from gradfuzz.findings.inside.neighbours import shares_of_one
from gradfuzz.findings.inside.public import public
from gradfuzz.program import gate
from gradfuzz.program.parse import parse
from gradfuzz.targets.base.protocol import Target
from gradfuzz.worker.environment import environment


def rehearse(target: Target) -> None:
    """Patterns of names, docstrings and who is called like whom are looked up for the smoke test: what is remembered of them every fork
    inherits. Nothing is computed, since a library's runtime need not survive a fork."""
    with contextlib.suppress(Exception):  # whatever a library makes of it, workers will hear for themselves
        program = gate.check(parse(target.smoke_test(), target.language), target.language)
        documented(target, program.api)
        undocumented(target, program.api, program)
        parameter_names(target, program)
        shares_of_one(target, program)
        public(target, program.api, program, lambda _: False)
        target.classify(RuntimeError())
        if not is_compiled(program.api, target.language):  # its functions are Python's: each finding asks who calls whom
            remember_text(target.language)
    environment()
