"""Requests: from the cache where they were answered before, within the budget, many at once, each in the book."""

from __future__ import annotations

import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Protocol

from gradfuzz.errors import GradfuzzError
from gradfuzz.llm.cache import Cache, Messages, Reply
from gradfuzz.llm.client import Client, Unanswered, most_tokens
from gradfuzz.llm.ledger import Ledger, Totals
from gradfuzz.llm.prices import Price

ANSWER_TOKENS = 4096  # the most that one answer may have


@dataclass(frozen=True)
class Ask:
    """One request."""

    id: int
    phase: str  # program, program again, parameters, parameters again, explain
    messages: Messages
    form: str
    schema: dict[str, Any]


class Meter(Protocol):
    """Who shows how far the requests are."""

    def begin(self, what: str, total: int) -> None: ...

    def advance(self, totals: Totals) -> None: ...

    def say(self, text: str) -> None: ...


class Spent(GradfuzzError):
    """The budget does not allow another request."""


class Asking:
    """Asks, and keeps the books. `tokens` and `cost` are limits on everything in this folder together; they are never exceeded as far as
    the server keeps to the length of answers that it is told."""

    def __init__(
        self, client: Client, cache: Cache, ledger: Ledger, price: Price | None, workers: int, tokens: int | None, cost: float | None,
        meter: Meter,
    ) -> None:  # fmt: skip
        self.client, self.cache, self.ledger, self.price = client, cache, ledger, price
        self.workers, self.tokens, self.cost, self.meter = workers, tokens, cost, meter
        self._lock = threading.Lock()
        self._reserved = [0, 0.0]  # tokens and money of requests on their way
        self.unanswered: list[str] = []
        self.spent = False  # some request was not made for want of budget

    def all(self, asks: list[Ask], what: str) -> dict[int, Reply]:
        """The replies by their requests' ids; those without an answer are missing. Ctrl-C waits for what is on its way: it is paid for."""
        found: dict[int, Reply] = {}
        if not asks:
            return found
        self.meter.begin(what, len(asks))
        executor = ThreadPoolExecutor(self.workers)
        futures: dict[Future[Reply | None], Ask] = {executor.submit(self.one, ask): ask for ask in asks}
        waiting = set(futures)
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    reply = future.result()
                    if reply is not None:
                        found[futures[future].id] = reply
                    self.meter.advance(self.ledger.totals)
        except BaseException:
            self.client.stop()
            raise
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
        return found

    def one(self, ask: Ask) -> Reply | None:
        """One reply; None where there is no answer or no money for it."""
        key = self.cache.key(self.client.model, ask.messages, ask.form)
        began = time.monotonic()
        kept = self.cache.find(key)
        if kept is not None:
            reply, ours = kept
            self._book(ask, key, reply, ours and not self.ledger.knows(key), began)
            return reply
        try:
            return self._paid(ask, key, began)
        except Spent:
            self.spent = True
        except Unanswered as error:
            self.unanswered.append(str(error))
        return None

    def _paid(self, ask: Ask, key: str, began: float) -> Reply:
        most = most_tokens(ask.messages), ANSWER_TOKENS
        bound = sum(most), self.price.of(*most) if self.price else 0.0
        with self._lock:
            totals = self.ledger.totals
            over = self.tokens is not None and totals.tokens + self._reserved[0] + bound[0] > self.tokens
            if over or (self.cost is not None and totals.cost + self._reserved[1] + bound[1] > self.cost):
                raise Spent
            self._reserve(bound, 1)
        try:
            reply = self.client.ask(ask.messages, ask.form, ask.schema, ANSWER_TOKENS)
            self.cache.keep(key, self.client.model, ask.messages, reply)
            self._book(ask, key, reply, True, began)
        finally:
            with self._lock:
                self._reserve(bound, -1)
        return reply

    def _reserve(self, bound: tuple[int, float], sign: int) -> None:
        self._reserved[0] += sign * bound[0]
        self._reserved[1] += sign * bound[1]

    def _book(self, ask: Ask, key: str, reply: Reply, paid: bool, began: float) -> None:
        cost = self.price.of(reply.prompt_tokens, reply.completion_tokens) if self.price else None
        self.ledger.reply(ask.id, ask.phase, key, self.client.model, reply, paid, cost, time.monotonic() - began)
