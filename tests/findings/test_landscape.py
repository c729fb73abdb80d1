"""What lies around a finding's point: every scenario's number with its bar, the function, its derivatives, and what is right."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gradfuzz.errors import StoreError
from gradfuzz.findings.finding import Finding
from gradfuzz.findings.landscape import DRAWN, WHY, Landscape, question, told, why_nothing
from gradfuzz.findings.shown import Short
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.kinds import KINDS
from gradfuzz.program import parse
from gradfuzz.targets.base.scenario import FORWARD
from gradfuzz.targets.homes import load_target
from gradfuzz.worker import landscape as inside
from gradfuzz.worker.landscape import POINTS, landscape

FACTOR = 1.001  # by which planted derivatives are off
X = 'x = tensor((2,), "float64", listed([1.5, -0.5]))\n'


def finding(target, text, order=1, ways=(), **more):
    program = parse(text, target.language)
    verdict = examine(target, program, Options(order, ways=ways)).findings[0]
    return Finding("torch", "2.13.0", program.api, verdict, program, True, modules=("planted_torch",), **more)


def entry(*places):
    """A short script's place: the first output by these inputs' elements."""
    return Short("", "", "", "reverse", 0.0, 0.0, "", spots=((0, 0, 0), tuple((0, place, 0) for place in places)))


def seen(target, found):
    """What a worker says of it, over the wire."""
    return told({"landscape": json.loads(json.dumps(landscape(target, json.loads(json.dumps(question(found))))))})


def close(line, wanted, digits=1e-3):
    return np.allclose(np.array(line, float), wanted, digits, digits * np.abs(wanted).max())


def test_the_wrong_line_leaves_what_is_right_and_the_healthy_ones_do_not(torch_target):
    there = seen(torch_target, finding(torch_target, f"{X}y = planted_torch.wrong_identity(x)\n", short=entry(0)))
    assert there.what == "d y[0] / d x[0]" and there.axis == "x[0]" and there.at == there.width == 1.5 and there.below is None
    assert len(there.function) == POINTS and close(there.function, np.linspace(0.0, 3.0, POINTS))
    assert close(there.derivatives["reverse"], np.full(POINTS, 2.0)) and close(there.truth, np.ones(POINTS))
    assert there.numbers["reverse"] == 2.0 and 0 < there.bars["reverse"] < 1e-10
    right, bar = there.numeric
    assert abs(right - 1.0) <= 8 * bar < 1e-6 and there.by == "difference quotient"


def test_higher_orders_show_the_order_below_as_well(torch_target):
    there = seen(torch_target, finding(torch_target, f"{X}y = planted_torch.wrong_second(x)\n", 2, short=entry(0, 0)))
    x = np.linspace(0.0, 3.0, POINTS)
    name, below = there.below
    assert there.what == "d² y[0] / d x[0] d x[0]" and name == "reverse" and close(below, 3 * x**2)
    assert close(there.truth, 6 * x) and close(there.derivatives["reverse-over-reverse"], 3 * x)
    (other,) = [line for name, line in there.derivatives.items() if name.endswith("over-forward")]
    assert close(other, 6 * x) and set(there.numbers) == set(there.bars) and len(there.numbers) == 4


def test_without_an_entry_the_numbers_are_those_that_the_oracle_compared(torch_target):
    found = finding(torch_target, f"{X}y = planted_torch.wrong_backward(x)\n")
    there = seen(torch_target, found)
    assert there.along == () and there.axis.startswith("a step")
    compared = found.verdict.detail["numbers"]
    assert {name: there.numbers[name] for name in compared} == pytest.approx(compared, rel=1e-12)
    assert there.numeric[0] == pytest.approx(found.verdict.detail["numeric"], rel=1e-9)


def test_lower_precision_is_held_against_double(torch_target):
    there = seen(torch_target, finding(torch_target, f"{X.replace('64', '32')}y = planted_torch.wrong_in_single(x)\n", short=entry(0)))
    assert there.by == "in double precision" and there.numeric[0] == pytest.approx(6.75)
    assert there.numbers["reverse"] == pytest.approx(6.75 * FACTOR, rel=1e-5) and close(there.truth, 3 * np.linspace(0, 3, POINTS) ** 2)


def test_another_way_is_drawn_beside_the_plain_one():
    target = load_target("torch", ("planted_ways",))
    there = seen(target, finding(target, f"{X}y = planted_ways.batched(x)\n", ways=("batched",)))
    plain, batched = there.derivatives["reverse"], there.derivatives["batched reverse"]
    assert close(plain, there.truth) and close(np.array(batched), np.array(plain) / 2)


def test_of_an_error_the_other_mode_s_number_is_told_and_nothing_is_drawn(torch_target):
    """Forward mode has no rule there."""
    found = finding(torch_target, f"{X}y = planted_torch.wrong_identity(x)\n")
    there = seen(torch_target, replace(found, verdict=replace(found.verdict, kind="status", scenarios=[FORWARD])))
    assert set(there.numbers) == set(there.bars) == {"reverse"} and there.refused["forward"]
    assert there.function == () and there.numeric is None


def test_a_function_that_takes_long_is_drawn_coarsely_or_not_at_all(torch_target, monkeypatch):
    found = finding(torch_target, f"{X}y = planted_torch.wrong_backward(x)\n", short=entry(0))
    monkeypatch.setattr(inside, "FINER_SECONDS", 0.0)
    coarse = seen(torch_target, found)
    monkeypatch.setattr(inside, "MOST_SECONDS", 0.0)
    none = seen(torch_target, found)
    assert len(coarse.function) == len(coarse.truth) == (POINTS - 1) // 4 + 1 and coarse.function[-1] == pytest.approx(27.0)
    assert none.function == () and none.numbers["reverse"] == pytest.approx(6.75 * FACTOR)
    assert "too long" in why_nothing(replace(found, landscape=none))


@pytest.mark.parametrize("kind", ["crash", "timeout", "memory", "value"])
def test_nothing_is_run_again_where_it_would_be_deadly_or_says_nothing(torch_target, kind):
    found = finding(torch_target, f"{X}y = planted_torch.wrong_backward(x)\n")
    found = replace(found, verdict=replace(found.verdict, kind=kind))
    assert question(found) is None and why_nothing(found) == WHY[kind]


def test_every_kind_is_drawn_or_says_why_not():
    assert set(DRAWN) | set(WHY) == set(KINDS) and not set(DRAWN) & set(WHY)


def test_it_is_kept_with_its_finding_and_older_findings_have_none(torch_target):
    found = finding(torch_target, f"{X}y = planted_torch.wrong_backward(x)\n", short=entry(0))
    found = replace(found, landscape=seen(torch_target, found), id="a")
    kept = json.loads(json.dumps(found.to_json()))
    assert Finding.from_json(kept).landscape == found.landscape and len(json.dumps(kept["landscape"])) < 2500
    del kept["landscape"], kept["short"]["spots"]
    assert Finding.from_json(kept).landscape is None and "landscape" not in found.public()


@pytest.mark.parametrize("broken", [[], {"numbers": []}, {"numbers": {}, "bars": {"a": "x"}}, {"numbers": {}, "bars": {}, "function": 3}])
def test_what_is_none_is_refused_in_a_store_and_left_out_of_an_answer(broken):
    with pytest.raises(StoreError):
        Landscape.from_json(broken)
    assert told({"landscape": broken}) is None and told({"cause": "SIGSEGV"}) is None
