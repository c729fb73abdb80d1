"""Covering designs: every value, then every pair, whatever is refused on the way."""

from itertools import combinations, islice, takewhile

import numpy as np
import pytest

from gradfuzz.mutate.cover import ENDS, FIRST_WIDTH, WIDTH, Cover, Design
from gradfuzz.mutate.edits import apply_all
from gradfuzz.program.parse import parse
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.protocol import Parameter
from gradfuzz.targets.homes import language_for
from gradfuzz.worker.drawing import Drawing

PROGRAM = parse(
    'x = tensor((3, 4), "float64", normal(seed=1))\nw = tensor((3, 4), "float64", normal(seed=2))\n'
    "y = torch.nn.functional.huber_loss(x, w, delta=0.5)\n",
    language_for("torch"),
)


def menu(func):
    tensors = (Parameter("input", "tensor", True), Parameter("target", "tensor", True))
    return [(*tensors, Parameter("reduction", "str", False, default="mean", words=("none", "mean", "sum")))] if "huber" in func else []


def followed(family, refuses, batches=400, rows_in_a_batch=32):
    """Follow a design batch by batch, as a campaign does; what it knows in the end, and all rows that were run."""
    known, ran = Cover(), [()]
    for _ in range(batches):
        design = Design(PROGRAM, menu, known, family)
        rows = [row for members in design.families() for row in members][1:]  # the seed itself has been looked at
        if not rows:
            break
        for row in rows[:rows_in_a_batch]:
            ran.append(row)
            known |= design.met(row, not refuses(row))
    return design, known, ran


def test_all_kinds_of_things_are_varied():
    names = {factor.name for factor in Design(PROGRAM, menu, Cover()).factors}
    assert {"type", "size", "layout", "constant or same", "equal", "numbers of x", "numbers of w"} <= names
    assert any(name.startswith("option") for name in names) and any(name.startswith("argument") for name in names)


@pytest.mark.parametrize("shape, wanted", [
    ("(3, 3)", {"tall": (5, 3), "wide": (3, 5)}), ("(2, 6)", {"tall": (4, 2)}), ("(6,)", {}), ("(2, 3, 3)", {}), ("(0, 3)", {}),
])  # fmt: skip
def test_a_matrix_is_tall_and_wide_once(shape, wanted):
    program = parse(f'x = tensor({shape}, "float64", normal(seed=1))\ny = torch.trace(x)\n', language_for("torch"))
    sizes = next(f for f in Design(program, lambda func: [], Cover()).factors if f.name == "size")
    made = {name: apply_all(program, [edit]).inputs["x"].shape for name, edit in sizes.levels if name in ("tall", "wide")}
    assert made == wanted


def test_one_input_has_a_rank_that_the_other_does_not_have():
    sizes = next(f for f in Design(PROGRAM, menu, Cover()).factors if f.name == "size")
    made = {name: {n: r.shape for n, r in apply_all(PROGRAM, [edit]).inputs.items()} for name, edit in sizes.levels}
    assert made["x batched"] == {"x": (3, 3, 4), "w": (3, 4)} and made["w without its last"] == {"x": (3, 4), "w": (3,)}


def test_all_inputs_together_are_at_the_ends_of_narrow_types():
    """A sum of squares of several inputs leaves the range of a type only if all of them are of that size."""
    types = dict(next(f for f in Design(PROGRAM, menu, Cover()).factors if f.name == "type").levels)
    changed = apply_all(PROGRAM, [types["all tiny in float32"]]).inputs
    own = PROGRAM.inputs
    assert all(changed[n].dtype == "float32" and np.allclose(materialise(changed[n]), 1e-20 * materialise(own[n])) for n in own)
    assert not any(e.kind in ENDS for f in Design(PROGRAM, menu, Cover(), 32).factors for _, e in f.levels)
    single = parse('x = tensor((3,), "float64", normal(seed=1))\ny = torch.sin(x)\n', language_for("torch"))
    alone = dict(next(f for f in Design(single, menu, Cover()).factors if f.name == "type").levels)
    assert "float32" in alone and not any(name.startswith("all") for name in alone)


