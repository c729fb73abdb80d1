"""Listening to programs that use TensorFlow: calls become seeds that run, and TensorFlow is its own again afterwards."""

import os
import subprocess
import sys

import numpy as np
import tensorflow as tf

import gradfuzz
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import from_json
from gradfuzz.seeds.library import read_jsonl


def test_calls_inside_functions_and_tapes_become_seeds_that_run(tmp_path, tensorflow_target):
    before = tf.nn.softplus

    @tf.function
    def loss(w, x):
        if tf.reduce_sum(x) > 0:  # AutoGraph turns this into a branch: what listens must not be in its way
            return tf.reduce_mean(tf.nn.softplus(tf.matmul(x, w)))
        return tf.reduce_sum(w)

    weights = tf.Variable(np.full((4, 3), 0.25))
    with gradfuzz.record(tmp_path / "seeds.jsonl", target="tensorflow") as recording:
        for _ in range(2):
            with tf.GradientTape() as tape:
                value = loss(weights, tf.ones((5, 4), tf.float64))
            tape.gradient(value, weights)
    assert tf.nn.softplus is before
    seeds = read_jsonl(tmp_path / "seeds.jsonl")
    assert recording.count == len(seeds)
    assert {"tf.matmul", "tf.nn.softplus", "tf.reduce_mean"} <= {seed.api for seed in seeds}
    (product,) = [from_json(seed.program) for seed in seeds if seed.api == "tf.matmul"]
    assert [recipe.shape for recipe in product.inputs.values()] == [(5, 4), (4, 3)]
    assert examine(tensorflow_target, product, Options(order=1)).outcome == "agree"


def test_contents_are_kept_only_when_asked_for(tmp_path):
    for contents in (False, True):
        with gradfuzz.record(tmp_path / "seeds.jsonl", "tensorflow", contents):
            tf.sin(np.array([0.125, 0.75]))
        assert ("0.125" in (tmp_path / "seeds.jsonl").read_text()) is contents


def test_a_call_that_a_program_cannot_say_is_left_out(tmp_path):
    with gradfuzz.record(tmp_path / "seeds.jsonl", "tensorflow") as recording:
        tf.map_fn(lambda row: row * 2, np.ones((2, 2)))
    assert recording.count == 0


def test_the_command_records_a_script(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import tensorflow as tf\nmodel = tf.keras.layers.Dense(2, activation='tanh')\nprint(model(tf.ones((3, 4))).shape)\n")
    command = [
        sys.executable,
        "-m",
        "gradfuzz",
        "record",
        "--target",
        "tensorflow",
        "--to",
        str(tmp_path / "s.jsonl"),
        "--",
        sys.executable,
    ]
    env = {**os.environ, "PYTHONPATH": gradfuzz.__file__.rsplit("/", 2)[0]}
    done = subprocess.run([*command, str(script)], capture_output=True, text=True, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert "(3, 2)" in done.stdout
    recorded = {seed.api.rsplit(".", 1)[-1] for seed in read_jsonl(tmp_path / "s.jsonl")}
    assert {"matmul", "tanh"} & recorded, recorded
