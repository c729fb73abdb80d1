"""Confirming: with all effort what was suspected with less, and cheaply in between."""

from dataclasses import replace

from gradfuzz.findings.inside import confirm as confirming
from gradfuzz.findings.inside.confirm import confirm
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.oracles.check import Examination, Options, examine
from gradfuzz.oracles.effort import FULL, SEARCHING
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import Scenario

TEXT = 'x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_torch.{name}(x)\n'


def suspected(target, name, order):
    program = parse(TEXT.format(name=name), target.language)
    options = Options(order, ways=("batched",))
    verdict = next(v for v in examine(target, program, replace(options, ways=())).findings if v.order == order)
    return Suspicion(f"planted_torch.{name}", program, (), options, verdict)


def watched(monkeypatch, change=lambda program, options, seen: seen):
    """What is examined while a suspicion is confirmed; `change` may make something else of it."""
    asked = []

    def examined(target, program, options):
        asked.append(options)
        return change(program, options, examine(target, program, options))

    monkeypatch.setattr(confirming, "examine", examined)
    return asked


def test_what_is_suspected_by_little_effort_is_judged_by_all_of_it():
    assert Options.from_json(Options(2, effort=SEARCHING).to_json()).effort == FULL


def test_shrinking_is_cheap_and_what_it_comes_to_is_judged_with_all_effort(torch_target, monkeypatch):
    suspicion, asked = suspected(torch_target, "wrong_third", 3), watched(monkeypatch)
    confirmed = confirm(torch_target, suspicion, 2.0)
    assert confirmed is not None and confirmed.shrinking > 0
    assert not any(options.ways for options in asked), "it is in no way: none is run"
    cheap = [options for options in asked if options.effort == SEARCHING and options.order == 3]
    full = [options for options in asked if options.effort == FULL]
    assert len(full) == 2 and full[-1] is asked[-1] and all(options.scenarios is None for options in full)
    assert {options.scenarios for options in cheap} == {frozenset(Scenario(("r",) * n) for n in (1, 2, 3))}


def test_what_little_effort_makes_of_it_is_given_up_where_all_of_it_sees_nothing(torch_target, monkeypatch):
    """Every Program seems to show it cheaply; with all effort only those that are large enough do."""
    suspicion = suspected(torch_target, "wrong_backward", 1)
    verdict = suspicion.verdict

    def blind(program, options, seen):
        if options.effort == SEARCHING:
            return Examination([verdict], trial=seen.trial)
        return seen if program.inputs["x"].elements > 2 else Examination([], trial=seen.trial)

    watched(monkeypatch, blind)
    confirmed = confirm(torch_target, suspicion, 2.0)
    assert confirmed is not None and confirmed.program.inputs["x"].elements > 2
