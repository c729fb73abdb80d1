"""A value that has killed a worker, by a crash or a hang, kills no other in the same batch, in whatever company; others are tried."""

import numpy as np
import pytest

from gradfuzz.engine.survey import Task
from gradfuzz.mutate.cover import Cover
from gradfuzz.program.codec import to_json
from gradfuzz.program.parse import parse
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.batch import run_batch
from gradfuzz.worker.depth import Depth
from gradfuzz.worker.drawing import Drawing
from gradfuzz.worker.progress import Progress
from tests.worker_side.numpy_library import NumpyTarget

PROGRAM = parse(
    'x = tensor((4,), "float64", normal(seed=1))\ny = tensor((4,), "float64", normal(seed=2))\nz = torch.mul(x, y)\n', language_for("torch")
)


class Dies(SystemExit):
    """What stands in for the end of a worker: nobody below the batch may take it for an answer of the library."""


def product(x, y):
    if x.size and not x.any():
        raise Dies
    return np.asarray(x * y)


def slopes(x, y):
    if x.shape != y.shape:
        raise NotImplementedError("shapes that differ")
    return [np.diag(y.ravel()), np.diag(x.ravel())]


@pytest.mark.parametrize("family", [1, 16])
def test_what_is_deadly_alone_is_not_tried_in_company(tmp_path, family):
    target = NumpyTarget(product, slopes)
    target.family, target.steady_rules, target.parameters, target.forget = family, True, lambda func: [], lambda: None
    drawing = Drawing(PROGRAM, "0", family, cover=Cover())
    names = [name for factor in drawing.design.factors for name, _ in factor.levels]
    zeros = names.index("zeros")  # those of x
    rows = []
    while len(rows) < 200 and (row := drawing.row(len(rows))) is not None:
        rows.append(row)
    count = 4 + max(index for index, row in enumerate(rows) if zeros in row and len(row) == 2)
    progress = Progress(str(tmp_path / "progress"))
    task = Task("batch", {"program": to_json(PROGRAM), "api": "torch.mul", "rng": "0", "weights": {}, "id": 1,
                          "depth": Depth().to_json(), "cover": Cover().to_json()}, count)  # fmt: skip
    died = []
    while True:
        try:
            run_batch(target, {**task.fields, "start": task.start, "count": task.count}, progress, lambda suspicion: None)
            break
        except Dies:
            _, index, _ = progress.read()
            died.append(rows[index])
            task = task.knowing(progress.fates(index), index).beyond(index)
    assert died.count((zeros,)) == 1 and not any(zeros in row and len(row) > 1 for row in died)
    fates = progress.fates(count)
    tried = [row for row, fate in zip(rows, fates) if fate in "123"]
    assert sum(zeros in row for row in rows[:count]) > 2  # there was company to try it in
    assert any(len(row) == 2 for row in tried)  # and other company was
