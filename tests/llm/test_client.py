"""The client against a real server on loopback: what it sends, what it bears, what it never tells."""

from __future__ import annotations

import email.utils
import json
import socket
import time

import pytest

pytest.importorskip("openai")

from gradfuzz.errors import GradfuzzError
from gradfuzz.llm.answers import PROGRAMS
from gradfuzz.llm.asking import Ask, Asking
from gradfuzz.llm.cache import Cache
from gradfuzz.llm.client import Client, Unanswered
from gradfuzz.llm.ledger import Ledger
from gradfuzz.llm.prices import Price, price_of
from tests.llm.conftest import KEY
from tests.llm.server import Answer, Server, complaint

ASKED = [{"role": "user", "content": "write a program"}]
GOOD = Answer('{"programs": []}')


def ask(server, **more):
    return Client("m", server.url, KEY, **{"timeout": 5.0, **more}).ask(ASKED, "programs", PROGRAMS, 100)


def first_then(*answers):
    """These answers in their order, then good ones."""
    return lambda _, number: answers[number] if number < len(answers) else GOOD


def test_it_asks_for_a_form_and_a_length_and_counts_tokens():
    with Server(lambda *_: GOOD) as server:
        reply = ask(server)
    request = server.requests[0]
    assert request["model"] == "m" and request["messages"] == ASKED and request["max_tokens"] == 100
    assert request["response_format"]["json_schema"]["schema"] == PROGRAMS and request["response_format"]["json_schema"]["strict"]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert reply.content == GOOD.content and reply.tokens > 0 and not reply.estimated


def test_a_server_without_structured_outputs_is_asked_in_plainer_ways():
    def speak(request, _):
        form = request.get("response_format", {}).get("type")
        return GOOD if form is None else complaint(400, f"response_format {form} is not supported")

    said = []
    with Server(speak) as server:
        client = Client("m", server.url, KEY, say=said.append)
        client.ask(ASKED, "programs", PROGRAMS, 100)
        client.ask(ASKED, "programs", PROGRAMS, 100)
    forms = [request.get("response_format", {}).get("type") for request in server.requests]
    assert forms == ["json_schema", "json_object", None, None]  # it remembers
    assert any("plain words" in line for line in said)


def test_some_call_a_form_they_do_not_know_an_error_of_their_own():
    wrong = complaint(500, "validation error: response_format: input should be 'text' or 'json_object'")
    with Server(lambda r, _: wrong if r.get("response_format", {}).get("type") == "json_schema" else GOOD) as server:
        assert ask(server).content == GOOD.content
    assert len(server.requests) == 2


def test_a_request_that_is_wrong_otherwise_is_given_up_and_does_not_change_the_form():
    with Server(first_then(GOOD, complaint(400, "the prompt is too long"))) as server:
        client = Client("m", server.url, KEY)
        client.ask(ASKED, "programs", PROGRAMS, 100)
        with pytest.raises(Unanswered, match="too long"):
            client.ask(ASKED, "programs", PROGRAMS, 100)
        client.ask(ASKED, "programs", PROGRAMS, 100)
    assert all(request["response_format"]["type"] == "json_schema" for request in server.requests)


