"""OneFlow through the seam: reverse mode nested in itself, planted bugs, modules, graphs, the gate, and recordings."""

import json

import numpy as np
import pytest

import gradfuzz
from gradfuzz.errors import ProgramError
from gradfuzz.oracles.check import Options, examine
from gradfuzz.oracles.trial import Trial
from gradfuzz.program import from_json, parse
from gradfuzz.targets.base.protocol import Refusal
from gradfuzz.targets.base.scenario import DIRECT, FORWARD, REVERSE, pure
from gradfuzz.targets.homes import home_of, load_functions

pytest.importorskip("oneflow", reason="not in this interpreter; tests/targets/test_elsewhere.py runs these in its own")

PROGRAMS = {
    "elementwise": 'x = tensor((3,), "float64", normal(seed=1))\ny = oneflow.tanh(x) * x',
    "several": 'x = tensor((2, 3), "float64", normal(seed=1))\nw = tensor((3, 2), "float64", normal(seed=2))\ny = [x @ w, w * w]',
    "unreached": 'x = tensor((3,), "float64", normal(seed=1))\nz = tensor((3,), "float64", normal(seed=2))\ny = oneflow.exp(x)',
    "module": 'x = tensor((2, 3), "float64", normal(seed=1))\nm = oneflow.nn.Linear(3, 2)\ny = oneflow.tanh(m(x))',
}
PLANTED = 'x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_oneflow.{}(x)\n'


@pytest.mark.parametrize("name", PROGRAMS)
def test_reverse_mode_and_reverse_over_reverse_agree_with_differences(oneflow_target, name):
    seen = examine(oneflow_target, parse(PROGRAMS[name], oneflow_target.language), Options(order=2))
    assert seen.outcome == "agree" and {v.order for v in seen.verdicts if v.outcome == "agree"} == {1, 2}


def test_forward_mode_is_unsupported_and_no_finding(oneflow_target):
    refusal = Trial(oneflow_target, parse(PROGRAMS["elementwise"], oneflow_target.language)).outcome(FORWARD)
    assert isinstance(refusal, Refusal) and refusal.kind == "unsupported"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_gives_what_runs_eagerly(oneflow_target, name):
    trial = Trial(oneflow_target, parse(PROGRAMS[name], oneflow_target.language))
    outcome = trial.outcome(DIRECT.in_way("graph"))
    assert not isinstance(outcome, Refusal), outcome
    assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(outcome.outputs, trial.direct))


@pytest.mark.parametrize("name, order", [("wrong_reverse", 1), ("wrong_second", 2)])
def test_a_planted_bug_is_caught_and_named(oneflow_target, name, order):
    findings = examine(oneflow_target, parse(PLANTED.format(name), oneflow_target.language), Options(order=2)).findings
    assert [(f.kind, f.order, f.names) for f in findings] == [("gradient", order, [pure("r", order).name])]


def test_the_healthy_twin_is_not(oneflow_target):
    seen = examine(oneflow_target, parse(PLANTED.format("healthy"), oneflow_target.language), Options(order=2, ways=("graph",)))
    assert seen.outcome == "agree"


def test_code_that_behaves_differently_in_a_graph_shows_there(oneflow_target):
    findings = examine(
        oneflow_target, parse(PLANTED.format("wrong_in_a_graph"), oneflow_target.language), Options(ways=("graph",))
    ).findings
    assert findings and all(s == "graph direct" for f in findings for s in f.names)


def test_a_type_that_oneflow_lacks_is_named(oneflow_target):
    with pytest.raises(ProgramError, match="OneFlow has no complex128"):
        oneflow_target.point(parse('x = tensor((3,), "complex128", normal(seed=1))\ny = oneflow.abs(x)', oneflow_target.language))


REFUSED = (
    'oneflow.save(x, "a")', 'oneflow.load("a")', "oneflow.autograd.grad(x, x)", "x.numpy()", "x.backward()", "oneflow.device(x)",
    "oneflow.env.init()",
    'oneflow.hub.load("a")', "oneflow.set_grad_enabled(x)", "oneflow.manual_seed(1)", "oneflow.comm.send(x, 1)",
    "oneflow.empty(2)", "x.to_global(x)",
)  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_what_reaches_beyond_the_program_is_outside_the_language(oneflow_target, call):
    with pytest.raises(ProgramError):
        oneflow_target.point(parse(f'x = tensor((3,), "float64", normal(seed=1))\ny = {call}', oneflow_target.language))


def test_signatures_are_read_off_complaints_and_docstrings(oneflow_target):
    first, second, *_ = oneflow_target.parameters("oneflow.add")
    assert [(p.name, p.kind, p.keyword) for p in first] == [
        ("input", "tensor", False),
        ("other", "tensor", False),
        ("alpha", "number", True),
    ]
    assert [p.kind for p in second][:2] == ["tensor", "number"]


def test_a_program_s_own_calls_become_seeds(oneflow_target, tmp_path):
    import oneflow as flow

    with gradfuzz.record(tmp_path / "seeds.jsonl", target="oneflow") as recording:
        flow.sum(flow.tanh(flow.matmul(flow.ones(5, 4), flow.ones(4, 3))))
    rows = [json.loads(line) for line in (tmp_path / "seeds.jsonl").read_text().splitlines()]
    assert recording.count == len(rows) and {"oneflow.matmul", "oneflow.tanh"} <= {row["api"] for row in rows}
    program = from_json(next(row for row in rows if row["api"] == "oneflow.matmul")["program"])
    assert examine(oneflow_target, program, Options(order=1)).outcome == "agree"


def test_derivatives_of_own_functions_are_those_of_campaigns():
    import oneflow as flow

    functions, x = load_functions("oneflow"), np.array([0.5, 1.5])
    outcome = functions.derivative(lambda xs: [flow.sin(xs[0])], [functions.tensor(x, "float64")], REVERSE, [[np.ones(2)]], [np.ones(2)])
    assert outcome.result[0] == pytest.approx(np.cos(x).sum())
    assert home_of("oneflow").data("ways")["ways"].keys() == {"graph"}
