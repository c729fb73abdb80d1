"""Seeds from the installed TensorFlow alone: operator definitions, signatures, docstrings, written Programs, and the recorder."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gradfuzz
from gradfuzz.program import parse, to_text
from gradfuzz.targets.base.docstrings import examples
from gradfuzz.targets.tensorflow.api import callables
from gradfuzz.targets.tensorflow.probing import attempts
from gradfuzz.targets.tensorflow.samples import surface, tried, works, written
from gradfuzz.targets.tensorflow.transcribe import NotAProgram, Transcriber


def test_the_surface_has_callables_of_every_room_each_once_and_nothing_dangerous(tensorflow_target):
    found = list(callables(tensorflow_target.language))
    paths = {path for path, _ in found}
    wanted = {"tf.nn.relu", "tf.raw_ops.Conv2D", "tf.linalg.expm", "tf.signal.stft", "tf.keras.layers.LSTM", "tf.experimental.numpy.cross"}
    assert wanted <= paths and len(paths) == len({id(value) for _, value in found}) > 1500
    outside = ("ReadFile", "WriteFile", "PyFunc", "EagerPyFunc", "SaveV2", "Abort", "CollectiveReduce", "QueueDequeueV2", "IteratorGetNext")
    assert not paths & {f"tf.raw_ops.{name}" for name in outside}
    assert not any(path.endswith((".py_function", ".load_op_library", ".stop_gradient", ".set_seed", ".print")) for path in paths)


@pytest.mark.parametrize(
    "path",
    [
        "tf.math.atan2",
        "tf.linalg.solve",
        "tf.keras.layers.LayerNormalization",
        "tf.keras.losses.MeanSquaredError",
        "tf.linalg.LinearOperatorDiag",
    ],
)
def test_a_signature_is_enough_for_a_seed(tensorflow_target, path):
    tries = list(attempts(path, tensorflow_target.compiler.resolve(path)))[:24]
    assert any(works(tensorflow_target, parse(text, tensorflow_target.language)) for _, texts in tries for text in texts)


@pytest.mark.parametrize("name", ["Sum", "BiasAdd", "LRN", "Split", "MatrixTriangularSolve", "UnsortedSegmentSum"])
def test_an_operators_definition_is_enough_for_a_seed(tensorflow_target, name):
    path = f"tf.raw_ops.{name}"
    tries = list(attempts(path, tensorflow_target.compiler.resolve(path)))
    assert any(works(tensorflow_target, parse(text, tensorflow_target.language)) for _, texts in tries for text in texts)


def test_every_written_program_runs(tensorflow_target):
    programs = [parse(text, tensorflow_target.language) for text in written()]
    assert [to_text(p) for p in programs if tried(tensorflow_target, p, must_move=False) != "works"] == []


def test_the_single_argument_operators_are_among_the_seeds():
    names = """abs acos asin atan ceil conj cos digamma erf erfc exp floor is_finite is_inf is_nan lgamma log log1p negative reciprocal rint
        round rsqrt sigmoid sign sin sqrt square tan tanh to_bfloat16 to_double to_float to_int32 to_int64"""
    text = "\n".join(written())
    assert [name for name in names.split() if f"tf.math.{name}(" not in text and f"tf.compat.v1.{name}(" not in text] == []


def test_what_does_not_move_or_has_no_derivative_is_no_seed(tensorflow_target):
    text = 'x = tensor((4,), "float64", normal(seed=1))\ny = {}(x)'
    assert not works(tensorflow_target, parse(text.format("tf.math.floor"), tensorflow_target.language))
    assert works(tensorflow_target, parse(text.format("tf.math.sinh"), tensorflow_target.language))
    assert not any(path == "tf.raw_ops.Floor_" or path == "tf.raw_ops.Equal" for path in surface(tensorflow_target))


def test_a_docstring_becomes_a_program_whose_arrays_are_inputs(tensorflow_target):
    doc = """An example.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 4.5]])
    >>> tf.linalg.inv(x)
    <tf.Tensor: ...>
    >>> open("/etc/passwd").read()
    """
    texts = [to_text(p) for p in examples(doc, tensorflow_target.compiler)]
    assert any("tf.linalg.inv(x0)" in text and "tensor((2, 2)" in text for text in texts)
    assert not any("passwd" in text for text in texts)


def test_the_recorder_reads_operators_off_a_function(tensorflow_target):
    import tensorflow as tf

    arguments = [np.linspace(0.1, 0.8, 6).reshape(2, 3), np.linspace(0.2, 0.7, 6).reshape(3, 2)]
    program = Transcriber(tensorflow_target.language).transcribe(lambda x, y: tf.reduce_sum(tf.sin(x) @ y, axis=0), arguments)
    assert [call.func for call in program.calls() if "raw_ops" in call.func] == ["tf.raw_ops.Sin", "tf.raw_ops.MatMul", "tf.raw_ops.Sum"]
    assert works(tensorflow_target, parse(to_text(program), tensorflow_target.language))


def test_the_recorder_refuses_what_would_lose_a_gradient(tensorflow_target):
    import tensorflow as tf

    with pytest.raises(NotAProgram):
        Transcriber(tensorflow_target.language).transcribe(tf.nn.silu, [np.ones(3)])


def test_something_that_kills_the_process_is_passed_over(tmp_path):
    code = """
import json, os
from gradfuzz.targets.tensorflow.forked import in_forks
def work(n):
    yield n
    if n == 3:
        os.abort()
    yield -n
print(json.dumps(list(in_forks([1, 2, 3, 4], work))))
"""
    env = {**os.environ, "PYTHONPATH": gradfuzz.__file__.rsplit("/", 2)[0]}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert json.loads(done.stdout) == [1, -1, 2, -2, 3, 4, -4], done.stderr
