"""Edits are data: they replay, they can be left out, and shrinking keeps what was asked for."""

import random

from gradfuzz.findings.inside.shrink import candidates, shrink_edits, shrink_program
from gradfuzz.mutate.draw import draw_edits
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.program import parse, to_text
from gradfuzz.targets.homes import language_for

SEED = parse(
    """x = tensor((5, 5), "float64", uniform(-1.0, 1.0, seed=1))
a = tensor((5, 5), "float64", normal(seed=2))
y = torch.addcmul(x, a, x, value=0.5)
""",
    language_for("torch"),
)


def test_the_same_chance_draws_the_same_mutant():
    for number in range(200):
        first = draw_edits(SEED, random.Random(f"0:{number}"))
        again = [Edit.from_json(e.to_json()) for e in draw_edits(SEED, random.Random(f"0:{number}"))]
        assert to_text(apply_all(SEED, first)) == to_text(apply_all(SEED, again))


def test_most_kinds_of_edit_are_drawn():
    kinds = {e.kind for n in range(2000) for e in draw_edits(SEED, random.Random(n))}
    assert {"values", "dtypes", "dtype", "layout", "size", "shape", "batch", "grad", "argument", "drop_keyword", "same_tensor"} <= kinds


def test_any_edit_may_be_left_out():
    for number in range(300):
        edits = draw_edits(SEED, random.Random(number))
        for index in range(len(edits)):
            apply_all(SEED, edits[:index] + edits[index + 1 :])


def test_edits_that_the_bug_does_not_need_are_dropped():
    edits = [Edit("size", 5, 3), Edit("layout", "x", "transposed"), Edit("dtype", "a", "float32")]
    kept = shrink_edits(SEED, edits, lambda p: p.inputs["x"].layout == "transposed")
    assert kept == [edits[1]]


def test_shrinking_ends_at_something_small_that_still_shows_it():
    def shows(program):
        return "a" in program.inputs and any(n >= 2 for n in program.inputs["a"].shape)

    smallest = shrink_program(SEED, shows, lambda: True)
    assert shows(smallest)
    assert sum(r.elements for r in smallest.inputs.values()) <= 4
    assert not any(shows(c) for c in candidates(smallest))
