"""What the benchmarks share."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import gettempdir

from gradfuzz.program import from_json, to_json
from gradfuzz.targets.protocol import SeedProgram


def operator_seeds(target) -> list[SeedProgram]:
    """PyTorch's own operator samples as seeds, kept in the temporary folder between benchmarks."""
    cache = Path(gettempdir()) / f"gradfuzz-bench-seeds-{target.name}-{target.version}.json"
    if cache.exists():
        rows = json.loads(cache.read_text())
        return [SeedProgram(from_json(r["program"]), r["source"], r["api"]) for r in rows]
    seeds = [s for s in target.seeds() if s.source.startswith("op_db")]
    cache.write_text(json.dumps([{"program": to_json(s.program), "source": s.source, "api": s.api} for s in seeds]))
    return seeds


def library_seeds(target) -> list[str]:
    """The API of every seed that the target's own library gives."""
    return [seed.api for seed in target.seeds()]
