"""`serve`: the page of a store, live, for whoever may see it and for nobody else. `watch`: the same store in a terminal."""

import http.client
import json
import os
import re
import threading
import time
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from gradfuzz.cli.app import app
from gradfuzz.report.serving import Server, is_loopback, stamp
from gradfuzz.store import Claim, Store
from gradfuzz.store.board import Doing, Writing, board_beside
from tests.report.stores import ONE, RAISES, hostile_store, store_of


@contextmanager
def serving(store, host="127.0.0.1", token=""):
    with Server(store, host, 0, token) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(server, path="/", method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), dict(answer.getheaders())


def test_the_page_is_served_and_changes_with_the_store(tmp_path):
    path = store_of(tmp_path / "s.db", ONE)
    before = path.read_bytes()
    with serving(path) as server:
        status, page, headers = ask(server)
        assert status == 200 and "connect-src 'self'" in page and headers["X-Content-Type-Options"] == "nosniff"
        now = ask(server, "/stamp")[1]
        assert f'"live":"{now}"' in page and path.read_bytes() == before  # read-only
        store = Store(path, create=False)
        store.add_finding(1, "new", RAISES)
        store.close()
        assert ask(server, "/stamp")[1] == now and "polar-2" not in ask(server)[1]  # pages may take a tenth of the time
        server.pages._rest = 0.0
        assert ask(server, "/stamp")[1] != now and "polar-2" in ask(server)[1] and "polar-2" not in page


def test_nothing_but_the_page_can_be_asked_for(tmp_path):
    with serving(store_of(tmp_path / "s.db", ONE)) as server:
        for path in ("/s.db", "/../s.db", "/%2e%2e/etc/passwd", "//etc/passwd", "/findings/sin-1.py"):
            assert ask(server, path)[0] == 404, path
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert ask(server, "/", method)[0] == 501


def test_a_page_elsewhere_cannot_make_a_browser_ask(tmp_path):
    with serving(store_of(tmp_path / "s.db", ONE)) as server:
        assert ask(server, Host="evil.example")[0] == 403 and ask(server, Host="localhost:1")[0] == 200


def test_whoever_lacks_the_token_gets_nothing(tmp_path):
    path = store_of(tmp_path / "s.db", ONE)
    with serving(path, "0.0.0.0", "secret") as server:
        for wrong in ("/", "/stamp", "/?token=", "/?token=secre", "/?token=secret2"):
            status, text, _ = ask(server, wrong)
            assert status == 403 and "sin" not in text
        assert ask(server, "/", Cookie="gradfuzz-token=nonsense; =;")[0] == 403
        status, _, headers = ask(server, "/?token=secret")
        assert status == 303 and headers["Location"] == "/" and "HttpOnly; SameSite=Strict" in headers["Set-Cookie"]
        assert ask(server, "/", Cookie=headers["Set-Cookie"].split(";")[0])[0] == 200
    with pytest.raises(ValueError):
        Server(path, "0.0.0.0", 0)


def test_which_addresses_are_this_machine_s_own():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))


def test_a_store_that_is_gone_is_said_to_whoever_asks(tmp_path):
    path = store_of(tmp_path / "s.db", ONE)
    with serving(path) as server:
        path.unlink()
        status, text, _ = ask(server)
        assert status == 503 and "there is no store" in text and stamp(path) == "-_-"


def test_serve_says_what_is_wrong_in_one_line(tmp_path):
    done = CliRunner().invoke(app, ["serve", "--store", str(tmp_path / "none.db")])
    assert done.exit_code == 2 and "there is no store" in done.output
    with serving(store_of(tmp_path / "s.db", ONE)) as server:
        taken = CliRunner().invoke(app, ["serve", "--store", str(tmp_path / "s.db"), "--port", str(server.server_address[1])])
    assert taken.exit_code == 2 and "cannot be listened at" in taken.output


def test_watch_shows_a_stored_campaign_once(tmp_path):
    done = CliRunner().invoke(app, ["watch", "--store", str(store_of(tmp_path / "s.db", ONE, RAISES))])
    told = " ".join(done.output.split())
    assert (
        done.exit_code == 0
        and "51 of 2 APIs" in told
        and "reverse rules 1 of 2" in told
        and "torch.sin: wrong gradient in reverse, proven" in told
    )


def running_store(tmp_path, *rows):
    """A store whose campaign this process runs, as far as anybody can tell."""
    path = store_of(tmp_path / "s.db", ONE)
    store = Store(path, create=False)
    store.set_status(1, "running")
    store.close()
    Writing(path, 1).write(lambda: rows)
    return path


DOING = (
    Doing("worker 1", "batch 7 of torch.sin, 3 of 20", 4.0, os.getpid()),
    Doing("worker 2", "confirming torch.polar", 65.0),
    Doing("post-mortem", "torch.cos: \x1b[31m<b>SIGSEGV</b>", 9.0),
)


def test_watch_says_what_each_worker_of_a_running_campaign_is_at(tmp_path):
    path = running_store(tmp_path, *DOING)
    with Claim(path):
        told = " ".join(CliRunner().invoke(app, ["watch", "--once", "--store", str(path)]).output.split())
    assert "batch 7 of torch.sin, 3 of 20 for 0:0" in told and "confirming torch.polar for 1:0" in told and "running" in told
    assert "time 2:40 by the clock; batches 57 %, waiting 29 %, confirming 14 %" in told


def test_watch_says_when_a_campaign_has_died_and_does_not_believe_its_board(tmp_path):
    path = running_store(tmp_path, *DOING)
    told = CliRunner().invoke(app, ["watch", "--store", str(path)]).output
    assert "ended without a word" in told and "polar" not in told  # nobody holds the lock


def test_a_campaign_that_says_nothing_any_more_is_told_as_such(tmp_path):
    path = running_store(tmp_path, *DOING)
    file = board_beside(path)
    file.write_text(json.dumps({**json.loads(file.read_text()), "written": time.time() - 100}))
    with Claim(path):
        assert "nothing was heard for 1:4" in CliRunner().invoke(app, ["watch", "--once", "--store", str(path)]).output


def test_what_workers_are_at_is_served_to_those_who_may_see_the_page(tmp_path):
    path = running_store(tmp_path, *DOING)
    with serving(path) as server:
        status, text, headers = ask(server, "/now")
        board = json.loads(text)
        assert status == 200 and headers["Content-Type"].startswith("application/json") and not board["old"]
        assert [row["what"] for row in board["rows"]] == [row.what for row in DOING]
        assert ask(server, "/now", Host="evil.example")[0] == 403
        board_beside(path).unlink()
        assert ask(server, "/now")[1] == "{}"
    with serving(path, "0.0.0.0", "secret") as server:
        assert ask(server, "/now")[0] == 403


def test_watch_lets_nothing_of_a_stranger_s_loose_on_the_terminal(tmp_path):
    done = CliRunner().invoke(app, ["watch", "--store", str(hostile_store(tmp_path / "s.db"))])
    assert done.exit_code == 0 and not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2028]", done.output)
