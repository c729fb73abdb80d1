"""What the benchmarks share."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import gettempdir

from gradfuzz.program import from_json, to_json
from gradfuzz.targets.base.protocol import SeedProgram


def operator_seeds(target) -> list[SeedProgram]:
    """All of PyTorch's operator samples as Programs (the operator itself, not its method and in-place forms).

    A campaign takes ten samples an operator; here it is all of them, so that the choice is PyTorch's and not ours. Reading them takes
    a minute, so they are kept in the temporary folder between benchmarks.
    """
    from gradfuzz.targets.torch import samples

    cache = Path(gettempdir()) / f"gradfuzz-bench-{target.name}-{target.version}.json"
    if not cache.exists():
        samples.SAMPLES_PER_OPERATOR = 1_000_000
        seeds = [s for s in samples.sample_seeds(target) if s.source.startswith("op_db:") and s.source.count(":") == 1]
        cache.write_text(json.dumps([{"program": to_json(s.program), "source": s.source, "api": s.api} for s in seeds]))
    rows = json.loads(cache.read_text())
    return [SeedProgram(from_json(r["program"]), r["source"], r["api"]) for r in rows]


def library_seeds(target) -> list[str]:
    """The API of every seed that the target's own library gives."""
    return [seed.api for seed in target.seeds()]
