"""The commands end to end, against a server that answers as a model would: seeds, campaign, bugs, tokens, report, explanation."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("openai")
pytest.importorskip("torch")

from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.llm.ledger import Ledger
from gradfuzz.mutate.cover import Cover
from gradfuzz.program import parse, to_json
from gradfuzz.targets.homes import language_for
from tests.conftest import PLANTED
from tests.llm.conftest import KEY
from tests.llm.server import Answer, Server, asked, complaint
from tests.llm.test_recorded import recorded

WRONG = "import torch, planted_torch\nx = torch.rand(3, requires_grad=True) + 0.5\ny = planted_torch.wrong_backward(x)\ny.sum().backward()"
FINE = "x = torch.rand(2, 3) + 0.5\ny = torch.special.i0e(x)\nprint(y)"
HOSTILE = "import os\nx = torch.rand(3)\ny = torch.sinc(x)\nos.system('touch canary')"
MENDED = "x = torch.rand(3)\ny = torch.sinc(x)"
SETS = {
    "parameter_sets": [
        {"inputs": [{"name": "x", "shape": [2], "dtype": "float64", "values": "full(0.25)"}], "arguments": [], "aim": "small"},
        {"inputs": [{"name": "x", "shape": [5000, 5000], "dtype": "float64", "values": "full(0.0)"}], "arguments": [], "aim": "memory"},
    ]
}
APIS = ["planted_torch.wrong_backward", "torch.special.i0e", "torch.sinc"]


def code_for(text):
    return WRONG if "wrong_backward." in text else FINE if "i0e." in text else HOSTILE


def model(request, _):
    """A model: programs in a fence or as JSON, one hostile answer that is mended when it is sent back, parameter sets, an explanation."""
    last = request["messages"][-1]["content"]
    kind = asked(request)
    if kind == "program":
        first = re.search(r"calls (\S+)", last)[1] + " "
        code = code_for(first)
        return Answer(
            f"Here it is:\n```python\n{code}\n```" if code is FINE else json.dumps({"programs": [{"code": code, "note": "a test"}]})
        )
    if kind == "parameters":
        return Answer(json.dumps(SETS))
    if kind == "explain":
        return Answer(json.dumps({"cause": "the backward is off by a factor\x1b[31m", "fix": "divide", "confidence": "high"}))
    if "import of os" in last:
        return Answer(json.dumps({"programs": [{"code": MENDED}]}))
    return Answer('{"parameter_sets": []}')


@pytest.fixture
def place(tmp_path, own_cache, monkeypatch):
    (tmp_path / "planted_torch.py").write_text((PLANTED / "planted_torch.py").read_text())
    (tmp_path / "apis.txt").write_text("\n".join(APIS) + "\n")
    return tmp_path


def invoke(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def llm(server, *more):
    return ("seeds", "llm", "torch", "--apis", "apis.txt", "--module", "planted_torch", *asking(server), *more)


def asking(server):
    return ("--base-url", server.url, "--model", "small", "--workers", 2, "--params", 2, "--max-workers", 3)


def everything(folder):
    return b"".join(path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file() and path.suffix != ".py")


def test_a_round_from_the_prompt_to_the_report(place):
    with Server(model) as server:
        options = llm(server, "--num-programs", 9, "--round", 9, "--price", "1.0,2.0")
        done = invoke(*options)
        assert done.exit_code == 1, done.output
        asked_for = len(server.requests)
        again = invoke(*options)
        assert again.exit_code == 1 and len(server.requests) == asked_for, again.output  # the same command costs nothing
        findings = json.loads(invoke("findings", "--json").output)
        planted = next(f["id"] for f in findings if f["title"] == "wrong gradient in reverse")
        explained = invoke("explain", planted, "--base-url", server.url, "--model", "small")
    # What was asked: the documentation, the rules, the aims, each prompt its own.
    prompts = [request["messages"][-1]["content"] for request in server.requests if asked(request) == "program"]
    assert len(set(prompts)) == len(prompts) == 9
    assert any("Documentation:" in text and "i0e" in text and "Signature:" in text for text in prompts)
    assert any("Derivative rules that no program has reached yet: " in text for text in prompts)
    sets = [request["messages"][-1]["content"] for request in server.requests if asked(request) == "parameters"]
    assert sets and all("Write 2 parameter sets" in text and "y = " in text for text in sets)
    # What came of it: seeds that a campaign takes, the planted bug, nothing of the hostile answer.
    rows = [json.loads(line) for line in (place / "gradfuzz-llm" / "seeds.jsonl").read_text().splitlines()]
    assert {row["api"] for row in rows} == set(APIS) and all(row["source"].startswith("llm:small:") for row in rows)
    assert not (place / "canary").exists()
    assert {f["api"] for f in findings if f["label"] == "new"} == {"planted_torch.wrong_backward"}
    by_itself = [f["title"] for f in findings if f["program"].count(" = ") == 2]
    assert by_itself == ["wrong gradient in reverse"]  # behind another call there may be that one's faults
    assert "import of os" in everything(place / "gradfuzz-llm").decode()
    # The judge.
    assert re.search(r"\d+ of \d+ valid \(\d+ %, \d+ of them mended\); \d+ new rules \(\d+ tokens, \$[\d.]+ each\)", done.output), (
        done.output
    )
    assert re.search(r"[1-9] new bugs? \(", done.output), done.output
    assert all(word in done.output for word in ("over the limits", "outside the language")), done.output
    # The books.
    told = invoke("seeds", "tokens")
    usage = list(csv.DictReader((place / "gradfuzz-llm" / "usage_summary.csv").open()))
    programs = list(csv.DictReader((place / "gradfuzz-llm" / "program_summary.csv").open()))
    total = usage[-1]
    assert told.exit_code == 0 and total["phase"] == "total" and total["total_tokens"] in told.output
    assert int(total["requests"]) == asked_for + 1 == sum(int(row["requests"]) for row in usage[:-1])  # and one for the explanation
    assert float(total["cost_usd"] or 0) >= 0 and {row["phase"] for row in usage} >= {"program", "program again", "parameters", "explain"}
    assert [int(row["id"]) for row in programs] == list(range(9))
    assert sum(int(row["parameter_sets_valid"]) for row in programs) >= 3 and any("over the limits" in row["refused"] for row in programs)
    # The report and the explanation, which is a guess and is kept out of the store.
    assert invoke("report").exit_code == 0 and "wrong_backward" in (place / "gradfuzz-report" / "index.html").read_text()
    assert (
        explained.exit_code == 0 and "a guess by small, not evidence" in explained.output and "off by a factor\\x1b[31m" in explained.output
    )
    with sqlite3.connect(place / "gradfuzz.db") as db:
        assert "off by a factor" not in "\n".join(db.iterdump())
    script = next(r["messages"][-1]["content"] for r in server.requests if asked(r) == "explain")
    assert "wrong_backward" in script and "The script that proves it:" in script and "Evidence:" in script
    # The key is nowhere.
    for output in (done.output, again.output, told.output, explained.output):
        assert KEY not in output
    assert KEY.encode() not in everything(place)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_seeds_of_a_model_run_in_an_ordinary_campaign(place):
    with Server(model) as server:
        done = invoke(*llm(server, "--num-programs", 3, "--mutants-per-seed", 0, "--params", 0))
    assert done.exit_code == 0 and not (place / "gradfuzz.db").exists(), done.output
    ran = invoke("run", "torch", "--seeds", "gradfuzz-llm/seeds.jsonl", "--module", "planted_torch", "--mutants", 12, "--workers", 2)
    assert "mutants" in ran.output and ran.exit_code in (0, 1), ran.output


def test_until_dry_stops_when_a_round_brings_nothing_new(place):
    def forgetful(request, number):
        return Answer("I have no idea.") if asked(request) != "parameters" else Answer("{}")

    with Server(forgetful) as server:
        done = invoke(*llm(server, "--until-dry", "--round", 2))
        first = len(server.requests)
        again = invoke(*llm(server, "--until-dry", "--round", 2))
    assert done.exit_code == 0 and "the last round brought nothing new; 1 rounds" in done.output, done.output
    assert first == 4 and len(server.requests) == first and "the last round brought nothing new" in again.output  # two, and both once more
    assert "not the form asked for" in done.output


def test_start_id_goes_on_behind_what_is_there(place):
    with Server(model) as server:
        invoke(*llm(server, "--num-programs", 2, "--mutants-per-seed", 0, "--params", 0))
        invoke(*llm(server, "--num-programs", 2, "--start-id", 2, "--mutants-per-seed", 0, "--params", 0))
    ids = [identity for row in Ledger.read(place / "gradfuzz-llm").of("round") for identity in row["ids"]]
    assert sorted(ids) == [0, 1, 2, 3]


def test_several_apis_in_one_program(place):
    with Server(lambda r, n: Answer(FINE)) as server:
        invoke(*llm(server, "--num-programs", 1, "--num-apis", 3, "--mutants-per-seed", 0, "--params", 0))
    prompt = server.requests[0]["messages"][-1]["content"]
    assert "in which these work together" in prompt and all(f"## {api}" in prompt for api in APIS)


def test_a_budget_stops_in_time(place):
    with Server(model) as server:
        done = invoke(*llm(server, "--num-programs", 50, "--max-tokens-total", 30_000, "--mutants-per-seed", 0, "--round", 5))
    totals = Ledger.read(place / "gradfuzz-llm").totals
    assert done.exit_code == 0 and "the budget does not allow another request" in done.output, done.output
    assert 0 < totals.tokens <= 30_000


def test_killed_at_any_moment_nothing_that_was_paid_for_is_asked_for_again(place):
    """The server kills the command with SIGKILL after a few answers, again and again, until it comes through."""
    state = {"process": None, "until": 0}

    def deadly(request, number):
        if number == state["until"]:
            os.kill(state["process"].pid, signal.SIGKILL)
        return model(request, number)

    with Server(deadly) as server:
        command = [
            sys.executable,
            "-m",
            "gradfuzz",
            *map(str, llm(server, "--num-programs", 4, "--round", 2, "--mutants-per-seed", 0, "--max-workers", 1)),
        ]
        kills = 0
        for until in (2, 5, 8, 10**6):
            state["until"] = until
            state["process"] = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            output = state["process"].communicate(timeout=300)[0]
            kills += state["process"].returncode == -signal.SIGKILL
    assert state["process"].returncode == 0, output
    assert kills >= 2
    answered = [json.dumps(request["messages"]) for number, request in enumerate(server.requests) if number not in (2, 5, 8)]
    assert len(answered) == len(set(answered))
    totals = Ledger.read(place / "gradfuzz-llm").totals
    assert KEY not in output and totals.tokens > 0


def test_recorded_answers_replayed_through_the_server(place):
    """Good, bad and hostile answers in a row, whatever was asked for: the good become seeds, no command ends but in order."""
    rows = [row for row in recorded("torch") if row["phase"] == "program"]

    def replay(request, number):
        row = rows[number % len(rows)]
        return Answer(row["content"].replace("@CANARY@", str(place / "canary")), finish=row["finish"])

    with Server(replay) as server:
        done = invoke(*llm(server, "--num-programs", len(rows), "--round", 100, "--params", 0, "--mutants-per-seed", 1, "--max-workers", 1))
    good = sum(row["quality"] == "good" for row in rows)
    seeds = (place / "gradfuzz-llm" / "seeds.jsonl").read_text().splitlines()
    assert done.exit_code in (0, 1) and len(seeds) >= 0.95 * good and not (place / "canary").exists(), done.output
    assert "Traceback" not in done.output and "torch.load" not in "".join(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["torch", "jax", "tensorflow"])
def test_a_round_on_every_library_and_its_seeds_in_a_campaign_with_the_library_s_own(target, tmp_path, own_cache):
    """From the library's own seeds to prompts, seeds, a campaign, its report; then all seeds together."""
    pytest.importorskip(target)
    rows = [row for row in recorded(target) if row["phase"] == "program" and row["quality"] == "good"]
    with Server(lambda request, number: Answer(rows[number % len(rows)]["content"])) as server:
        done = invoke("seeds", "llm", target, *asking(server), "--num-programs", 12, "--round", 6, "--params", 0, "--mutants-per-seed", 2)
        prompts = [request["messages"][-1]["content"] for request in server.requests if asked(request) == "program"]
    seeds = Path("gradfuzz-llm/seeds.jsonl").read_text().splitlines()
    assert done.exit_code in (0, 1) and "round 2: " in done.output and len(seeds) >= 9, done.output
    assert sum("Combinations that nobody has tried" in prompt for prompt in prompts) > len(prompts) / 2
    ran = invoke("run", target, "--seeds", "gradfuzz-llm/seeds.jsonl", "--samples", "--mutants", 2 * len(seeds), "--workers", 2)
    assert ran.exit_code in (0, 1) and "Traceback" not in ran.output, ran.output
    reported = invoke("report", "--out", "report")
    assert reported.exit_code == 0 and Path("report/index.html").exists(), reported.output


