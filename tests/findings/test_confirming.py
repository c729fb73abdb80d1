"""Confirming: with all effort what was suspected with less, and cheaply in between."""

from dataclasses import replace
from functools import lru_cache

from gradfuzz.findings.inside import confirm as confirming
from gradfuzz.findings.inside import documented as documenting
from gradfuzz.findings.inside.confirm import confirm
from gradfuzz.findings.inside.suspicion import Suspicion
from gradfuzz.oracles.check import Examination, Options, examine
from gradfuzz.oracles.effort import FULL, SEARCHING
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import Scenario
from gradfuzz.worker.rehearsal import rehearse

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
    needed = frozenset(Scenario(("r",) * n) for n in (1, 2, 3))
    assert [options.scenarios for options in full] == [needed, None] and full[-1] is asked[-1]
    assert {options.scenarios for options in cheap} == {needed}
    below = [options for options in asked if options.order == 2]
    assert below and {options.scenarios for options in below} == {needed - {Scenario(("r",) * 3)}}


def test_what_is_as_small_as_it_gets_is_judged_once(torch_target, monkeypatch):
    suspicion, asked = suspected(torch_target, "wrong_backward", 1), watched(monkeypatch)
    smallest = confirm(torch_target, suspicion, 2.0).program
    asked.clear()
    again = confirm(torch_target, replace(suspicion, seed=smallest), 2.0)
    assert again.program == smallest and [options.effort for options in asked].count(FULL) == 1


def test_what_other_scenarios_hide_is_asked_of_all_of_them(torch_target, monkeypatch):
    """In the scenarios that show it alone nothing is seen: then all are asked before it is given up."""
    suspicion = suspected(torch_target, "wrong_third", 3)
    asked = watched(monkeypatch, lambda program, options, seen: Examination([], trial=seen.trial) if options.scenarios else seen)
    assert confirm(torch_target, suspicion, 2.0) is not None
    assert [options.scenarios is None for options in asked if options.effort == FULL][:2] == [False, True]


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


def test_what_is_read_of_a_library_is_read_before_workers_are_forked_and_nothing_is_computed(torch_target, monkeypatch):
    ran = []
    monkeypatch.setattr(documenting, "_by_name", lru_cache(documenting._by_name.__wrapped__))
    monkeypatch.setattr(type(torch_target), "point", lambda *given: ran.append(given))
    rehearse(torch_target)
    read = documenting._by_name.cache_info().misses
    documenting.documented(torch_target, "torch.cos")
    assert read == documenting._by_name.cache_info().misses == 1 and not ran