def test_the_limit_of_an_answer_has_two_names():
    wrong = complaint(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    with Server(lambda r, _: wrong if "max_tokens" in r else GOOD) as server:
        ask(server)
    assert server.requests[-1]["max_completion_tokens"] == 100 and "response_format" in server.requests[-1]


@pytest.mark.parametrize("header", ["seconds", "milliseconds", "date"])
def test_it_waits_as_long_as_the_server_says(header):
    wait = 0.4
    told = {
        "seconds": {"retry_after": str(wait)},
        "milliseconds": {"retry_after_ms": str(1000 * wait)},
        "date": {"retry_after": email.utils.formatdate(time.time() + 2, usegmt=True)},
    }[header]
    with Server(first_then(complaint(429, "slow down", **told))) as server:
        ask(server)
    assert len(server.requests) == 2 and server.times[1] - server.times[0] >= wait


def test_if_one_is_told_to_wait_all_do(tmp_path, own_cache):
    with Server(first_then(complaint(429, "slow down", retry_after="0.6"))) as server:
        asking = books(server, tmp_path, workers=2)
        client_asks = [Ask(i, "program", [{"role": "user", "content": f"p{i}"}], "programs", PROGRAMS) for i in range(4)]
        found = asking.all(client_asks, "programs")
    later = [t for t in server.times if t > server.times[0] + 0.3]
    assert len(found) == 4 and len(later) >= 2 and min(later) - server.times[0] >= 0.55


def test_a_server_that_asks_for_an_hour_ends_the_command():
    with Server(lambda *_: complaint(429, "slow down", retry_after="3600")) as server, pytest.raises(GradfuzzError, match="3600 s"):
        ask(server)


@pytest.mark.parametrize(
    "trouble",
    [
        complaint(500, "internal"),
        complaint(503, "overloaded"),
        Answer(body=b"{not json"),
        Answer(body=b'{"choices": []}'),
        Answer(body=b"[]"),
        Answer(body=b'{"choices": [{"message": {"content": 7}}]}'),
        Answer("x" * 1000, hang_up=True),
        Answer("late", delay=1.5),
    ],
    ids=["500", "503", "malformed", "no choices", "a list", "no text", "cut short", "late"],
)
def test_trouble_once_is_no_trouble(trouble):
    with Server(first_then(trouble)) as server:
        assert ask(server, timeout=0.7).content == GOOD.content
    assert len(server.requests) == 2


def test_trouble_every_time_is_told_in_one_line():
    with Server(lambda *_: complaint(500, "internal\nerror")) as server, pytest.raises(Unanswered) as caught:
        ask(server, tries=3)
    assert len(server.requests) == 3 and "internal error after 3 tries" in str(caught.value) and "\n" not in str(caught.value)


def test_a_server_that_does_not_count_tokens_is_estimated():
    with Server(lambda *_: Answer("x" * 400, usage=False)) as server:
        reply = ask(server)
    assert reply.estimated and 50 <= reply.completion_tokens <= 400


def test_a_model_that_declines_gives_a_reply_of_that_kind():
    body = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None, "refusal": "no"}}]}
    with Server(lambda *_: Answer(body=json.dumps(body).encode())) as server:
        reply = ask(server)
    assert (reply.content, reply.finish) == ("no", "refusal")


# What ends the command ---------------------------------------------------------------------------------------------------


def test_without_key_and_server_it_says_so():
    with pytest.raises(GradfuzzError, match=r"set OPENAI_API_KEY, or name a server of your own with --base-url"):
        Client("m", None, None)


def test_a_server_of_ones_own_needs_no_key():
    with Server(lambda *_: GOOD) as server:
        Client("m", server.url, None).ask(ASKED, "programs", PROGRAMS, 100)
    assert server.headers[0]["authorization"] == "Bearer no-key"


def test_a_server_that_is_not_there_is_told_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://user:pass@127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(GradfuzzError, match="cannot be reached") as caught:
        Client("m", url, KEY).ask(ASKED, "programs", PROGRAMS, 100)
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize(
    "answer, told",
    [
        (complaint(401, f"Incorrect API key provided: {KEY}"), "does not accept the key"),
        (complaint(404, "The model `m` does not exist"), "has no model 'm'"),
        (complaint(403, f"{KEY} is not allowed here"), r"\[key\] is not allowed here"),
        (complaint(429, "You exceeded your current quota", "insufficient_quota"), "no money left"),
    ],
)
def test_what_no_other_request_could_mend_ends_it(answer, told):
    with Server(lambda *_: answer) as server, pytest.raises(GradfuzzError, match=told) as caught:
        ask(server)
    assert len(server.requests) == 1 and KEY not in str(caught.value) and not isinstance(caught.value, Unanswered)


def test_a_server_that_repeats_the_key_does_not_get_it_into_a_reply():
    with Server(lambda *_: Answer(f"your key is {KEY}!")) as server:
        assert ask(server).content == "your key is [key]!"


# The books -----------------------------------------------------------------------------------------------------------------


def books(server, folder, workers=3, price=None, tokens=None, cost=None):
    class Meter:
        def begin(self, *_): ...
        def advance(self, *_): ...
        def say(self, *_): ...

    ledger = Ledger.read(folder)
    return Asking(Client("m", server.url, KEY), Cache(ledger.owner()), ledger, price, workers, tokens, cost, Meter())


def asks(count):
    return [Ask(i, "program", [{"role": "user", "content": f"program {i}"}], "programs", PROGRAMS) for i in range(count)]