# What ends in one line -------------------------------------------------------------------------------------------------------


def complaint_of(done):
    lines = [line for line in done.output.splitlines() if line.startswith("gradfuzz: ")]
    assert done.exit_code == 2 and len(lines) == 1 and "Traceback" not in done.output and KEY not in done.output, done.output
    return lines[0]


def test_no_key_and_no_server(place, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "there is no key: set OPENAI_API_KEY, or name a server" in complaint_of(invoke("seeds", "llm", "torch", "--apis", "apis.txt"))
    assert not (place / "gradfuzz-llm").exists()


def test_a_server_that_is_not_there(place):
    assert "cannot be reached" in complaint_of(
        invoke("seeds", "llm", "torch", "--apis", "apis.txt", "--module", "planted_torch", "--base-url", "http://127.0.0.1:9/v1")
    )


def test_a_key_that_is_not_accepted(place):
    with Server(lambda *_: complaint(401, f"Incorrect API key: {KEY}")) as server:
        assert "does not accept the key" in complaint_of(invoke(*llm(server)))
    assert KEY.encode() not in everything(place)


@pytest.mark.parametrize(
    "options, told",
    [
        (("--max-cost", "1"), "--max-cost needs the price"),
        (("--price", "cheap"), "--price 'cheap'"),
        (("--apis", "nowhere.txt"), "--apis nowhere.txt"),
        (("--request-timeout", "soon"), "'soon' is not a time"),
    ],
)
def test_wrong_use(place, options, told):
    with Server(model) as server:
        assert told in complaint_of(invoke(*llm(server), *options))
    assert not server.requests


def test_a_folder_without_a_book(place):
    assert "holds no book of requests" in complaint_of(invoke("seeds", "tokens"))


def test_workers_do_not_see_the_key():
    from gradfuzz.pool.launch import Launch

    kept = Launch("torch").environment({"OPENAI_API_KEY": KEY, "HF_TOKEN": "x", "HOME": "/h"})
    assert "OPENAI_API_KEY" not in kept and "HF_TOKEN" not in kept and kept["HOME"] == "/h"


def test_samples_join_the_seeds_of_files_where_that_is_asked_for(monkeypatch):
    from gradfuzz.seeds import gather as room
    from gradfuzz.seeds.seed import Seed

    given, own = [Seed("torch.sin", "llm:m:0", {})], [Seed("torch.cos", "sample", {})]
    monkeypatch.setattr(room, "known_here", lambda pool, seeds, say: seeds)
    monkeypatch.setattr(room, "library_seeds", lambda pool, say: own)
    assert room.gather(None, given, print) == given
    assert room.gather(None, given, print, samples=True) == given + own
    assert room.gather(None, [], print) == own


@pytest.mark.parametrize("target, rule", [("torch", "SincBackward0"), ("jax", "jvp:sin"), ("tensorflow", "Sin")])
def test_a_rule_s_formula_is_told_by_its_library(target, rule):
    from gradfuzz.pool.launch import Launch
    from gradfuzz.pool.pool import Pool

    pytest.importorskip(target)
    with Pool(Launch(target), 1) as pool:
        told = pool.run("formula", rule=rule).data["formula"]
        described = pool.run("describe", apis=[{"name": "no.such.api"}]).data["described"]
        assert pool.run("formula", rule="nosuchrule").data["formula"] == ""
    assert "cos" in told or "sinc" in told
    assert described == [{"name": "no.such.api", "signature": "", "doc": "", "left": []}]


def test_what_no_campaign_has_tried_is_told_in_words():
    from gradfuzz.pool.launch import Launch
    from gradfuzz.pool.pool import Pool

    program = to_json(parse('x = tensor((3,), "float64", normal(seed=1))\ny = torch.logit(x, eps=0.1)\n', language_for("torch")))
    with Pool(Launch("torch"), 1) as pool:
        asked = [{"name": "torch.logit", "program": program, "cover": Cover().to_json()}]
        left = pool.run("describe", apis=asked).data["described"][0]["left"]
    assert len(left) == 12 and all(any(what in row for row in left) for what in ("type: ", "numbers of x: ", "argument"))
