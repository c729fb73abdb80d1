"""Whatever Program there is, its text reads back as the same Program."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gradfuzz.errors import ProgramError
from gradfuzz.program import from_json, parse, to_json, to_text
from gradfuzz.program.model import DTYPES, LAYOUTS, Attr, Call, Item, Let, Name, Program, Ref, Slice, Tensor, Values
from gradfuzz.targets.homes import language_for

TORCH = language_for("torch")

numbers = st.floats(allow_nan=False) | st.integers(-(2**40), 2**40)
seeds = st.integers(0, 2**31)
plain = st.one_of(
    st.builds(lambda s: Values("normal", (), s), seeds),
    st.builds(lambda a, b, s: Values("uniform", (a, b), s), numbers, numbers, seeds),
    st.builds(lambda x: Values("full", (x,)), numbers | st.complex_numbers(allow_nan=False)),
    st.builds(lambda xs: Values("listed", (tuple(xs),)), st.lists(numbers, max_size=5)),
    st.builds(lambda xs, s: Values("choice", (tuple(xs),), s), st.lists(numbers, min_size=1, max_size=4), seeds),
)
values = plain | st.builds(lambda v, x, n: Values("planted", (v, x, n)), plain, numbers, st.integers(1, 5))
tensors = st.builds(
    Tensor,
    st.lists(st.integers(0, 4), max_size=4).map(tuple), st.sampled_from(DTYPES), values, st.booleans(), st.sampled_from(LAYOUTS),
    st.sampled_from([None, "symmetric", "lower"]),
)  # fmt: skip

literals = (
    st.none() | st.booleans() | numbers | st.text(max_size=6).filter(str.isprintable) | st.just(...) | st.complex_numbers(allow_nan=False)
)
leaves = literals | st.sampled_from([Ref("x"), Ref("t"), Name("torch.float32"), Name("torch.channels_last")])


def _grow(inner: st.SearchStrategy) -> st.SearchStrategy:
    tensorish = st.sampled_from([Ref("x"), Ref("t")]) | st.builds(lambda a: Call("torch.sin", (a,)), inner)
    slices = st.builds(Slice, st.none() | st.integers(-3, 3), st.none() | st.integers(-3, 3), st.none() | st.integers(1, 3))
    index = st.integers(-3, 3) | slices | st.just(...) | st.none()
    return st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.builds(lambda f, a, k: Call(f, tuple(a), tuple(k.items())),
                  st.sampled_from(["torch.add", "torch.nn.functional.relu", "torch.linalg.qr"]), st.lists(inner, max_size=3),
                  st.dictionaries(st.sampled_from(["dim", "out", "alpha"]), inner, max_size=2)),
        st.builds(lambda f, a, b: Call(f, (a, b)), st.sampled_from(["+", "-", "@", "**", "<", "//"]), tensorish, tensorish | numbers),
        st.builds(lambda a: Call("neg", (a,)), tensorish),
        st.builds(lambda a, b: Call(".add_", (a, b)), tensorish, inner),
        st.builds(lambda a, i: Item(a, i), tensorish, index | st.lists(index, min_size=1, max_size=3).map(tuple)),
        st.builds(lambda a, n: Attr(a, n), tensorish, st.sampled_from(["mT", "real", "T"])),
    )  # fmt: skip


expressions = st.recursive(leaves, _grow, max_leaves=8)


@st.composite
def programs(draw):
    statements = [Let(("x",), draw(tensors)), Let(("t",), draw(tensors))]
    for number in range(draw(st.integers(1, 3))):
        names = draw(st.sampled_from([(f"y{number}",), (f"y{number}", f"z{number}"), ()]))
        statements.append(Let(names, draw(expressions)))
    return Program(tuple(statements))


@settings(max_examples=400, deadline=None)
@given(programs())
def test_text_reads_back_as_the_same_program(program):
    text = to_text(program)
    again = parse(text, TORCH)
    assert to_text(again) == text
    assert to_json(again) == to_json(program)


@settings(max_examples=200, deadline=None)
@given(programs())
def test_json_reads_back_as_the_same_program(program):
    assert to_text(from_json(to_json(program))) == to_text(program)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_read_or_refused_and_nothing_else(text):
    try:
        parse(text, TORCH)
    except ProgramError as error:
        assert "\n" not in str(error)
