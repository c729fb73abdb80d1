"""Reading the library's own seeds, a shard at a time: APIs that are kin are in one shard, whoever reads it."""

from __future__ import annotations

import json
from typing import Any

from gradfuzz.oracles.verdict import RANK
from gradfuzz.program.codec import to_json
from gradfuzz.targets.base.protocol import Target
from gradfuzz.targets.base.seeds import shard_of
from gradfuzz.worker.progress import Progress


def read_shard(target: Target, job: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Append the seeds of one shard to a file, one JSON object a line.

    Each API that is tried counts as one item: where one kills this process, the next goes on behind it. Those before it have been
    written; `deadly` ones are never tried.
    """
    tried, found = -1, 0

    def note() -> None:
        progress.write(job["id"], max(0, tried), [found, *[0] * (len(RANK) - 1)])

    def trying(api: str, kin: str = "") -> bool:
        nonlocal tried
        if shard_of(api, kin) != job["shard"]:
            return False
        tried += 1
        if tried < job["start"] or api in job["deadly"]:
            return False
        with open(job["path"] + ".trying", "w", encoding="utf-8") as file:
            file.write(api)
        note()
        return True

    with open(job["path"], "a", encoding="utf-8") as file:
        for seed in target.seeds(trying):
            row = {"api": seed.api, "source": seed.source, "program": to_json(seed.program), "reached": list(seed.reached)}
            file.write(json.dumps({**row, "spare": seed.spare}) + "\n")
            file.flush()  # whole lines: the next API may end this process
            found += 1
            note()
    return {"count": found}
