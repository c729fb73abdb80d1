"""A shrunk mutant still shows the bug, whatever mutant it comes from."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from gradfuzz.findings.inside.shrink import shrink_edits, shrink_program
from gradfuzz.mutate.draw import draw_edits
from gradfuzz.mutate.edits import apply_all
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse

TEXT = """x = tensor((4, 3), "float64", uniform(0.5, 2.0, seed=1))
a = tensor((4, 3), "float64", normal(seed=2))
y = planted_torch.wrong_backward(x)
z = torch.mul(y, a)
"""


def test_shrunk_mutants_still_show_the_bug(torch_target):
    seed = parse(TEXT, torch_target.language)

    def shows(program):
        return any(f.kind == "gradient" for f in examine(torch_target, program, Options(order=1)).findings)

    @settings(max_examples=25, deadline=None, database=None)
    @given(st.integers(0, 10**6))
    def check(number):
        edits = draw_edits(seed, random.Random(number))
        if not shows(apply_all(seed, edits)):
            return
        kept = shrink_edits(seed, edits, shows)
        assert shows(apply_all(seed, kept)) and len(kept) <= len(edits)
        smallest = shrink_program(apply_all(seed, kept), shows, lambda: True)
        assert shows(smallest)
        assert sum(r.elements for r in smallest.inputs.values()) <= 2

    check()
