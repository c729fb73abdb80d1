"""Chains over two hundred decades: planted bugs are found and blamed, overflow and edges are not called bugs."""

import pytest

from gradfuzz.chains.examine import examine_chain
from gradfuzz.chains.hazards import Hazards, around
from gradfuzz.chains.ops import Op
from gradfuzz.chains.sweep import sweep_points
from gradfuzz.oracles.check import Options
from gradfuzz.targets.homes import load_target

POINTS = sweep_points(20)


@pytest.fixture(scope="module")
def target(torch_target):
    return load_target("torch", ("planted_torch", "planted_chain"))


def judged(target, *names, order=2, points=POINTS, hazards=None):
    """The chain with the innermost op last, as it is written."""
    return examine_chain(target, [Op(name) for name in reversed(names)], points, "float64", Options(order), hazards or Hazards())


def test_the_sweep_is_the_documents_and_ordinary_points_come_on_top():
    wide = sweep_points(20, ordinary=False)
    assert len(wide) == 20 and max(wide) == 1e100 and min(wide) == -1e100 and min(map(abs, wide)) == 1e-100
    assert any(abs(x / 2.154e33 - 1) < 1e-3 for x in wide) and set(wide) < set(POINTS)
    assert max(map(abs, sweep_points(20, "float32"))) < 3.5e38


@pytest.mark.parametrize("chain", [("torch.sin",), ("torch.sin", "torch.tanh"), ("torch.log1p", "torch.exp"), ("torch.erf", "torch.atan")])
def test_healthy_chains_agree(target, chain):
    seen = judged(target, *chain)
    assert not seen.findings and seen.counts["agree"] > 20


@pytest.mark.parametrize("planted, order", [("wrong_backward", 1), ("wrong_jvp", 1), ("wrong_second", 2)])
@pytest.mark.parametrize("around_it", [(None, None), ("torch.sin", None), (None, "torch.atan")])
def test_a_planted_bug_is_blamed_on_its_op(target, planted, order, around_it):
    outer, inner = around_it
    seen = judged(target, *filter(None, (outer, f"planted_torch.{planted}", inner)))
    assert seen.findings
    for blamed in seen.findings:
        assert (blamed.kind, blamed.api, blamed.verdict.order) == ("op", f"planted_torch.{planted}", order)
        assert len(list(blamed.program.calls())) == 1


def test_what_is_wrong_only_together_is_the_compositions(target):
    assert not judged(target, "planted_chain.confused", "torch.sin", order=1).findings
    assert not judged(target, "torch.sin", "planted_chain.halved", order=1).findings
    seen = judged(target, "torch.atan", "planted_chain.confused", "planted_chain.halved", "torch.sin", order=1)
    assert seen.findings
    for blamed in seen.findings:
        assert blamed.kind == "composition" and blamed.api == "confused of halved"
        assert [call.func for call in blamed.program.calls()] == ["planted_chain.halved", "planted_chain.confused"]


@pytest.mark.parametrize(
    "chain",
    [
        ("torch.reciprocal",),
        ("torch.rsqrt",),
        ("torch.sqrt", "torch.relu"),  # an edge: 0 times infinity
        ("torch.sqrt", "torch.square"),  # underflow before the root
        ("torch.exp", "torch.neg"),
        ("torch.log", "torch.exp"),
        ("torch.special.log_ndtr", "torch.exp2"),  # an infinite intermediate result
        ("torch.lgamma", "torch.cosh"),  # a rounding of 1 is larger than what is sought
        ("torch.floor", "torch.square"),
    ],
)
def test_overflow_underflow_edges_and_rounding_are_no_bugs(target, chain):
    seen = judged(target, *chain)
    assert not seen.findings and sum(seen.counts.values()) > 20


def test_nothing_is_sent_where_an_op_does_not_come_back(target):
    hazards = Hazards({"wrong_backward": around(POINTS, [x for x in POINTS if x > 2.0])})
    seen = judged(target, "planted_torch.wrong_backward", "torch.neg", hazards=hazards, order=1)
    assert seen.reasons["left out: an op inside does not come back from here"] == len([x for x in POINTS if x < -2.0])


def test_the_verdict_says_how_many_checks_agreed(target):
    (blamed, *_) = judged(target, "planted_torch.wrong_backward", order=1, points=[0.7]).findings
    vote = blamed.verdict.detail["vote"]
    assert vote["against"] > vote["for_ad"] and vote["reruns"] >= 4 and vote["steps"] >= 10
    assert f"{vote['against']} of {vote['checks']} finite-difference checks contradict it" in blamed.verdict.reason
