"""Numbers of a Program's calls become variables, and nothing else does."""

from gradfuzz.program.model import Attr, Call, Item, Let, Ref, Slice
from gradfuzz.program.text import statement_text
from gradfuzz.program.unknown import without_numbers


def test_numbers_wherever_they_stand_become_variables():
    value = Call("torch.roll", (Item(Ref("x"), (Slice(1, None, 2), 0)), [2, -0.5]), (("dims", (0, 1)),))
    statements, numbers = without_numbers([Let(("y",), value)], {"x", "y", "n1"})
    assert statement_text(statements[0]) == "y = torch.roll(x[n0::n2, n3], [n4, n5], dims=(n6, n7))"
    assert numbers == {"n0": 1, "n2": 2, "n3": 0, "n4": 2, "n5": -0.5, "n6": 0, "n7": 1}


def test_what_is_no_finite_number_stays():
    value = Call("f", (True, None, "same", float("inf"), complex(1, 2), Attr(Ref("x"), "real")))
    statements, numbers = without_numbers([Let(("y",), value)], ())
    assert statements == [Let(("y",), value)] and not numbers
