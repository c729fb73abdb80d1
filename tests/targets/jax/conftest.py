"""The real JAX, with the planted functions allowed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gradfuzz.targets.homes import load_target

pytest.importorskip("jax")


@pytest.fixture(scope="session")
def jax_target():
    sys.path.insert(0, str(Path(__file__).parent))
    return load_target("jax", ("planted_jax",))


@pytest.fixture(autouse=True)
def double_precision():
    """The target's setting of the whole process, for these tests only: others in this process start from JAX's own."""
    import jax

    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)
