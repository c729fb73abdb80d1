"""What a suspicion costs where another shape costs a compilation: the boldest step first, and nothing is compiled anew for a question."""

import pytest

from gradfuzz.findings.inside.confirm import confirm
from gradfuzz.findings.inside.controls import controls, same_but_for_numbers
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import parse, to_json
from gradfuzz.targets.jax.bundle import JaxBundle
from gradfuzz.worker import context
from gradfuzz.worker.measure import measure, of_confirmed

TEXT = 'x = tensor((4, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_jax.{}(x)\n'


def suspicion(target, function):
    seed = parse(TEXT.format(function), target.language)
    (verdict,) = examine(target, seed, Options(1)).findings
    return Suspicion(f"planted_jax.{function}", seed, (), Options(1), verdict)


@pytest.fixture
def compiled(monkeypatch):
    """The shapes of the inputs that derivatives were compiled for."""
    shapes, compile_ = [], JaxBundle.compile
    monkeypatch.setattr(JaxBundle, "compile", lambda self, args: shapes.append([x.shape for x in args.xs]) or compile_(self, args))
    return shapes


def test_what_shows_at_one_number_is_there_after_one_step(jax_target, compiled):
    suspected = suspicion(jax_target, "wrong_jvp")
    compiled.clear()
    found = confirm(jax_target, suspected, 10.0)
    assert found is not None and len(found.program.inputs["x"].shape) <= 1
    assert not {(1, 3), (4, 1), (2, 3), (4, 2)} & {shape for (shape,) in compiled}


def test_the_reference_is_told_what_another_process_would_measure(jax_target, compiled):
    found = confirm(jax_target, suspicion(jax_target, "wrong_jvp"), 10.0)
    compiled.clear()
    numbers = of_confirmed(jax_target, found, 48)
    assert numbers is not None and not compiled
    asked = {"program": to_json(found.program), "scenarios": found.verdict.names, "most": 48, "element": found.verdict.detail["element"]}
    assert numbers == measure(jax_target, asked)


def test_controls_at_other_numbers_come_first_where_others_cost_a_compilation(jax_target, monkeypatch):
    tried = []
    monkeypatch.setattr(context, "examine", lambda target, program, options: tried.append(program) or examine(target, program, options))
    text = 'x = tensor((3,), "float32", listed([0.0, 1.5, 2.5]))\ny = jax.numpy.std(x, ddof=1.0)\n'
    program = parse(text, jax_target.language)
    list(context._quiet(jax_target, program, 1))
    alike = [same_but_for_numbers(other, program) for other in tried]
    assert alike == sorted(alike, reverse=True) and alike[0]
    assert not same_but_for_numbers(next(controls(jax_target, program)).program, program)