def test_one_number_whose_reciprocal_leaves_half_precision_is_beside_ordinary_ones():
    """The double backward pass of a product divides by each factor, and multiplies by the others afterwards."""
    product = parse('x = tensor((3, 4), "float64", uniform(0.5, 2.0, seed=1))\ny = torch.prod(x)\n', language_for("torch"))
    types = dict(next(f for f in Design(product, menu, Cover()).factors if f.name == "type").levels)
    changed = apply_all(product, [types["one tiny in float16"]])
    x = materialise(changed.inputs["x"]).ravel()
    assert changed.inputs["x"].dtype == "float16" and x[1:].min() > 0.4
    assert 0 < x[0] < 1 / np.finfo(np.float16).max < 2 * x[0]


def test_a_product_of_many_has_two_zeros():
    numbers = next(f for f in Design(PROGRAM, menu, Cover()).factors if f.name == "numbers of x")
    changed = apply_all(PROGRAM, [dict(numbers.levels)["two zeros"]])
    assert (materialise(changed.inputs["x"]) == 0).sum() == 2


def test_an_operand_is_a_plain_number_beside_whatever_else_is_varied():
    """What takes a statement away comes last: a path says which statement an argument is in."""
    design = Design(PROGRAM, menu, Cover())
    levels = [(factor.name, name) for factor in design.factors for name, _ in factor.levels]
    row = sorted([levels.index(("constant or same", "w 2.0")), levels.index(("option 2.reduction", "'sum'"))])
    changed = apply_all(PROGRAM, design.edits(tuple(row)))
    (call,) = changed.calls()
    assert list(changed.inputs) == ["x"] and call.args[1] == 2.0 and ("reduction", "sum") in call.kwargs
    (call,) = apply_all(PROGRAM, design.edits((levels.index(("constant or same", "w True")),))).calls()
    assert call.args[1] is True  # a number of a type of its own


def test_the_only_operand_stays_a_tensor():
    program = parse('x = tensor((3,), "float64", normal(seed=1))\ny = torch.sin(x)\n', language_for("torch"))
    assert "constant or same" not in {factor.name for factor in Design(program, menu, Cover()).factors}


def test_indices_that_are_all_one_do_not_wait_for_a_row_that_runs():
    inputs = 'x = tensor((4,), "float64", normal(seed=1))\ni = tensor((4,), "int64", listed([0, 2, 3, 1]), grad=False)\n'
    design = Design(parse(f"{inputs}y = torch.take(x, i)\n", language_for("torch")), lambda func: [], Cover(), 32)
    words = [f"{factor.name}: {name}" for factor in design.factors for name, _ in factor.levels]
    firsts = [[words[level] for level in members[0]] for members in islice(design.families(), 1, 3)]
    assert firsts == [["type: complex128"], ["numbers of i: the least"]]


@pytest.mark.parametrize("structure, expanded", [("None", True), ('"positive"', True), ('"symmetric"', False), ('"lower"', False)])
def test_rows_of_a_structured_matrix_share_no_memory(structure, expanded):
    text = f'x = tensor((3, 3), "float64", normal(seed=1), structure={structure})\ny = torch.trace(x)\n'
    layouts = next(f for f in Design(parse(text, language_for("torch")), lambda func: [], Cover()).factors if f.name == "layout")
    assert ("expanded" in dict(layouts.levels)) is expanded


def test_a_square_matrix_is_a_unit_matrix_once_and_nothing_else_is():
    text = 'x = tensor((2, 3, 3), "float64", normal(seed=1))\nw = tensor((3, 4), "float64", normal(seed=2))\ny = torch.matmul(x, w)\n'
    program = parse(text, language_for("torch"))
    levels = {factor.name: dict(factor.levels) for factor in Design(program, menu, Cover()).factors if factor.name.startswith("numbers")}
    assert "a unit matrix" not in levels["numbers of w"]
    made = materialise(apply_all(program, [levels["numbers of x"]["a unit matrix"]]).inputs["x"])
    assert np.array_equal(made[0], np.eye(3))


@pytest.mark.parametrize("dtype, numbers", [("int64", [0, 2, 2, 1]), ("bool", [0, 1, 1, 0])])
def test_whole_numbers_are_varied_within_what_they_are(dtype, numbers):
    inputs = f'x = tensor((4,), "float64", normal(seed=1))\ni = tensor((4,), "{dtype}", listed({numbers}), grad=False)\n'
    program = parse(f"{inputs}y = torch.take(x, i)\n", language_for("torch"))
    levels = {factor.name: dict(factor.levels) for factor in Design(program, menu, Cover(), 32).factors}["numbers of i"]
    made = {name: materialise(apply_all(program, [edit]).inputs["i"]).astype(int).tolist() for name, edit in levels.items()}
    assert made["the least"] == [0] * 4 and made["the greatest"] == [max(numbers)] * 4
    assert made["the other way round" if dtype == "int64" else "drawn anew"] != numbers
    assert all(set(drawn) <= set(range(max(numbers) + 1)) for drawn in made.values())


