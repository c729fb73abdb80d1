"""A function of one number at many numbers: its value and its derivatives in each pure mode, nothing judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradfuzz.oracles.verdict import RANK
from gradfuzz.program.codec import from_json
from gradfuzz.targets.base.protocol import Target, Vec
from gradfuzz.targets.base.scenario import MODE_NAMES, Scenario, pure
from gradfuzz.worker.progress import Progress

MOST_ORDER = 2


def tabulate(target: Target, job: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Rows start … of the points: {mode: [value, first, second]}, with None where the library refuses."""
    program = from_json(job["program"])
    (recipe,) = program.inputs.values()
    rows = []
    for index in range(job["start"], job["count"]):
        progress.write(job["id"], index, [0] * len(RANK))
        x = np.asarray(job["points"][index], recipe.dtype)
        rows.append([index, _row(target, program, x)])
    return {"rows": rows, "counts": [0] * len(RANK), "cpu": 0.0}


def _row(target: Target, program: Any, x: Any) -> dict[str, list[float | None]]:
    found: dict[str, list[float | None]] = {}
    try:
        with np.errstate(all="ignore"):
            point = target.point(program, [x])
            value = point.first()[0]
            found["direct"] = [float(value)]
            one, weight = Vec([np.ones(())]), Vec([np.ones((), value.dtype)])
            for mode, name in MODE_NAMES.items():
                numbers: list[float | None] = [None]
                for order in range(1, MOST_ORDER + 1):
                    numbers.append(_number(point, pure(mode, order), one, weight))
                found[name] = numbers
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # whatever the library raises at this point
        return found
    return found


def _number(point: Any, scenario: Scenario, one: Vec, weight: Vec) -> float | None:
    try:
        return float(np.asarray(point.run(scenario, [one] * scenario.order, weight).result[0]))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None