def test_what_was_answered_is_not_asked_again(tmp_path, own_cache):
    with Server(lambda *_: GOOD) as server:
        first = books(server, tmp_path / "a", price=Price(1.0, 2.0))
        first.all(asks(5), "programs")
        assert len(server.requests) == 5 and first.ledger.totals.cost > 0
        again = books(server, tmp_path / "a")
        assert len(again.all(asks(5), "programs")) == 5
        elsewhere = books(server, tmp_path / "b")
        assert len(elsewhere.all(asks(5), "programs")) == 5
    assert len(server.requests) == 5
    assert again.ledger.totals.tokens == first.ledger.totals.tokens  # paid for once
    assert elsewhere.ledger.totals.tokens == 0 and elsewhere.ledger.totals.cached == 5


def test_another_model_or_prompt_is_another_question(own_cache):
    keys = {Cache.key(model, [{"role": "user", "content": text}], "programs") for model in "ab" for text in "cd"}
    assert len(keys) == 4


def test_an_answer_that_was_kept_when_the_process_died_is_booked_as_paid(tmp_path, own_cache):
    """The file of the cache is written first: if the process dies before the book is, the money is not forgotten."""
    with Server(lambda *_: GOOD) as server:
        asking = books(server, tmp_path / "a")
        ask_ = asks(1)[0]
        asking.cache.keep(
            asking.cache.key("m", ask_.messages, "programs"), "m", ask_.messages, Client("m", server.url, KEY).ask(ASKED, "f", PROGRAMS, 9)
        )
        before = len(server.requests)
        asking.all([ask_], "programs")
        assert len(server.requests) == before and asking.ledger.totals.tokens > 0


def test_a_torn_answer_in_the_cache_is_asked_for_again(tmp_path, own_cache):
    with Server(lambda *_: GOOD) as server:
        books(server, tmp_path / "a").all(asks(1), "programs")
        (file,) = own_cache.glob("*.json")
        file.write_text(file.read_text()[:40])
        books(server, tmp_path / "a").all(asks(1), "programs")
    assert len(server.requests) == 2


def test_no_more_requests_at_once_than_allowed(tmp_path, own_cache):
    with Server(lambda *_: Answer(GOOD.content, delay=0.1)) as server:
        books(server, tmp_path, workers=3).all(asks(9), "programs")
    assert 2 <= server.most_at_once <= 3


@pytest.mark.parametrize("limit", ["tokens", "cost"])
def test_a_budget_is_never_exceeded(tmp_path, own_cache, limit):
    with Server(lambda *_: Answer("x" * 8000)) as server:
        asking = books(server, tmp_path, workers=4, price=Price(10.0, 10.0), **{limit: 20_000 if limit == "tokens" else 0.2})
        found = asking.all(asks(50), "programs")
    assert asking.spent and 0 < len(found) < 50
    totals = asking.ledger.totals
    assert totals.tokens <= 20_000 and totals.cost <= 0.2


def test_a_line_of_the_book_that_was_cut_short_is_left_out(tmp_path):
    ledger = Ledger.read(tmp_path)
    ledger.add("round", ids=[1])
    ledger.path.write_bytes(ledger.path.read_bytes() + b'{"row": "round", "ids": [2')
    again = Ledger.read(tmp_path)
    again.add("round", ids=[3])
    assert [row["ids"] for row in Ledger.read(tmp_path).of("round")] == [[1], [3]]


def test_a_folder_goes_on_with_its_own_settings_only(tmp_path):
    Ledger.read(tmp_path).settings(model="a", target="torch")
    Ledger.read(tmp_path).settings(model="a", target="torch")
    with pytest.raises(GradfuzzError, match="begun with model 'a'"):
        Ledger.read(tmp_path).settings(model="b", target="torch")


def test_prices_are_data_or_said():
    assert price_of("gpt-4o-mini", None) == price_of("gpt-4o-mini-2024-07-18", None)
    assert price_of("nobody-knows", None) is None and price_of("gpt-4o-mini", None, own_server=True) is None
    assert price_of("nobody-knows", "1,2").of(10**6, 10**6) == 3.0
    for wrong in ("1", "a,b", "-1,2", "1,2,3", "inf,1"):
        with pytest.raises(GradfuzzError, match="--price"):
            price_of("m", wrong)
