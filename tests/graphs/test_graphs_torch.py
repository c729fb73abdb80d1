"""Random graphs: they run, they say something, and what is planted in one call is blamed on that call."""

import random

import pytest

from gradfuzz.chains.blame import COMPOSITION, OP, UNCLEAR, blame
from gradfuzz.chains.ops import find_ops
from gradfuzz.graphs.build import Builder
from gradfuzz.graphs.vocabulary import Vocabulary, learn
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import from_json, to_json, to_text
from gradfuzz.program.model import Call, Item, Let, Program, Ref, Tensor, rebuild, walk
from gradfuzz.targets.homes import load_target

COUNT = 200


@pytest.fixture(scope="module")
def plain():
    return load_target("torch")


@pytest.fixture(scope="module")
def words(plain):
    found = learn(plain, find_ops(plain))
    assert len(found.unary) > 40 and len(found.binary) > 15 and len(found.reductions) > 8 and found.products
    return Vocabulary.from_json(found.to_json())


@pytest.fixture(scope="module")
def graphs(words):
    return [Builder("torch", words, f"test:{i}").build() for i in range(COUNT)]


def test_functions_are_sorted_by_what_they_do(words):
    assert "torch.kron" not in [w.func for w in words.binary] and "torch.atan2" in [w.func for w in words.binary]
    assert "torch.median" not in [w.func for w in words.reductions] and "torch.logsumexp" not in [w.func for w in words.unary]
    assert {w.func: (w.low, w.high) for w in words.unary}["torch.acosh"][0] > 1.0
    assert "torch.floor" not in [w.func for w in words.unary]


def test_almost_all_run_and_are_conclusive(plain, graphs):
    seen = [examine(plain, graph, Options(1, None, i)) for i, graph in enumerate(graphs)]
    valid = [s for s in seen if s.trial is not None and s.trial.finite]
    assert len(valid) >= 0.95 * COUNT
    assert sum(s.outcome in ("agree", "disagree") for s in valid) >= 0.8 * len(valid)


def test_the_same_seed_builds_the_same_graph(words, graphs):
    assert to_text(Builder("torch", words, "test:7").build()) == to_text(graphs[7])
    assert from_json(to_json(graphs[7])) == graphs[7]


def test_they_have_all_that_graphs_have(graphs):
    sizes = [sum(isinstance(n, (Call, Item)) for n in g.expressions()) for g in graphs]
    assert min(sizes) >= 3 and max(sizes) >= 25
    assert any(len(g.inputs) > 2 for g in graphs), "several inputs"
    assert any(isinstance(g.statements[-1].value, tuple) for g in graphs), "several outputs"
    funcs = {call.func for g in graphs for call in g.calls()}
    assert {"@", "torch.where", ".double", "torch.cat", "torch.transpose"} <= funcs
    assert any(isinstance(n, Item) for g in graphs for n in g.expressions()), "indexing"
    assert any(call.kwargs for g in graphs for call in g.calls()), "reductions"

    def shared(graph):
        refs = [n.name for s in graph.statements if not isinstance(s.value, Tensor) for n in walk(s.value) if isinstance(n, Ref)]
        return any(name.startswith("y") and refs.count(name) > 1 for name in refs)

    assert any(map(shared, graphs)), "shared subexpressions"


def planted(graph, chance):
    """The graph with one of its variables passed through a function whose backward is wrong."""
    makers = [i for i, s in enumerate(graph.statements) if isinstance(s.value, Call) and not s.value.func.startswith(".")]
    position = chance.choice(makers)
    name = graph.statements[position].names[0]

    def change(node):
        return Ref("bad") if isinstance(node, Ref) and node.name == name else rebuild(node, change)

    rest = [s if isinstance(s.value, Tensor) else Let(s.names, change(s.value)) for s in graph.statements[position + 1 :]]
    bad = Let(("bad",), Call("planted_torch.wrong_backward", (Ref(name),)))
    return Program((*graph.statements[: position + 1], bad, *rest))


def test_a_planted_bug_is_blamed_on_its_call(torch_target, graphs):
    chance, blamed, wrong = random.Random(3), 0, []
    for index, graph in enumerate(graphs[:60]):
        program, options = planted(graph, chance), Options(1, None, index)
        finding = next(iter(examine(torch_target, program, options).findings), None)
        if finding is None:
            continue
        found = blame(torch_target, program, options, finding)
        assert found.kind in (OP, COMPOSITION, UNCLEAR)
        if found.kind == UNCLEAR:
            continue
        blamed += 1
        if (found.kind, found.api) != (OP, "planted_torch.wrong_backward"):
            wrong.append(found.api)
        else:
            assert sum(1 for _ in found.program.calls()) == 1
    assert blamed >= 25 and len(wrong) <= 0.05 * blamed, wrong
