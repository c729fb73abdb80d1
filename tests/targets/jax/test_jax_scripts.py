"""The long script: what a compiled derivative shows is not computed operator by operator as well."""

import contextlib
import io

import pytest

from gradfuzz.findings.finding import Finding
from gradfuzz.findings.script import script
from gradfuzz.oracles.verdict import DISAGREE, GRADIENT, Verdict
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import REVERSE


def said(target, call):
    text = f'x = tensor((2,), "float64", uniform(0.5, 1.5, seed=1))\ny = {call}\n'
    verdict = Verdict(DISAGREE, "gradient", GRADIENT, 1, [REVERSE], "", 1.0, 2.0, 1e-9)
    finding = Finding("jax", target.version, "planted", verdict, parse(text, target.language), True, modules=("planted_jax",))
    with contextlib.redirect_stdout(io.StringIO()) as output, pytest.raises(SystemExit) as ended:
        exec(compile(script(finding), "script", "exec"), {"__name__": "__main__"})
    return ended.value.code, [line.split("  ")[0] for line in output.getvalue().splitlines() if line.startswith("reverse")]


def test_one_that_is_wrong_is_computed_once(jax_target):
    assert said(jax_target, "planted_jax.wrong_vjp(x)") == (1, ["reverse, compiled"])


def test_one_that_is_right_is_looked_at_operator_by_operator_too(jax_target):
    assert said(jax_target, "jax.numpy.sin(x)") == (0, ["reverse, compiled", "reverse"])
