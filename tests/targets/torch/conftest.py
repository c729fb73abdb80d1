"""PyTorch with the bugs that are planted in its ways."""

import sys

import pytest

from gradfuzz.targets.homes import load_target
from tests.conftest import PLANTED


@pytest.fixture(scope="module")
def target():
    sys.path.insert(0, str(PLANTED))
    return load_target("torch", ("planted_ways",))
