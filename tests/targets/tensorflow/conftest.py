"""The real TensorFlow, with the planted functions allowed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gradfuzz.targets.homes import load_target

pytest.importorskip("tensorflow")


@pytest.fixture(scope="session")
def tensorflow_target():
    sys.path.insert(0, str(Path(__file__).parent))
    return load_target("tensorflow", ("planted_tensorflow",))


@pytest.fixture(autouse=True)
def own_precision():
    """The target's setting of the whole process, for these tests only: others in this process start from Keras' own."""
    import tensorflow as tf

    yield
    tf.keras.backend.set_floatx("float32")
    tf.keras.mixed_precision.set_global_policy("float32")
