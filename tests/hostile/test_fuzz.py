"""Whatever comes in, a Program or a ProgramError comes out: random JSON, Programs with something changed, random text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradfuzz.errors import ProgramError
from gradfuzz.program import from_json, gate, parse, to_text
from gradfuzz.targets.homes import language_for
from tests.hostile.fuzz import WORDS, look, plain
from tests.hostile.grow import GOOD, changed, places

TORCH = language_for("torch")

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(WORDS)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)
somewhere = st.sampled_from([place for place, _ in places(GOOD)])


def read(data: Any) -> None:
    try:
        program = gate.check(from_json(data), TORCH)
    except ProgramError as error:
        assert str(error).isprintable()
    else:
        assert to_text(parse(to_text(program), TORCH)) == to_text(program)


@settings(max_examples=1000, deadline=None)
@given(anything)
def test_any_json(data):
    read(data)
    read({"format": 1, "statements": data})
    read({"format": 1, "statements": [{"names": ["y"], "expr": data}]})


@settings(max_examples=1500, deadline=None)
@given(somewhere, anything)
def test_a_program_with_anything_anywhere(place, value):
    read(changed(GOOD, place, value))


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=25), st.sampled_from(["", " "]))
def test_any_text(words, between):
    for text in (between.join(words), "x = tensor((2,), 'float64', normal(seed=1))\ny = " + between.join(words)):
        try:
            parse(text, TORCH)
        except ProgramError as error:
            assert str(error).isprintable()


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data):
    look(data)
    look(json.dumps(GOOD).encode()[: len(data)] + data)


def test_mutants_of_the_corpus():
    assert plain(3.0, seed=1)


def test_what_was_found_once():
    """Data that could say more than text: something other than a variable is called."""
    item = {"call": "()", "args": [{"item": [{"ref": "x"}, "sum"]}, 1]}
    with pytest.raises(ProgramError, match="can be called"):
        gate.check(from_json(changed(GOOD, ["statements", 1, "expr"], item)), TORCH)