def test_whole_numbers_that_are_all_alike_stay_as_they_are():
    text = 'x = tensor((4,), "float64", normal(seed=1))\ni = tensor((2,), "int64", listed([3, 3]), grad=False)\ny = torch.take(x, i)\n'
    assert not any(f.name == "numbers of i" for f in Design(parse(text, language_for("torch")), menu, Cover()).factors)


def test_what_was_met_of_another_design_counts_for_nothing():
    """A release may have more options, and gradfuzz more to try."""
    design = Design(PROGRAM, menu, Cover())
    older = Cover(design.size + 3, 17, ran=2**design.size - 1)
    assert Design(PROGRAM, menu, older).known == Cover()
    today = design.met((0,), ran=True)
    assert older | today == today and Cover() | today == today | Cover() == today


def test_every_value_that_costs_a_compilation_is_met_before_any_is_met_again():
    """In as many rows as the factor with most values has: no value waits while the first of another factor is in every row."""
    inputs = 'x = tensor((4,), "float64", normal(seed=1))\ni = tensor((4,), "int64", listed([0, 2, 2, 1]), grad=False)\n'
    design = Design(parse(f"{inputs}y = torch.take(x, i)\n", language_for("torch")), lambda func: [], Cover(), 32)
    names = [name for factor in design.factors for name, _ in factor.levels]
    typed = {level for level, factor in enumerate(design._factor_of) if design.factors[factor].name == "type"}
    blind = {names.index("4 to 0")}
    wide = [members[0] for members in design.families() if members][1:]
    rows = [row for row in wide if not {*row} & typed and len(row) > 1]
    shared = {number for number, factor in enumerate(design.factors) if factor.shared and factor.name != "type"}
    clear = {n: [v for v, f in enumerate(design._factor_of) if f == n and v not in blind] for n in shared}
    met = [level for row in rows[: max(map(len, clear.values()))] for level in row]
    for number, levels in clear.items():
        often = [met.count(level) for level in levels]
        assert min(often) >= 1 and max(often) - min(often) <= 1, design.factors[number].name


def test_what_is_a_matter_of_numbers_alone_comes_with_the_seed():
    """Where another shape costs a compilation, all kinds of numbers and equal ones are tried by themselves before anything else is."""
    design = Design(PROGRAM, menu, Cover(), 32)
    words = [name for factor in design.factors for name, _ in factor.levels]
    in_order = [words[level] for row in next(design.families()) for level in row]
    first = set(in_order)
    assert in_order[0] in ("x = w", "w = x")  # what there is little of is not left out where much is found
    assert {"x = w", "w = x"} & first and {"in the tails", "large", "zeros"} <= first and not {"x is w", "w is x"} & first


def test_every_level_changes_the_program():
    design = Design(PROGRAM, menu, Cover())
    for level in range(len(design._edits)):
        assert apply_all(PROGRAM, design.edits((level,))) != PROGRAM, design._edits[level]


@pytest.mark.parametrize("family", [1, 32])
def test_every_value_and_every_pair_is_met(family):
    _, known, ran = followed(family, lambda row: False)
    assert known.levels_met == known.levels and known.complete
    pairs = {pair for row in ran for pair in combinations(row, 2)}
    assert len(pairs) == known.pairs == known.pairs_possible


def test_every_value_comes_alone_before_any_pair():
    _, known, ran = followed(1, lambda row: False)
    assert ran[0] == () and [len(row) for row in ran[1 : known.levels + 1]] == [1] * known.levels


def test_rows_are_wide_and_few():
    _, known, ran = followed(1, lambda row: False)
    factors = len(Design(PROGRAM, menu, Cover()).factors)
    assert max(map(len, ran)) == min(WIDTH, factors) and len(ran) < known.pairs / 4


@pytest.mark.parametrize("family", [1, 32])
def test_what_is_refused_alone_is_tried_with_nothing_else(family):
    _, known, ran = followed(family, lambda row: 3 in row)
    assert known.refused == 1 << 3 and known.complete
    if family == 1:
        assert [row for row in ran if 3 in row] == [(3,)]
    assert known.pairs_possible < known.pairs


