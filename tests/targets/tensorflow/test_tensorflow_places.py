"""Where in TensorFlow an error was raised."""

import pytest
import tensorflow as tf
from tensorflow.python.eager import context, execute

from gradfuzz.targets.tensorflow.places import place_of


def raised(run):
    with pytest.raises(Exception) as caught:  # whatever TensorFlow raises
        run()
    return place_of(caught.value)


def test_what_runs_operators_is_no_place():
    assert raised(lambda: execute.quick_execute(b"NoSuchOperator", 1, [], (), context.context())) == ""


def test_a_function_of_the_library_is():
    assert raised(lambda: tf.linalg.norm(tf.ones(2), ord="neither")) == "tensorflow.python.ops.linalg_ops.norm"
