"""What the tests share: the real PyTorch, and a cache of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradfuzz.targets.homes import load_target

HERE = Path(__file__).parent
PLANTED = HERE / "planted"


@pytest.fixture(scope="session")
def torch_target():
    """PyTorch with the planted bugs' module allowed."""
    import sys

    sys.path.insert(0, str(PLANTED))
    return load_target("torch", ("planted_torch",))


@pytest.fixture
def planted_path(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run where the planted bugs can be imported from."""
    monkeypatch.chdir(PLANTED)
    return PLANTED


def pytest_configure() -> None:
    os.environ.setdefault("COLUMNS", "200")
