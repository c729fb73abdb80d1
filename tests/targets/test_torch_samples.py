"""Seeds from the library's own samples."""

import subprocess
import sys

import pytest

from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import from_json, to_json, to_text

pytestmark = pytest.mark.slow  # all of them are read, in one process


@pytest.fixture(scope="module")
def seeds(torch_target):
    return list(torch_target.seeds())


def test_most_operators_and_modules_give_seeds(seeds):
    assert len(seeds) > 4000
    assert len({s.source.split(":")[1] for s in seeds if s.source.startswith("op_db")}) > 500
    assert len({s.api for s in seeds if s.source.startswith("module_db")}) > 100


def test_structure_wrappers_are_honoured(seeds):
    structures = {(s.api, r.structure) for s in seeds for r in s.program.inputs.values() if r.structure}
    assert ("torch.linalg.cholesky", "positive_definite") in structures
    assert ("torch.linalg.eigh", "symmetric") in structures


def test_no_seed_is_huge(seeds):
    assert max(sum(r.elements for r in s.program.inputs.values()) for s in seeds) <= 20_000


def test_seeds_travel_as_json(seeds):
    for seed in seeds[::50]:
        assert to_text(from_json(to_json(seed.program))) == to_text(seed.program)


def test_seeds_run(seeds, torch_target):
    outcomes = [examine(torch_target, s.program, Options(order=1)).outcome for s in seeds[::25]]
    assert sum(o == "invalid" for o in outcomes) <= 0.01 * len(outcomes)


def test_the_samples_are_read_without_expecttest():
    code = (
        "import sys; sys.modules['expecttest'] = None\n"
        "from gradfuzz.targets.torch.samples import _stand_in_for_expecttest as stand_in\n"
        "stand_in()\n"
        "from torch.testing._internal.common_methods_invocations import op_db\n"
        "print(len(op_db))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and int(done.stdout.split()[-1]) > 500, done.stderr
