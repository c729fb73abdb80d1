"""The corpus of hostile Programs: each is refused with one line, and nothing of it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gradfuzz.errors import GradfuzzError, ProgramError
from gradfuzz.program import from_json, gate, parse, to_json
from gradfuzz.program.model import Attr, Call, Item, Let, Name, Program, Ref, Slice
from gradfuzz.seeds.files import file_seeds
from gradfuzz.targets.homes import language_for, load_target
from tests.hostile.grow import GOOD, GOOD_ROW, changed

HERE = Path(__file__).parent
TORCH = language_for("torch")


def corpus(name: str) -> list[Any]:
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


TEXTS, DATA, ROWS = corpus("texts"), corpus("data"), corpus("rows")


@pytest.fixture(scope="module", params=["torch", "jax", "tensorflow"])
def target(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param)
    return load_target(request.param)


def one_line(error: GradfuzzError) -> bool:
    return str(error).isprintable() and 10 < len(str(error)) < 400


def run(target: Any, program: Program) -> None:
    point = target.point(program)
    point.foreseen() if hasattr(point, "foreseen") else point.first()


def test_the_corpus_is_large():
    assert len(TEXTS) > 500 and len(DATA) > 1000 and len(ROWS) > 50


def test_every_hostile_text_is_refused_with_one_line_and_leaves_nothing_behind(target, tmp_path):
    path = tmp_path / "canary"
    for row in (row for row in TEXTS if row["target"] == target.name):
        with pytest.raises(ProgramError) as caught:
            run(target, parse(row["text"].replace("@PATH@", str(path)), target.language))
        assert one_line(caught.value), row["text"]
        assert not path.exists(), row["text"]


def test_the_same_as_data_is_refused_too(target, tmp_path):
    """What the parser lets through comes as JSON as well, and is refused by the same half of the gate."""
    for row in (row for row in TEXTS if row["target"] == target.name):
        try:
            data = to_json(parse(row["text"], target.language))
        except ProgramError:
            continue
        with pytest.raises(ProgramError):
            run(target, gate.check(from_json(json.loads(json.dumps(data))), target.language))


def test_every_hostile_data_is_refused_with_one_line():
    gate.check(from_json(GOOD), TORCH)
    for place, value in DATA:
        with pytest.raises(ProgramError) as caught:
            gate.check(from_json(changed(GOOD, place, value)), TORCH)
        assert one_line(caught.value), (place, value)


def test_every_hostile_row_of_a_file_of_seeds_is_refused_with_one_line(tmp_path):
    file = tmp_path / "seeds.jsonl"
    file.write_text(json.dumps(GOOD_ROW) + "\n")
    assert [seed.api for seed in file_seeds(file, "torch", ())] == ["torch.add"]
    for row in ROWS:
        file.write_text(json.dumps(GOOD_ROW) + "\n" + row + "\n", encoding="utf-8")
        with pytest.raises(GradfuzzError) as caught:
            file_seeds(file, "torch", ())
        assert one_line(caught.value), row


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x80abc", "é".encode("latin-1")])
@pytest.mark.parametrize("name", ["seeds.jsonl", "seeds.py"])
def test_what_is_not_text_is_refused_with_one_line(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(GradfuzzError, match="the file is not UTF-8 text"):
        file_seeds(tmp_path / name, "torch", ())


def test_a_folder_is_no_file_of_seeds(tmp_path):
    with pytest.raises(GradfuzzError, match="name a file of Programs"):
        file_seeds(tmp_path, "torch", ())


X = Let(("x",), parse('x = tensor((2,), "float64", normal(seed=1))\ny = torch.sin(x)', TORCH).statements[0].value)
WHOLE: list[Any] = [
    Call("torch.importlib"),
    Name("torch.importlib"),
    Attr(Ref("x"), "__globals__"),
    Call(".__class__", (Ref("x"),)),
    Call("exec", ("1",)),
    Call("", ()),
    Call(".", (Ref("x"),)),
    Call("()", ()),
    Call(".sum", ()),
    Call("+", (Ref("x"),)),
    Call("neg", (Ref("x"), Ref("x"))),
    Call("torch", ()),
    object(),
    b"x",
    {"a": 1},
    {1, 2},
    print,
    Item(Ref("x"), print),
    Slice(print),
    [print],
    (print,),
    Call("torch.sin", (print,)),
    Call("torch.sin", (), (("a b", 1),)),
    Call("torch.sin", (), (("dim", 1), ("dim", 2))),
    Name("os"),
    Name("os.system"),
    Name("torch"),
    Name("torch."),
    Name(".torch"),
    Name("torch..sin"),
    Name("F.relu"),
    Call("numpy.save", ("a",)),
    Ref("nosuch"),
    float,
    2**200,
    "a\nb",
    "z" * 2000,
    True.__class__,
]


@pytest.mark.parametrize("node", WHOLE, ids=range(len(WHOLE)))
def test_nothing_goes_around_the_gate_by_being_made_in_memory(torch_target, node):
    """An edit, a shrinking step or a caller's mistake may make anything: what is run has passed the gate all the same."""
    with pytest.raises((ProgramError, KeyError)):
        torch_target.point(Program((X, Let(("y",), node)))).first()
    with pytest.raises(ProgramError):
        gate.check(Program((X, Let(("y",), node))), TORCH)


def test_a_program_deeper_than_python_itself_allows_is_refused():
    nested: Any = {"ref": "x"}
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(ProgramError):
        from_json({"format": 1, "statements": [{"names": ["y"], "expr": nested}]})


def test_a_program_with_more_parts_than_anyone_reads_is_refused():
    with pytest.raises(ProgramError):
        from_json({"format": 1, "statements": [{"names": ["y"], "expr": [0] * 200_000}]})


def test_the_users_own_module_is_trusted_for_what_it_defines_and_for_nothing_else(torch_target):
    """`--module` lends what the module defines; what it has imported is as far away as ever."""
    language = torch_target.language
    run(torch_target, parse('x = tensor((3,), "float64", normal(seed=1))\ny = planted_torch.healthy(x)', language))
    for name in ("torch", "os", "time", "signal", "os.system", "time.sleep", "__builtins__", "torch.load"):
        with pytest.raises(ProgramError):
            run(torch_target, parse(f'x = tensor((3,), "float64", normal(seed=1))\na = planted_torch.{name}\ny = torch.sin(x)', language))
