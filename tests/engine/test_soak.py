"""The short form of benchmarks/soak.py: nothing grows."""

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parent.parent.parent / "benchmarks" / "soak.py"


@pytest.mark.slow
def test_neither_the_driver_nor_its_workers_grow():
    done = subprocess.run([sys.executable, str(SOAK), "torch", "2m", "--least", "20"], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
