"""Edits of arguments learn from what the library says that its functions take."""

import random
from collections import Counter

import numpy as np

from gradfuzz.mutate.draw import draw_edits
from gradfuzz.mutate.edits import Edit, apply, counted_as
from gradfuzz.mutate.numbers import VALUE_STRATEGIES, kinds_of_numbers, other_values
from gradfuzz.mutate.sorts.arguments import _given_factors, _nothing_factors, _option_factors, draw_argument, draw_naming, draw_option
from gradfuzz.program import gate, parse, to_text
from gradfuzz.program.codec import from_json, to_json, values_to_json
from gradfuzz.program.model import Values
from gradfuzz.program.values import materialise
from gradfuzz.targets.base.errors import KINDS, error_kind
from gradfuzz.targets.base.parameters import overloads
from gradfuzz.targets.base.protocol import Parameter
from gradfuzz.targets.homes import language_for

LANGUAGE = language_for("torch")
SEED = parse(
    'x = tensor((3,), "float64", normal(seed=1))\na = tensor((3,), "float64", normal(seed=2))\n'
    'y = torch.nn.functional.kl_div(x, a, "sum")\n',
    LANGUAGE,
)
WAYS = [
    (
        Parameter("input", "tensor", True),
        Parameter("target", "tensor", True),
        Parameter("reduction", "str", False, False, "mean", ("sum", "unheard_of")),
        Parameter("log_target", "bool", False, False, False),
        Parameter("weight", "tensor", False),
    )
]


def menu(func):
    return WAYS if func == "torch.nn.functional.kl_div" else []


def texts(draw, count=40):
    edits = [draw(SEED, random.Random(n), menu) for n in range(count)]
    return {to_text(apply(SEED, e)).splitlines()[-1] for e in edits if e is not None}


def test_words_come_from_the_documentation():
    assert texts(draw_argument) == {'y = torch.nn.functional.kl_div(x, a, "unheard_of")'}


def test_options_are_switched_on():
    assert texts(draw_option) == {'y = torch.nn.functional.kl_div(x, a, "sum", log_target=True)'}


def test_arguments_are_given_by_name_and_by_position():
    assert texts(draw_naming) == {'y = torch.nn.functional.kl_div(x, a, reduction="sum")'}
    named = parse(to_text(SEED).replace('"sum"', 'reduction="sum"'), LANGUAGE)
    assert to_text(apply(named, Edit("by_position", [2], "reduction"))) == to_text(SEED)


def test_refused_edits_are_drawn_less():
    def kinds(weights):
        return Counter(counted_as(e) for n in range(1500) for e in draw_edits(SEED, random.Random(n), menu, weights))

    free, held = kinds({}), kinds({"size": 0.05, "dtypes:float16": 0.05})
    assert held["size"] < 0.4 * free["size"]
    assert held["dtypes:float16"] < 0.4 * free["dtypes:float16"]
    assert held["values"] > 0.9 * free["values"]


def test_every_strategy_makes_numbers_that_replay_as_text_and_json():
    rng = random.Random(3)
    for name, (_, strategy) in VALUE_STRATEGIES.items():
        values = strategy(Values("normal", (), 4), rng)
        program = apply(SEED, Edit("values", "x", values_to_json(values)))
        again = parse(to_text(program), LANGUAGE), from_json(to_json(program))
        for other in again:
            assert np.array_equal(materialise(other.inputs["x"]), materialise(program.inputs["x"]), equal_nan=True), name


def test_the_sweep_reaches_both_ends():
    sizes = []
    for n in range(4000):
        values = other_values(Values("full", (1.0,)), random.Random(n))
        number = abs(values.args[1]) if values.kind == "scaled" else abs(values.args[0]) if values.kind == "full" else 1.0
        sizes.append(float(number))
    assert min(s for s in sizes if s > 0) < 1e-80 and max(s for s in sizes if np.isfinite(s)) > 1e80


def test_errors_are_sorted_by_kind():
    told = {
        "shape": "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
        "dtype": "expected scalar type Double but found Float",
        "value": "lambda should be greater than 0",
        "not implemented": "\"hardshrink_cpu\" not implemented for 'ComplexDouble'",
        "internal assert": "x INTERNAL ASSERT FAILED at y",
        "out of memory": "DefaultCPUAllocator: can't allocate memory",
        "other": "???",
    }
    assert {kind: error_kind(message) for kind, message in told.items()} == {kind: kind for kind in told}
    assert set(told) == set(KINDS)


def test_an_option_that_is_an_element_type_is_named_as_the_library_names_it():
    way = (*WAYS[0], Parameter("dtype", "type", False, True, None, ("torch.complex128", "torch.int64")))

    def typed(func):
        return [way]

    (factor,) = [f for f in _option_factors(SEED, typed) if f.name.endswith("dtype")]
    changed = [apply(SEED, edit) for _, edit in factor.levels]
    assert [to_text(p).splitlines()[-1] for p in changed] == [
        f'y = torch.nn.functional.kl_div(x, a, "sum", dtype={t})' for t in ("torch.complex128", "torch.int64")
    ]
    assert all(gate.check(from_json(to_json(p)), LANGUAGE) == p for p in changed)
    drawn = [draw_option(SEED, random.Random(n), typed) for n in range(60)]
    assert {e.value[1] for e in drawn if e is not None and e.kind == "set_name"} == {"torch.complex128", "torch.int64"}