def test_what_is_known_to_be_refused_is_in_no_row():
    """Where each level alone costs a compilation, somebody may tell beforehand: the others are tried, and it counts as met."""
    design = Design(PROGRAM, menu, Cover(), 32, lambda program: all(r.dtype != "float32" for r in program.inputs.values()))
    families = design.families()
    next(families)
    assert not design.learnt.refused  # numbers alone need no question
    words = [name for factor in design.factors for name, _ in factor.levels]
    met = {words[level] for members in families for row in members for level in row}
    refused = {word for number, word in enumerate(words) if design.learnt.refused >> number & 1}
    assert "float32" in refused and not refused & met and {"float16", "bfloat16", "'sum'"} <= met
    assert design.learnt.levels_met == len(refused) < 4


def test_levels_are_asked_about_where_a_row_is_refused():
    asked = []
    families = Design(PROGRAM, menu, Cover(), 32, lambda program: not asked.append(program)).families()
    assert next(families) and not asked and next(families) and len(asked) == 2  # about a row of all, and about the first of the types
    known = Design(PROGRAM, menu, Cover(), 32).met((0, 9, 20), ran=False)
    families = Design(PROGRAM, menu, known, 32, lambda program: not asked.append(program)).families()
    assert next(families) and next(families) and len(asked) > 10


@pytest.mark.parametrize("family", [1, 32])
def test_a_pair_that_is_refused_costs_itself_alone(family):
    design, known, ran = followed(family, lambda row: {0, 20} <= set(row))
    assert design._factor_of[0] != design._factor_of[20]
    assert (0, 20) in ran and known.complete and not known.refused
    met = {pair for row in ran if not {0, 20} <= set(row) for pair in combinations(row, 2)}
    assert len(met) == known.pairs - 1


def test_what_shows_nothing_alone_comes_after_what_may_show_something():
    known = Cover()
    for level in range(Design(PROGRAM, menu, Cover()).size):
        known |= Design(PROGRAM, menu, Cover()).met((level,), True, seen=level != 7)
    rows = [row for members in Design(PROGRAM, menu, known).families() for row in members][1:]
    hidden = [7 in row for row in rows]
    assert known.blind == 1 << 7 and any(hidden) and hidden == sorted(hidden)


def test_pairs_that_fail_most_often_come_by_themselves_before_wide_rows():
    inputs = 'x = tensor((4,), "float64", normal(seed=1))\na = tensor((4,), "float64", normal(seed=2))\n'
    program = parse(f"{inputs}y = torch.lerp(x, a, 0.5)\n", language_for("torch"))
    size = Design(program, menu, Cover()).size
    design = Design(program, menu, Cover(size, ran=(1 << size) - 1))
    words = [f"{factor.name}: {name}" for factor in design.factors for name, _ in factor.levels]
    rows = [row for members in design.families() for row in members][1:]
    first = next(number for number, row in enumerate(rows) if len(row) > 2)
    early = {frozenset(words[level] for level in row) for row in rows[:first]}
    assert frozenset({"numbers of x: zeros", "numbers of a: ones"}) in early
    assert frozenset({"type: float32", "numbers of x: huge"}) in early
    assert frozenset({"argument 2.2: 0.0", "numbers of a: zeros"}) in early
    again = [other for other in rows[first:] if any(set(row) <= set(other) for row in rows[:first])]
    assert first < size / 2 and len(again) < len(rows) / 40


def test_what_was_never_tried_alone_is_paired_last():
    known = Cover()
    for level in range(0, Design(PROGRAM, menu, Cover()).size, 2):
        known |= Design(PROGRAM, menu, Cover()).met((level,), True)
    rows = [row for members in Design(PROGRAM, menu, known).families() for row in members][1:]
    untried = [any(level % 2 for level in row) for row in rows if len(row) > 1]
    assert any(untried) and not all(untried) and untried == sorted(untried)


@pytest.mark.parametrize("refusals", [1, 2])
def test_a_doubted_pair_has_a_second_chance_in_company(refusals):
    design = Design(PROGRAM, menu, Cover())
    row = next(r for members in Design(PROGRAM, menu, Cover(design.size)).families() for r in members if len(r) > FIRST_WIDTH)
    known = Cover()
    for _ in range(refusals):
        known |= Design(PROGRAM, menu, known).met(row, False)
    alone = [set(r) for members in Design(PROGRAM, menu, known).families() for r in members if len(r) == 2 and set(r) <= set(row)]
    assert (len(alone) == len(list(combinations(row, 2)))) == (refusals == 2)
    assert not (known | design.met(row, True)).suspected


