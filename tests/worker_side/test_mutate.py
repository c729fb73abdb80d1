"""Edits are data: they replay, they can be left out, and shrinking keeps what was asked for."""

import random
from dataclasses import replace

from gradfuzz.findings.inside.shrink import candidates, shrink_edits, shrink_program, singles
from gradfuzz.mutate.draw import draw_edits
from gradfuzz.mutate.edits import Edit, apply_all
from gradfuzz.program import parse, to_text
from gradfuzz.program.model import Values
from gradfuzz.program.values import materialise
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.drawing import Drawing

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


def test_what_is_said_to_be_real_does_not_become_complex():
    to_complex = [Edit("dtypes", None, "complex128")]
    assert {r.dtype for r in apply_all(SEED, to_complex).inputs.values()} == {"complex128"}
    positive = SEED.with_inputs({"a": replace(SEED.inputs["a"], structure="positive")})
    assert apply_all(positive, to_complex) == positive
    assert {r.dtype for r in apply_all(positive, [Edit("dtypes", None, "float32")]).inputs.values()} == {"float32"}


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


def shrunk(text, shows, api=""):
    return shrink_program(parse(text, language_for("torch")), shows, lambda: True, api)


def test_numbers_become_ordinary_ones_and_zero_only_where_nothing_else_shows_it():
    text = 'x = tensor((3,), "float64", planted(uniform(-9.0, 9.0, seed=1), 0.0, 2))\ny = torch.sin(x)\n'
    assert shrunk(text, lambda p: len(p.inputs["x"].shape) == 1).inputs["x"].values == Values("full", (2.0,))
    assert shrunk(text, lambda p: p.inputs["x"].elements == 3).inputs["x"].values == Values("arange", (1.0, 1.0))

    def at_zero(program):
        return bool((materialise(program.inputs["x"]) == 0).any()) and program.inputs["x"].elements == 3

    numbers = materialise(shrunk(text, at_zero).inputs["x"])
    assert sorted(numbers.tolist()) in ([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 2.0])


def test_nothing_empty_and_no_infinite_argument_stays_that_is_not_needed():
    text = 'x = tensor((0, 2), "float64", full(0.0))\ny = torch.nn.functional.softplus(x, beta=float("inf"))\n'
    small = shrunk(text, lambda p: any(call.kwargs for call in p.calls()))
    assert all(small.inputs["x"].shape) and dict(next(small.calls()).kwargs)["beta"] == 2.0
    needed = shrunk(text, lambda p: any(dict(call.kwargs).get("beta") == float("inf") for call in p.calls()) and not p.inputs["x"].elements)
    assert dict(next(needed.calls()).kwargs)["beta"] == float("inf") and not needed.inputs["x"].elements


def test_the_api_that_a_finding_is_named_after_is_still_called():
    text = 'x = tensor((2,), "float64", full(1.0))\na = torch.sin(x)\ny = torch.exp(a)\n'
    assert [c.func for c in shrunk(text, lambda p: True, "torch.exp").calls()] == ["torch.exp"]
    assert [c.func for c in shrunk(text, lambda p: True, "torch.Tensor.exp").calls()] == ["torch.exp"]
    assert [c.func for c in shrunk(text, lambda p: True, "torch.cos").calls()] == ["torch.sin"]  # never was there


def test_families_of_what_keeps_layouts_differ_in_them():
    """What compiles now and then compiles for the layouts that it is given; what always compiles chooses its own."""
    seed = parse('x = tensor((2, 3, 4, 5), "float64", normal(seed=1))\ny = torch.exp(x)\n', language_for("torch"))
    drawn = {layouts: [Drawing(seed, f"{n}", 9, layouts=layouts) for n in range(60)] for layouts in (True, False)}
    kinds = {layouts: [{e.kind for e in d.edits(9)} for d in made] for layouts, made in drawn.items()}
    assert sum("layout" in k for k in kinds[True]) >= 6 and not any("layout" in k for k in kinds[False])
    for made in drawn[True]:
        assert len({str([e for e in made.edits(n) if e.kind == "layout"]) for n in range(9, 18)}) == 1  # the whole family's
        assert not any(e.kind == "layout" for n in range(9) for e in made.edits(n))  # the first keeps the seed's own


def test_the_numbers_of_one_element_stand_for_all_as_broadcasting_has_them():
    text = 'x = tensor((2, 3), "float64", arange(0.0, 1.0))\na = tensor((3,), "float64", arange(7.0, 1.0))\ny = torch.mul(x, a)\n'
    program = parse(text, language_for("torch"))

    def numbers(element):
        alone = [*singles(program, element)]
        assert all(recipe.shape == () for single in alone for recipe in single.inputs.values())
        return [tuple(float(materialise(single.inputs[name])) for name in "xa") for single in alone]

    assert numbers("x[1, 2]") == [(5.0, 9.0)] and numbers("a[1]") == [(0.0, 8.0)]
    assert numbers(None) == [(0.0, 7.0), (1.0, 8.0), (2.0, 9.0), (3.0, 7.0), (4.0, 8.0), (5.0, 9.0)]


def test_what_has_no_such_element_is_left_as_it_is():
    for shape, values in (((), "full(1.0)"), ((0,), "full(1.0)"), ((2,), 'full(float("inf"))')):
        assert not [*singles(parse(f'x = tensor({shape}, "float64", {values})\ny = torch.sin(x)\n', language_for("torch")), "x[]")]
    symmetric = parse('x = tensor((2, 2), "float64", normal(seed=1), structure="symmetric")\ny = torch.sin(x)\n', language_for("torch"))
    assert not [*singles(symmetric, None)]
