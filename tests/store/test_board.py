"""The board: what workers are at, for whoever looks; it takes nothing from the campaign, and a dead one's is not believed."""

import json
import os
import subprocess
import sys
import time

import pytest

from gradfuzz.store.board import MOST_ROWS, OLD, Doing, Writing, board_beside, read_board

ROWS = [Doing("worker 1", "batch 3 of torch.sin, 2 of 20", 1.5, os.getpid()), Doing("reference", "proving torch.cos")]


def written(path, rows=ROWS):
    writing = Writing(path / "s.db", 7)
    writing.write(lambda: rows)
    return writing


def changed(path, **fields):
    file = board_beside(path / "s.db")
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))
    return read_board(path / "s.db")


def test_what_is_written_is_read_and_goes_with_the_campaign(tmp_path):
    writing = written(tmp_path)
    board = read_board(tmp_path / "s.db")
    assert board.campaign == 7 and board.pid == os.getpid() and list(board.rows) == ROWS and not board.old and board.more == 0
    assert [p.name for p in tmp_path.iterdir()] == ["s.db.now"]
    writing.close()
    assert read_board(tmp_path / "s.db") is None and not list(tmp_path.iterdir())


def test_nobody_is_asked_more_than_once_a_second(tmp_path):
    writing, asked = written(tmp_path), []
    writing.write(lambda: asked.append(1) or ROWS)
    assert not asked


def test_the_board_of_a_process_that_is_gone_is_not_believed(tmp_path):
    program = "import sys; from pathlib import Path; from gradfuzz.store.board import *; Writing(Path(sys.argv[1]), 1).write(lambda: [])"
    subprocess.run([sys.executable, "-c", program, tmp_path / "s.db"], check=True)
    assert board_beside(tmp_path / "s.db").exists() and read_board(tmp_path / "s.db") is None


def test_nor_is_that_of_an_earlier_process_with_the_same_number(tmp_path):
    written(tmp_path)
    began = json.loads(board_beside(tmp_path / "s.db").read_text())["began"]
    assert changed(tmp_path, began=began - 3600) is None and changed(tmp_path, began=began) is not None


def test_a_board_that_stays_the_same_is_old(tmp_path):
    written(tmp_path)
    assert changed(tmp_path, written=time.time() - 2 * OLD).old


@pytest.mark.parametrize("rows", [3, None, [{}], [[]], [{"who": 1, "what": {}, "seconds": "x", "pid": 0}]])
def test_what_makes_no_sense_says_nothing(tmp_path, rows):
    written(tmp_path)
    assert changed(tmp_path, rows=rows) is None


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 60_000, '{"form": 2}', "\0"])
def test_nor_does_what_is_no_board(tmp_path, text):
    board_beside(tmp_path / "s.db").write_text(text)
    assert read_board(tmp_path / "s.db") is None


def test_nobody_waits_at_a_pipe(tmp_path):
    os.mkfifo(board_beside(tmp_path / "s.db"))
    assert read_board(tmp_path / "s.db") is None


def test_a_campaign_with_very_many_workers_has_a_small_board(tmp_path):
    written(tmp_path, [Doing(f"worker {k}", "x" * 10_000, 1.0, k) for k in range(10 * MOST_ROWS)])
    board = read_board(tmp_path / "s.db")
    assert len(board.rows) == MOST_ROWS and board.more == 9 * MOST_ROWS and board_beside(tmp_path / "s.db").stat().st_size < 1 << 16


def test_where_nothing_can_be_written_the_campaign_goes_on(tmp_path):
    board_beside(tmp_path / "s.db").with_name("s.db.now.part").mkdir()
    written(tmp_path).close()
    assert read_board(tmp_path / "s.db") is None