def test_the_rows_of_a_batch_depend_on_what_was_known_alone():
    known = Cover()
    for row in [(1,), (2, 30), (5,)]:
        known |= Design(PROGRAM, menu, Cover()).met(row, row != (5,))
    again = Cover.from_json(known.to_json())
    assert again == known
    assert list(Design(PROGRAM, menu, known).families()) == list(Design(PROGRAM, menu, again).families())


def test_what_is_left_is_said_in_words_and_nothing_in_the_end():
    first = Design(PROGRAM, menu, Cover()).left(1)[0].split("; ")
    assert len(first) == FIRST_WIDTH == len({part.partition(": ")[0] for part in first})
    design, known, _ = followed(1, lambda row: False)
    assert design.left(100) == [] and known.complete
    without = Cover(known.levels, known.pairs, known.ran & ~1, 0, known.settled, 0, 0)
    words = [f"{factor.name}: {name}" for factor in design.factors for name, _ in factor.levels]
    assert Design(PROGRAM, menu, without).left(1) == [words[0]]


TWO = parse(
    'x = tensor((4,), "float64", normal(seed=1))\nw = tensor((4,), "float64", normal(seed=2))\n'
    "y = torch.nn.functional.huber_loss(x, w, delta=0.5)\n",
    language_for("torch"),
)


def test_the_first_rows_that_cost_a_compilation_leave_something_to_differentiate():
    """Few are met in a short campaign: none of an empty tensor, and none of a constant that is the only input there is."""
    design = Design(TWO, menu, Cover(), 32)
    firsts = [members[0] for members in islice(design.families(), 1, 9)]
    for row in firsts:
        inputs = apply_all(TWO, design.edits(row)).inputs.values()
        assert any(r.differentiable and r.elements for r in inputs), row


def test_types_take_turns_with_what_leaves_them_as_they_are():
    design = Design(TWO, menu, Cover(), 32)
    words = [f"{factor.name}: {name}" for factor in design.factors for name, _ in factor.levels]
    rows = [{words[level] for level in members[0]} for members in islice(design.families(), 1, 5)]
    assert rows[0] == {"type: complex128"} and rows[3] == {"type: float32"}
    assert not any(word.startswith("type") for row in rows[1:3] for word in row)
    assert any(word.startswith("option") for word in rows[1])


def test_ends_of_domains_are_met_with_each_input_held():
    """A power is smooth at zero along its base where its exponent is one, and has no derivative along the exponent there."""
    design = Design(TWO, menu, Cover(), 32)
    words = [f"{factor.name}: {name}" for factor in design.factors for name, _ in factor.levels]
    rows = [{words[level] for level in row} for members in islice(design.families(), 5) for row in members]
    for held in ("x", "w"):
        assert any({f"constant or same: {held}", "numbers of x: zeros", "numbers of w: ones"} <= row for row in rows)


def test_ends_of_domains_with_an_input_held_are_looked_at_as_far_as_what_is_tried_by_itself():
    """Its first derivative is right there, and the second one need not be."""
    drawing = Drawing(TWO, "0", 32, menu, cover=Cover())
    rows = list(takewhile(lambda row: row is not None, map(drawing.row, range(200))))
    deep = [row for index, row in enumerate(rows) if drawing.alone(index) and len(row) > 2]
    kinds = [{edit.kind for edit in drawing.design.edits(row)} for row in deep]
    assert deep and all({"grad", "values"} <= kind for kind in kinds)
    assert sum(len(row) > 2 for row in rows) > 4 * len(deep)


@pytest.mark.parametrize("family", [1, 48])
def test_what_is_for_the_reference_alone_is_met_by_itself_and_beside_nothing(family):
    design, known, ran = followed(family, lambda row: False)
    names = [name for factor in design.factors for name, _ in factor.levels]
    single = {level for level, name in enumerate(names) if name in ("beside zero", "past overflow")}
    assert len(single) == 4 and single <= {row[0] for row in ran if len(row) == 1}
    assert not any(single.intersection(row) for row in ran if len(row) > 1) and known.complete
