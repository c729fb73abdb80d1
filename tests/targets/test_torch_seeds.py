"""Seeds beyond the samples: from signatures, docstrings and recordings; rules that exist."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import gradfuzz
from gradfuzz.oracles.check import Options, examine
from gradfuzz.program import from_json, parse, to_text
from gradfuzz.seeds.api_list import read_signature
from gradfuzz.targets.base.protocol import Parameter
from gradfuzz.targets.torch.api import public
from gradfuzz.targets.torch.rules import entries, existing_rules
from gradfuzz.targets.torch.seeds import differentiates, documented, probed, with_symmetry

NUMBERS = "0.12345"


@pytest.mark.parametrize(
    "path, form",
    [
        ("torch.nn.functional.softmax", "function"),
        ("torch.Tensor.fill_diagonal_", "method"),
        ("torch.nn.PixelShuffle", "module"),
        ("torch.nn.MaxUnpool2d", "module"),
        ("torch.nn.EmbeddingBag", "module"),
        ("torch.distributions.transforms.StickBreakingTransform", "object"),
        ("torch.nn.utils.rnn.pad_sequence", "function"),
        ("torch.ops.aten.add.Scalar", "function"),
    ],
)
def test_an_api_without_samples_is_called_from_its_signature_and_differentiated(torch_target, path, form):
    seeds = list(probed(torch_target, path, form))
    assert seeds
    for seed in seeds:
        seen = examine(torch_target, seed.program, Options(order=1))
        assert "reverse" in {s for v in seen.verdicts for s in v.names} or seen.outcome == "agree", to_text(seed.program)


def test_parameters_of_a_module_and_lists_of_tensors_are_inputs(torch_target):
    (first, *_) = probed(torch_target, "torch.nn.Linear", "module")
    assert {"m.weight", "m.bias"} <= set(torch_target.point(first.program).names)
    (first, *_) = probed(torch_target, "torch.hstack", "function")
    assert len(torch_target.point(first.program).names) == 2


def test_docstring_examples_become_seeds(torch_target):
    (seed,) = documented(torch_target, "torch.addcdiv", "function")
    assert "torch.addcdiv(" in to_text(seed.program)
    assert len(seed.program.inputs) == 3


def test_helpers_that_a_namespace_happens_to_hold_are_no_surface(torch_target):
    names = {path for path, _ in public(torch_target.language)}
    assert {"torch.sin", "torch.Tensor.sin_", "torch.nn.Conv2d", "torch.linalg.det"} <= names
    assert not names & {"torch.nn.functional.boolean_dispatch", "torch.set_num_threads", "torch.load", "torch.get_file_path"}


def test_a_function_that_reads_one_triangle_gets_symmetric_inputs(torch_target):
    text = 'x = tensor((3, 3), "float64", normal(seed=1))\ny = torch.linalg.{}(x)\n'
    reads_one = with_symmetry(torch_target, parse(text.format("eigvalsh"), torch_target.language))
    reads_all = with_symmetry(torch_target, parse(text.format("det"), torch_target.language))
    assert reads_one.inputs["x"].structure == "symmetric"
    assert reads_all.inputs["x"].structure is None


def test_what_the_library_calls_constant_is_no_seed(torch_target):
    text = 'x = tensor((3,), "float64", normal(seed=1))\ny = {}\n'
    assert differentiates(torch_target, parse(text.format("torch.sin(x)"), torch_target.language))
    assert not differentiates(torch_target, parse(text.format("torch.zeros_like(x)"), torch_target.language))
    assert not differentiates(torch_target, parse(text.format("torch.argmax(x)"), torch_target.language))


def test_words_and_defaults_are_learnt(torch_target):
    (way,) = torch_target.parameters("torch.nn.functional.interpolate")
    mode = next(p for p in way if p.name == "mode")
    assert {"nearest", "bilinear", "bicubic"} <= set(mode.words) and mode.default == "nearest"
    assert any(p.name == "alpha" and p.keyword for way in torch_target.parameters(".add") for p in way)


def test_signatures_as_people_list_them():
    api, parameters = read_signature("torch.nn.functional.kl_div(input, target, reduction='mean', *, log_target=False)")
    found = [Parameter(**p) for p in parameters]
    assert api == "torch.nn.functional.kl_div"
    assert [(p.name, p.kind, p.required, p.keyword) for p in found] == [
        ("input", "other", True, False),
        ("target", "other", True, False),
        ("reduction", "str", False, False),
        ("log_target", "bool", False, True),
    ]
    assert read_signature("torch.sin") == ("torch.sin", None)
    assert read_signature("torch.odd(a = = b)") == ("torch.odd", None)


def test_a_signature_gives_seeds(torch_target):
    api, parameters = read_signature("torch.special.xlog1py(input, other)")
    assert list(torch_target.probe(api, tuple(Parameter(**p) for p in parameters)))


def test_nodes_that_run_are_among_the_rules_that_exist(torch_target):
    if not entries():
        pytest.skip("this release ships no table of derivatives")
    existing = existing_rules()
    assert len(entries()) > 550
    text = 'x = tensor((3, 3), "float64", normal(seed=1))\ny = torch.sum(torch.sigmoid(x) @ x + 2.0, 0)\n'
    reached = set(examine(torch_target, parse(text, torch_target.language), Options(order=2), keep_rules=True).rules)
    assert {"reverse:SigmoidBackward0", "forward:MmBackward0", "second:SumBackward1", "reverse:AddBackward0"} <= reached
    assert {"reverse:SigmoidBackwardBackward0"} <= reached  # met in the gradient's own tape
    assert reached <= set(existing)
    assert existing["reverse:SigmoidBackward0"] == ""
    assert "GPU" in existing["reverse:CudnnConvolutionBackward0"]


def test_a_recording_keeps_shapes_and_no_contents(tmp_path):
    weight = torch.full((2, 3), float(NUMBERS), requires_grad=True)
    with torch.enable_grad(), gradfuzz.record(tmp_path / "seeds.jsonl"):  # workers leave it off in their process, which is ours here
        for _ in range(3):
            torch.nn.functional.linear(torch.full((5, 3), float(NUMBERS)), weight).sum().backward()
            torch.nn.functional.nll_loss(torch.log_softmax(weight, 1), torch.tensor([2, 0]), reduction="sum")
    text = (tmp_path / "seeds.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    assert NUMBERS not in text
    assert sorted(r["api"] for r in rows if "functional" in r["api"]) == ["torch.nn.functional.linear", "torch.nn.functional.nll_loss"]
    linear = from_json(next(r for r in rows if r["api"].endswith("linear"))["program"])
    assert [r.shape for r in linear.inputs.values()] == [(5, 3), (2, 3)]
    assert not (tmp_path / "seeds.jsonl.part").exists()


def test_contents_are_kept_when_asked_for(tmp_path):
    with gradfuzz.record(tmp_path / "seeds.jsonl", contents=True):
        torch.sin(torch.tensor([0.25, 0.5]))
    assert "0.25" in (tmp_path / "seeds.jsonl").read_text()


def test_a_recorded_program_that_fails_still_leaves_its_seeds(tmp_path):
    (tmp_path / "train.py").write_text("import sys, torch\ntorch.exp(torch.ones(3))\nprint(sys.argv)\nraise SystemExit(7)\n")
    command = [sys.executable, "-m", "gradfuzz", "record", "--to", "out.jsonl", "--", sys.executable, "train.py", "--lr", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
    assert "['train.py', '--lr', '1']" in done.stdout
    assert [json.loads(line)["api"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == ["torch.exp"]


@pytest.mark.parametrize("arguments", [("--", "train.py"), ("--", "python", "missing.py"), ("--target", "nothing", "--", "python", "x.py")])
def test_record_says_what_to_do(tmp_path, arguments):
    done = subprocess.run([sys.executable, "-m", "gradfuzz", "record", *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert len((done.stdout + done.stderr).strip().splitlines()) == 1
    assert list(Path(tmp_path).iterdir()) == []
