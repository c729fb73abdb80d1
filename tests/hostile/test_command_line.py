"""A stranger's file on the command line: one line, status 2, and nothing of it has run."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from tests.hostile.grow import GOOD, GOOD_ROW, changed

INPUT = 'x = tensor((2,), "float64", normal(seed=1))\n'


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments):
        return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)

    return invoke


def complaint(done) -> str:
    lines = [line for line in done.output.splitlines() if line.startswith("gradfuzz: ")]
    assert done.exit_code == 2 and len(lines) == 1 and "Traceback" not in done.output, done.output
    assert done.output.replace("\n", "").isprintable()
    return lines[0]


CHECKED = [
    ('i = torch.importlib\nm = i.import_module("os")\nm.system("id > f")', "it loads or runs code"),
    ("i = F.importlib", "it loads or runs code"),
    ('w = torch.PyTorchFileWriter("f")', "a class that Programs may not construct"),
    ('s = torch.UntypedStorage\ns.from_file("f", True, 16)', "a class that Programs may not construct"),
    ("s = torch.UntypedStorage", "a class that Programs may not construct"),
    ('n = F.np\nn.save("f", 1)', "is a module"),
    ('t = torch.torch\nt.save(x, "f")', "is a module"),
    ("o = torch.ops\na = o.aten", "attribute aten is not part of the language"),
    ('o = torch.classes\na = o.load("f")', "is a module"),
    ('s = "a"\na = s.format(x)', "Programs may not call it on a builtins.str"),
    ("m = nn.Linear(2, 2)\na = m.state_dict()", "method state_dict: Programs may not call it"),
    ("a = torch.nosuchfunction(x)", "does not exist"),
]


@pytest.mark.parametrize("lines, reason", CHECKED, ids=range(len(CHECKED)))
def test_check_refuses_what_reaches_beyond_the_library(run, tmp_path, lines, reason):
    (tmp_path / "p.py").write_text(f"{INPUT}{lines}\ny = torch.sin(x)\n")
    assert reason in complaint(run("check", "p.py"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.py"]


SEEDS = [
    ({**GOOD_ROW, "api": 'x"""\nimport os; os.system("touch f")\n"""'}, "is not the name of an API"),
    ({**GOOD_ROW, "program": changed(GOOD, ["statements", 2, "expr", "args", 1, "attr", 1], "__globals__")}, "attribute __globals__"),
    ({**GOOD_ROW, "program": changed(GOOD, ["statements", 2, "expr", "call"], "torch.load")}, "it reaches files"),
    ({**GOOD_ROW, "program": {}}, "not a Program"),
    ({"api": "torch.add"}, "not a Program"),
    ({**GOOD_ROW, "source": "a\nb"}, "source"),
]


@pytest.mark.parametrize("row, reason", SEEDS, ids=range(len(SEEDS)))
def test_run_refuses_a_strangers_seeds(run, tmp_path, row, reason):
    (tmp_path / "s.jsonl").write_text(json.dumps(row) + "\n")
    assert reason in complaint(run("run", "torch", "--seeds", "s.jsonl", "--time", "1s", "--workers", "1"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.jsonl"]


APIS = ['torch.sin"""\\nimport os(x)', "import os", "torch.sin; os.system('id')", "../x", "torch..sin", "\x1b[31m", "тorch.sin(x)"]


@pytest.mark.parametrize("line", APIS, ids=range(len(APIS)))
def test_run_refuses_a_strangers_list_of_apis(run, tmp_path, line):
    (tmp_path / "s.py").write_text(f"{INPUT}y = torch.sin(x)\n")
    (tmp_path / "a.txt").write_text(line + "\n", encoding="utf-8")
    assert "is not the name of an API" in complaint(
        run("run", "torch", "--seeds", "s.py", "--apis", "a.txt", "--time", "1s", "--workers", "1")
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "s.py"]
