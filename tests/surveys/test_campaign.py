"""Campaigns: the same seed finds the same things, and nothing is lost or done twice."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from gradfuzz.store import Records
from gradfuzz.store.board import board_beside, read_board
from tests.report.pages import read_page

SEEDS = """x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))
y = planted_torch.wrong_backward(x)

x = tensor((2, 3), "float64", uniform(0.5, 2.0, seed=1))
y = planted_torch.wrong_output(x)

x = tensor((4,), "float64", uniform(0.5, 2.0, seed=1))
y = torch.sin(x)

x = tensor((4,), "float64", uniform(0.5, 2.0, seed=1))
y = torch.exp(x)
"""


def gradfuzz(*arguments, cwd, **more):
    return subprocess.run([sys.executable, "-m", "gradfuzz", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, **more)


@pytest.fixture
def folder(tmp_path):
    from tests.conftest import PLANTED

    (tmp_path / "planted_torch.py").write_text((PLANTED / "planted_torch.py").read_text())
    (tmp_path / "seeds.py").write_text(SEEDS)
    return tmp_path


RUN = ("run", "torch", "--seeds", "seeds.py", "--module", "planted_torch", "--order", 1, "--workers", 2)


def found(folder, store="gradfuzz.db"):
    listed = gradfuzz("findings", "--json", "--store", store, cwd=folder)
    assert listed.returncode == 0, listed.stderr
    return json.loads(listed.stdout)


def test_planted_bugs_are_confirmed_shrunk_and_proven(folder):
    done = gradfuzz(*RUN, "--mutants", 60, cwd=folder)
    assert done.returncode == 1, done.stderr + done.stdout
    ending = done.stdout[done.stdout.index("the gravest:") :]
    assert "planted_torch.wrong_backward: wrong gradient in reverse" in ending and max(map(len, ending.splitlines())) <= 80
    findings = found(folder)
    by_api = {f["api"]: f for f in findings}
    assert set(by_api) == {"planted_torch.wrong_backward", "planted_torch.wrong_output"}
    wrong = by_api["planted_torch.wrong_backward"]
    assert wrong["confirmed"] and wrong["kind"] == "gradient" and wrong["scenarios"] == ["reverse"] and wrong["label"] == "new"
    assert 'tensor((3,), "float64", listed([2.0, 3.0, 4.0]))' in wrong["program"]
    assert wrong["ordinary"] and wrong["severity"] == "silent" and wrong["bug"].startswith("bug-wrong_backward-")
    wanted = "id target version api kind order scenarios expected actual error_bar confirmed label program reproducer"
    assert set(wanted.split()) <= set(wrong)
    with Records(folder / "gradfuzz.db") as opened:
        (there,) = [f.landscape for f in opened.findings() if f.kind == "gradient"]
    assert there.what == "d y[0] / d x[0]" and there.at == 2.0 and there.function and set(there.bars) == {"reverse", "forward"}
    script = folder / "bug.py"
    script.write_text(wrong["reproducer"])
    alone = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True)
    assert alone.returncode == 1 and "BUG" in alone.stdout, alone.stderr
    fixed = (folder / "planted_torch.py").read_text().replace("return grad * 3 * x**2 * FACTOR", "return grad * 3 * x**2")
    (folder / "planted_torch.py").write_text(fixed)
    alone = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True)
    assert alone.returncode == 0 and "fixed" in alone.stdout, alone.stderr


def test_a_finding_is_not_lost_to_a_smaller_program_that_kills_its_process(folder):
    (folder / "seeds.py").write_text(SEEDS.split("\n\n")[0].replace("wrong_backward", "wrong_and_deadly_when_small"))
    done = gradfuzz(*RUN, "--mutants", 1, cwd=folder)
    assert done.returncode == 1, done.stderr + done.stdout
    (finding,) = found(folder)
    assert finding["confirmed"] and finding["kind"] == "gradient" and "tensor((2, 3)" in finding["program"]


def test_the_same_seed_finds_the_same_things(folder):
    for store in ("a.db", "b.db"):
        gradfuzz(*RUN, "--mutants", 80, "--seed", 7, "--store", store, cwd=folder)
    first, second = found(folder, "a.db"), found(folder, "b.db")
    assert [(f["id"], f["times"]) for f in first] == [(f["id"], f["times"]) for f in second] and first


def test_resume_after_a_kill_repeats_nothing_and_loses_nothing(folder):
    command = [sys.executable, "-m", "gradfuzz", *map(str, RUN), "--mutants", "4000"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    store = folder / "gradfuzz.db"
    deadline, board = time.monotonic() + 120, None
    while time.monotonic() < deadline:
        time.sleep(0.3)
        board = read_board(store) or board
        if store.exists() and _rows(store, "batches") > 20 and _rows(store, "findings") and board is not None:
            break
    said = {row.what for row in board.rows}
    jobs = r"(batch \d+ of|confirming|(running|shortening) the script of|measuring) (planted_)?torch\."
    assert board.pid == process.pid and [row.who for row in board.rows if row.pid] and not board.old, board
    assert any(re.match(jobs, text) for text in said), said
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert board_beside(store).exists() and read_board(store) is None  # what it said last is of a process that is gone
    before, kept = _rows(store, "batches"), {f["id"] for f in found(folder)}
    numbers = _numbers(store)
    assert before < 260 and kept
    done = gradfuzz(*RUN, "--mutants", 4000, "--resume", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert kept <= {f["id"] for f in found(folder)}
    after = _numbers(store)
    assert after[: len(numbers)] == numbers and len(set(after)) == len(after)
    with Records(store) as opened:
        spent = opened.spending(1)
    assert not board_beside(store).exists() and spent["batches"] > 0 and {"confirming", "scripts", "seeds", "steering"} <= set(spent)
    assert 0 < spent["waiting"] < 2 * spent["clock"]  # of two workers
    assert _mutants(store) == 4000


def test_a_crash_and_a_hang_are_findings_and_the_campaign_goes_on(folder):
    seeds = "".join(
        f'x = tensor((2,), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_torch.{name}(x)\n\n'
        for name in ("segfault", "hang", "healthy")
    )
    (folder / "seeds.py").write_text(seeds)
    done = gradfuzz(*RUN, "--mutants", 24, "--timeout", "3s", cwd=folder)
    assert done.returncode == 1, done.stderr + done.stdout
    kinds = {f["api"]: (f["kind"], f["scenarios"], f["confirmed"]) for f in found(folder)}
    assert kinds["planted_torch.segfault"] == ("crash", ["reverse"], True)
    assert kinds["planted_torch.hang"] == ("timeout", ["reverse"], True)
    assert "planted_torch.healthy" not in kinds


def test_what_is_deadly_is_learnt_and_the_rest_of_the_design_goes_on(folder):
    (folder / "seeds.py").write_text(
        'x = tensor((2,), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_torch.segfault_in_single_precision(x)\n'
    )
    done = gradfuzz(*RUN, "--mutants", 60, "--profile", "plain", cwd=folder)  # a way in single precision would be deadly at every value
    assert done.returncode == 1, done.stderr + done.stdout
    told = gradfuzz("coverage", "--json", "--no-missing", cwd=folder)
    design = json.loads(told.stdout)["designs"]["planted_torch.segfault_in_single_precision"]
    assert design["values_met"] == design["values"] and 0 < design["values_refused"] < design["values"] / 2


def test_a_death_is_blamed_on_the_scenario_that_dies_by_itself(folder):
    """Reverse over reverse is fine, forward over reverse is not: a post-mortem that guesses would say otherwise."""
    text = 'x = tensor((2,), "float64", uniform(0.5, 2.0, seed=1))\ny = planted_torch.segfault_in_nested_forward(x)\n'
    (folder / "seeds.py").write_text(text)
    arguments = [part if part != 1 else 2 for part in RUN]
    assert arguments.count(2) == 2  # two workers, order two
    done = gradfuzz(*arguments, "--mutants", 4, cwd=folder)
    assert done.returncode == 1, done.stderr + done.stdout
    (finding,) = found(folder)
    assert (finding["kind"], finding["order"], finding["scenarios"]) == ("crash", 2, ["forward-over-reverse"])
    assert finding["confirmed"] and finding["title"] == "forward-over-reverse kills the process (SIGSEGV)"


def _rows(store, table):
    try:
        return sqlite3.connect(store).execute(f"select count(*) from {table}").fetchone()[0]
    except sqlite3.Error:
        return 0


def _numbers(store):
    return [row[0] for row in sqlite3.connect(store).execute("select number from batches order by number")]


def _mutants(store):
    return sum(sum(json.loads(row[0]).values()) for row in sqlite3.connect(store).execute("select counts from batches"))


def test_coverage_and_refusals_are_kept_and_shown(folder):
    square = 'x = tensor((3, 3), "float64", normal(seed=1))\ny = torch.linalg.inv(x)\n'  # mutants of other shapes are refused
    (folder / "seeds.py").write_text(f"{SEEDS}\n{square}")
    assert gradfuzz(*RUN, "--mutants", 90, cwd=folder).returncode == 1
    shown = gradfuzz("coverage", cwd=folder)
    assert shown.returncode == 0 and "second" in shown.stdout and "GPUs only" in shown.stdout, shown.stderr
    tables = json.loads(gradfuzz("coverage", "--json", cwd=folder).stdout)
    assert {"SinBackward0", "ExpBackward0"} <= set(tables["reverse"]["reached"])
    assert "CosBackward0" in tables["reverse"]["missing"]["no seed"]
    assert 0 < tables["forward"]["share"] < 0.2
    refused = json.loads(gradfuzz("refusals", "--json", cwd=folder).stdout)
    assert refused and all(set(row) == {"api", "kind", "message", "times"} and row["times"] > 0 for row in refused)
    assert {row["api"] for row in refused} >= {"torch.linalg.inv"}
    assert gradfuzz("report", "--out", "page", cwd=folder).returncode == 0
    rows, _ = read_page(folder / "page" / "index.html")
    tables = rows["campaigns"][0]["coverage"]
    assert all(table["missing"] for table in tables) and any(table["reached"] for table in tables)
    for command in ("coverage", "refusals"):
        wrong = gradfuzz(command, "--campaign", 99, cwd=folder)
        assert wrong.returncode == 2 and "no campaign 99" in wrong.stderr + wrong.stdout


def test_a_list_of_signatures_chooses_and_makes_up_seeds(folder):
    (folder / "apis.txt").write_text("# mine\ntorch.special.xlog1py(input, other)\ntorch.nowhere(input)\n")
    done = gradfuzz("run", "torch", "--seeds", "seeds.py", "--module", "planted_torch", "--apis", "apis.txt", "--mutants", 20,
                    "--workers", 1, cwd=folder)  # fmt: skip
    assert done.returncode in (0, 1), done.stderr + done.stdout
    assert "torch.nowhere: no call could be made up" in done.stdout
    assert ", 1 APIs" in done.stdout


def test_a_stored_suspicion_that_the_gate_refuses_is_left_alone_and_said(folder):
    assert gradfuzz(*RUN, "--mutants", 32, cwd=folder).returncode == 1
    with sqlite3.connect(folder / "gradfuzz.db") as db:
        db.execute("insert into suspicions values (1, 'k', ?, 1)", (json.dumps({"api": "torch.sin", "seed": {"format": 1}}),))
    again = gradfuzz(*RUN, "--mutants", 32, "--resume", cwd=folder)
    assert again.returncode == 1 and "1 rows of the store make no sense" in again.stdout + again.stderr
