"""A program's own JAX calls become seeds: shapes and types, inside transforms too, and nothing of JAX stays changed."""

import jax
import jax.numpy as jnp
import numpy as np

import gradfuzz
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import from_json
from gradfuzz.seeds.library import read_jsonl


def test_calls_inside_transforms_become_seeds_that_run(tmp_path, jax_target):
    before = jnp.tanh
    with gradfuzz.record(tmp_path / "seeds.jsonl", target="jax") as recording:
        for _ in range(2):
            jax.jit(jax.grad(lambda w: jnp.sum(jnp.tanh(jnp.dot(jnp.ones((5, 4)), w)))))(np.full((4, 3), 0.25))
        jnp.add.outer(np.ones(2), np.ones(3))  # a ufunc is still one
    assert jnp.tanh is before
    seeds = read_jsonl(tmp_path / "seeds.jsonl")
    assert recording.count == len(seeds)
    assert {"jax.numpy.dot", "jax.numpy.tanh", "jax.numpy.sum"} <= {seed.api for seed in seeds}
    (dot,) = [from_json(seed.program) for seed in seeds if seed.api == "jax.numpy.dot"]
    assert [recipe.shape for recipe in dot.inputs.values()] == [(5, 4), (4, 3)]
    assert examine(jax_target, dot, Options(order=1)).outcome == "agree"


def test_contents_are_kept_only_when_asked_for(tmp_path):
    x = np.array([0.125, 0.75])
    for contents in (False, True):
        with gradfuzz.record(tmp_path / "seeds.jsonl", target="jax", contents=contents):
            jnp.sin(x)
        assert ("0.125" in (tmp_path / "seeds.jsonl").read_text()) is contents


def test_a_call_that_a_program_cannot_say_is_left_out(tmp_path):
    with gradfuzz.record(tmp_path / "seeds.jsonl", target="jax") as recording:
        jnp.apply_along_axis(lambda row: row * 2, 0, np.ones((2, 2)))
    assert recording.count == 0
