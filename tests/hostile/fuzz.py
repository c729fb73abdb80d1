"""Random inputs for the parser and the JSON gate, as many as there is time for: `python -m tests.hostile.fuzz 300` runs five minutes.

With atheris (`pip install atheris`, Linux) the run is guided by what of the two was reached: `python -m tests.hostile.fuzz 300 --guided`.
Whatever comes in, a Program comes out that reads back as itself, or a ProgramError of one line; anything else ends the run with its input.
"""

from __future__ import annotations

import json
import random
import sys
import time
import types
from pathlib import Path
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.program import from_json, gate, parse, to_json, to_text
from gradfuzz.targets.homes import language_for

LANGUAGE = language_for("torch")
HERE = Path(__file__).parent
WORDS = [
    "torch", "F", "nn", "sin", "load", "importlib", "importlib.import_module", "__class__", "__globals__", "numpy", "x", "y",
    "tensor", "normal", "scaled", "float64", "ref", "name", "attr", "item", "slice", "call", "args", "kwargs", "tuple",
    "ellipsis", "complex", "float", "format", "statements", "names", "expr", "shape", "dtype", "values", "kind", "seed", "grad",
    "layout", "structure", "exec", "os", "system", "(", ")", "[", "]", "{", "}", ".", ",", ":", "=", "+", "-", "*", "**", "//",
    "@", "%", "<", "==", "~", "'", "\"", "\\", "#", "\n", "\t", ";", "0", "1", "-1", "1e308", "9999999999999999999999", "true",
    "null", "None", "True", "lambda", "import", "if", "for", ":=", "->", "\x00", "\x1b", "\u202e", "\u0445", "\uff58", "\u00e9",
    "\U0001f600",
]  # fmt: skip


def look(data: Any) -> str:
    """One input through both doors, or through that for data; what became of it."""
    if not isinstance(data, bytes):
        return "as data: " + _door(lambda: gate.check(from_json(data), LANGUAGE))
    text = data.decode("utf-8", "replace")
    outcome = _door(lambda: parse(text, LANGUAGE))
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return outcome
    return outcome + _door(lambda: gate.check(from_json(loaded), LANGUAGE))


def _door(read: Any) -> str:
    try:
        program = read()
    except ProgramError as error:
        assert "\n" not in str(error) and str(error).isprintable(), ascii(str(error))
        return "refused "
    text = to_text(program)
    assert to_text(parse(text, LANGUAGE)) == text
    assert to_text(from_json(json.loads(json.dumps(to_json(program))))) == text
    return "let through "


def starts() -> list[bytes]:
    """What mutation starts from: the corpus, and Programs that are fine."""
    from tests.hostile.grow import GOOD, LAST, changed

    texts = [json.loads(line)["text"] for line in (HERE / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
    changes = [json.loads(line) for line in (HERE / "data.jsonl").read_text(encoding="utf-8").splitlines()][::7]
    fine = [to_text(from_json(GOOD)), 'x = tensor((2, 3), "float64", normal(seed=1))\n' + LAST["torch"]]
    data = [json.dumps(GOOD), *(json.dumps(changed(GOOD, place, value)) for place, value in changes)]
    return [text.encode("utf-8", "replace") for text in [*fine, *texts, *data]]


def mutated(chance: random.Random, pool: list[bytes]) -> bytes:
    """An input with a few small changes: pieces taken out, doubled, put in from elsewhere, single bytes changed."""
    made = bytearray(chance.choice(pool))
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        at, end = sorted(chance.randrange(len(made) + 1) for _ in range(2))
        end = min(end, at + 40)
        what = chance.randrange(6)
        if what == 0:
            del made[at:end]
        elif what == 1:
            made[at:at] = made[at:end] * chance.choice((1, 2, 30))
        elif what == 2:
            made[at:at] = chance.choice(WORDS).encode()
        elif what == 3 and made:
            made[min(at, len(made) - 1)] = chance.randrange(256)
        elif what == 4:
            other = chance.choice(pool)
            start = chance.randrange(len(other) + 1)
            made[at:end] = other[start : start + chance.randrange(60)]
        else:
            made[at:end] = chance.choice(WORDS).encode()
        del made[20_000:]
    return bytes(made)


def shuffled(chance: random.Random, whole: Any, parts: list[Any]) -> Any:
    """A Program's data with parts of it, or of nothing, put where others were."""
    from tests.hostile.grow import changed, places

    for _ in range(chance.choice((1, 1, 2, 3))):
        place, _ = chance.choice(list(places(whole)))
        whole = changed(whole, place, chance.choice(parts) if chance.random() < 0.7 else chance.choice(WORDS))
        if not isinstance(whole, dict):
            break
    return whole


def plain(seconds: float, seed: int = 0) -> dict[str, int]:
    from tests.hostile.grow import GOOD, JUNK, NAMES, places

    chance, pool, seen = random.Random(seed), starts(), dict[str, int]()
    parts, whole = [*JUNK, *NAMES, *(part for _, part in places(GOOD))], [GOOD]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for turn in range(200):
            data: Any = mutated(chance, pool) if turn % 2 else shuffled(chance, chance.choice(whole), parts)
            try:
                outcome = look(data)
            except BaseException:
                print("input:", ascii(data))
                raise
            seen[outcome] = seen.get(outcome, 0) + 1
            if "let through" in outcome and len(pool) < 20_000:
                kept: list[Any] = pool if isinstance(data, bytes) else whole
                kept.append(data)
    return seen


def _functions(package: str) -> list[types.FunctionType]:
    """The functions and methods of a package's modules."""
    modules = [module for name, module in sys.modules.items() if name.startswith(package)]
    owners = [
        *modules,
        *(c for module in modules for c in vars(module).values() if isinstance(c, type) and c.__module__.startswith(package)),
    ]
    found = [f for owner in owners for f in vars(owner).values() if isinstance(f, types.FunctionType) and f.__module__.startswith(package)]
    return list({id(f): f for f in found}.values())


def guided(seconds: float, seed: int = 0) -> None:
    """Guided by what of the parser and the gate was reached: our own code alone, the standard library would only slow it down."""
    import atheris

    folder = HERE / ".found" / str(seed)
    folder.mkdir(exist_ok=True, parents=True)
    for number, start in enumerate(starts()):
        (folder / f"start-{number}").write_bytes(start)
    for function in _functions("gradfuzz.program"):
        atheris.instrument_func(function)
    limits = [f"-max_total_time={int(seconds)}", f"-seed={seed + 1}", "-max_len=4096", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *limits, str(folder)], look)
    atheris.Fuzz()


if __name__ == "__main__":
    budget = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    if "--guided" in sys.argv:
        guided(budget, int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    else:
        began, found = time.monotonic(), plain(budget, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
        count = sum(found.values())
        print(f"{count} inputs in {time.monotonic() - began:.0f} s, {count / (time.monotonic() - began):.0f} a second: {found}")
