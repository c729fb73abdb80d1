"""Nothing is lost on the way: what is seen again in a fresh process is shown by its script, kind by kind."""

import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.inside.confirm import confirm
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.findings.script import script
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse
from tests.findings.test_same_numbers import run

TEXT = 'x = tensor((2, 3), "{dtype}", {values})\ny = planted_torch.{name}(x)\n'
CASES = [
    ("wrong_backward", "uniform(0.5, 2.0, seed=1)", 1, "gradient"),
    ("wrong_jvp", "uniform(0.5, 2.0, seed=1)", 1, "gradient"),
    ("wrong_second", "uniform(0.5, 2.0, seed=1)", 2, "gradient"),
    ("wrong_output", "uniform(0.5, 2.0, seed=1)", 1, "value"),
    ("wrong_in_single", "uniform(0.5, 2.0, seed=1)", 1, "precision"),
    ("refuses_directly", "uniform(0.5, 2.0, seed=1)", 1, "status"),
]


@pytest.mark.parametrize("name, values, order, kind", CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("salt", [0, 12345])
def test_a_planted_bug_is_proven_by_its_script(torch_target, name, values, order, kind, salt):
    program = parse(TEXT.format(name=name, values=values, dtype="float32" if kind == "precision" else "float64"), torch_target.language)
    options = Options(order=order, salt=salt, refused=True)
    seen = examine(torch_target, program, options)
    assert seen.findings and seen.findings[0].kind == kind
    for verdict in seen.findings:
        confirmed = confirm(torch_target, Suspicion(f"planted_torch.{name}", program, (), options, verdict), 1.0)
        assert confirmed is not None and confirmed.salt == salt
        source = script(Finding(
            "torch", "0", f"planted_torch.{name}", confirmed.verdict, confirmed.program, True, confirmed.rule, (), confirmed.mutates,
            confirmed.random, ("planted_torch",), salt=confirmed.salt, made=confirmed.made,
        ))  # fmt: skip
        output, status = run(torch_target, source)
        assert status == 1 and "BUG" in output, output


def test_what_is_refused_everywhere_is_not(torch_target):
    program = parse(TEXT.format(name="refuses_always", values="normal(seed=1)", dtype="float64"), torch_target.language)
    assert examine(torch_target, program, Options(order=1, refused=True)).outcome == "invalid"
