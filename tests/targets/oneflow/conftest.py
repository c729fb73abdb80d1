"""The real OneFlow, with the planted functions allowed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gradfuzz.targets.homes import load_target


@pytest.fixture(scope="session")
def oneflow_target():
    sys.path.insert(0, str(Path(__file__).parent))
    return load_target("oneflow", ("planted_oneflow",))