def test_a_tensor_that_need_not_be_given_is_left_out():
    text = 'x = tensor((3,), "float64", normal(seed=1))\na = tensor((3,), "float64", normal(seed=2))\ny = torch.nn.functional.{}\n'
    way = (
        Parameter("input", "tensor", True),
        Parameter("weight", "tensor", True, nothing=True),
        Parameter("bias", "tensor", False, nothing=True),
    )

    def left_out(call):
        program = parse(text.format(call), LANGUAGE)
        levels = [level for f in _nothing_factors(program, lambda func: [way]) for level in f.levels]
        return [to_text(apply(program, edit)) for _, edit in levels]

    (both,) = left_out("layer_norm(x, a, a)")[:1]
    assert both.splitlines()[-1] == "y = torch.nn.functional.layer_norm(x, None, a)" and "a = tensor" in both
    (alone,) = left_out("layer_norm(x, bias=a)")
    assert alone.splitlines()[-1] == "y = torch.nn.functional.layer_norm(x, bias=None)" and "a = tensor" not in alone
    assert left_out("layer_norm(x)") == [] and left_out("layer_norm(a)") == []


def test_a_tensor_that_need_not_be_given_is_given():
    """Samples made of signatures leave weights and masks out: the tensor that is there may stand for them."""
    text = 'x = tensor((3,), "float64", normal(seed=1))\ny = torch.nn.functional.{}\n'
    way = (
        Parameter("input", "tensor", True),
        Parameter("weight", "tensor", False, nothing=True),
        Parameter("p", "float", False, default=1.0),
    )

    def given(call):
        program = parse(text.format(call), LANGUAGE)
        changed = [apply(program, edit) for f in _given_factors(program, lambda func: [way]) for _, edit in f.levels]
        assert all(gate.check(from_json(to_json(p)), LANGUAGE) == p for p in changed)
        return [to_text(p).splitlines()[-1] for p in changed]

    assert given("layer_norm(x)") == ["y = torch.nn.functional.layer_norm(x, weight=x)"]
    assert given("layer_norm(x, weight=x)") == given("layer_norm(x, x)") == given("layer_norm()") == []


def test_signatures_say_which_tensors_need_not_be_given():
    def weighed(a, b: "ArrayLike | None" = None, axis=None, dtype: "DTypeLike | None" = None, out: None = None):  # noqa: F821
        return a

    ((*_, weights, axis, dtype, out),) = overloads(weighed)
    assert (weights.kind, weights.nothing) == ("tensor", True) and not any(p.nothing for p in (axis, dtype, out))


def test_signatures_say_what_an_option_may_be_that_is_nothing_by_default():
    def transformed(a, n: "int | None" = None, norm: "str | None" = None, mode: "GatherMode | str | None" = None, out: None = None):  # noqa: F821
        """Args:
        norm: one of "ortho" and "forward".
        """
        return a

    ((_, n, norm, mode, out),) = overloads(transformed)
    assert (n.kind, norm.kind, norm.words, mode.kind, mode.words, out.kind) == ("int", "str", ("ortho", "forward"), "str", (), "other")
    program = parse('x = tensor((4,), "float64", normal(seed=1))\ny = torch.sin(x)\n', LANGUAGE)
    levels = {f.name: [name for name, _ in f.levels] for f in _option_factors(program, lambda func: overloads(transformed))}
    assert levels == {"option 1.n": ["0", "1", "-1", "2", "5"], "option 1.norm": ["'ortho'", "'forward'"]}


def test_an_option_that_is_a_number_is_at_zero_first():
    program = parse('x = tensor((4,), "float64", normal(seed=1))\ny = torch.celu(x)\n', LANGUAGE)
    (alpha,) = _option_factors(
        program, lambda func: [(Parameter("input", "tensor", True), Parameter("alpha", "float", False, default=1.0))]
    )
    assert alpha.levels[0][0] == "0.0" and len({name for name, _ in alpha.levels}) == len(alpha.levels)


def test_numbers_in_the_tails_are_no_poles():
    """Of the gamma function and its like, whose poles are whole numbers: there nothing can be said of derivatives."""
    tails = kinds_of_numbers(Values("normal"))["in the tails"]
    program = parse('x = tensor((64,), "float64", normal(seed=1))\ny = torch.celu(x)\n', LANGUAGE)
    drawn = apply(program, Edit("values", "x", values_to_json(tails)))
    assert not np.any(materialise(drawn.inputs["x"]) % 1 == 0)


def test_options_without_annotations_are_what_their_names_and_defaults_say():
    def transformed(x, fft_length=None, keepdims=None, strides=(1, 1), sizes=(), thing=None):
        """Nothing that says more."""

    ((_, *options),) = overloads(transformed)
    assert [p.kind for p in options] == ["ints", "bool", "ints", "other", "other"]
