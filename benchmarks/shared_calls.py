"""Write src/gradfuzz/targets/base/calls.json: calls by the names that libraries share, after PyTorch's samples for its operators.

python benchmarks/shared_calls.py

A library whose function has the same name and the same parameters is tried with these. Only Programs of one call are taken, in double
precision, two of each function: the first, and one with other arguments.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import gradfuzz
from gradfuzz.program.model import Name, walk
from gradfuzz.program.text import to_text
from gradfuzz.targets.homes import load_target
from gradfuzz.targets.torch.samples import sample_seeds

PER_API = 2
MOST_ELEMENTS = 256
LONGEST = 600  # characters of text
PLAIN = re.compile(r"torch\.((nn\.functional|linalg|fft|special)\.)?[a-z]\w*$")
WHERE = Path(gradfuzz.__file__).parent / "targets" / "base" / "calls.json"


def fits(program) -> bool:
    calls = list(program.calls())
    if len(calls) != 1 or not PLAIN.match(calls[0].func) or program.statements[-1].names == ():
        return False
    if any(isinstance(node, Name) for statement in program.statements for node in walk(statement.value)):
        return False
    inputs = program.inputs.values()
    return all(
        r.dtype in ("float64", "complex128", "int64", "bool") and r.layout == "contiguous" and r.elements <= MOST_ELEMENTS for r in inputs
    )


def main() -> None:
    found: dict[str, dict[tuple[object, ...], str]] = {}
    for seed in sample_seeds(load_target("torch")):
        program = seed.program
        if not fits(program):
            continue
        (call,) = program.calls()
        text = to_text(program).replace("torch.", "library.")
        if len(text) > LONGEST:
            continue
        name = call.func.partition(".")[2]
        # Calls that differ in more than their numbers: how many arguments, which options.
        form = (len(call.args), tuple(key for key, _ in call.kwargs))
        kept = found.setdefault(name, {})
        if len(kept) < PER_API:
            kept.setdefault(form, text)
    about = "Calls by the names that libraries share; `library` stands for the library. Written by benchmarks/shared_calls.py."
    data = {"about": about, "calls": {name: list(kept.values()) for name, kept in sorted(found.items())}}
    WHERE.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(f"{sum(map(len, found.values()))} calls of {len(found)} functions")


if __name__ == "__main__":
    main()
