"""The way to a server that speaks chat completions: tries again, waits as it is told to, and never lets the key out."""

from __future__ import annotations

import email.utils
import random
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any
from urllib.parse import urlsplit

from gradfuzz.errors import GradfuzzError
from gradfuzz.llm.cache import Messages, Reply

TRIES = 6
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # between tries, doubled each time, with some chance in it
LONGEST_WAIT = 600.0  # that a server may ask for
TIMEOUT = 180.0
KEY = "OPENAI_API_KEY"
# What servers can be held to, the best first: a schema, some JSON, nothing.
FORMS = ("json_schema", "json_object", None)
NO_KEY = "no-key"  # what servers of one's own are told, which do not look at it
HIDDEN = "[key]"


class Unanswered(GradfuzzError):
    """One request had no answer after all tries; others may have."""


class Client:
    """Asks one model. Many threads may ask at once; if the server tells one to wait, all do."""

    def __init__(
        self, model: str, base_url: str | None, key: str | None, timeout: float = TIMEOUT, tries: int = TRIES,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:  # fmt: skip
        if not key and not base_url:
            raise GradfuzzError(f"there is no key: set {KEY}, or name a server of your own with --base-url http://localhost:8000/v1")
        try:
            import openai
        except ImportError:
            raise GradfuzzError("the openai client is not installed; get it with: pip install 'gradfuzz[llm]'") from None
        self._openai: Any = openai
        self.model, self.tries, self.say = model, tries, say
        self.where = _shown(base_url) if base_url else "the OpenAI API"
        self._secret = key or ""
        try:
            self._client = openai.OpenAI(api_key=key or NO_KEY, base_url=base_url, timeout=timeout, max_retries=0)
        except Exception as error:
            raise GradfuzzError(f"--base-url {self.where} cannot be used: {self.hide(str(error))[:200]}") from None
        # Servers of one's own know the older name of the limit, OpenAI's newer models only the newer one.
        self._limit_name = "max_tokens" if base_url else "max_completion_tokens"
        self._form = 0  # of FORMS: how the server is told what an answer looks like
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._answered = False
        self._stopping = threading.Event()

    def hide(self, text: str) -> str:
        """Text of a server's, which may repeat what it was sent, without the key."""
        return text.replace(self._secret, HIDDEN) if self._secret else text

    def stop(self) -> None:
        """No more tries, no more waiting."""
        self._stopping.set()

    def ask(self, messages: Messages, form: str, schema: dict[str, Any], most: int) -> Reply:
        """One answer. Unanswered if there is none after all tries, GradfuzzError if no other request can fare better."""
        openai, why = self._openai, ""
        for attempt in range(self.tries):
            self._wait_turn()
            used = self._form
            try:
                return self._once(messages, form, schema, most)
            except openai.AuthenticationError:
                raise GradfuzzError(f"{self.where} does not accept the key; set {KEY}") from None
            except openai.PermissionDeniedError as error:
                raise GradfuzzError(f"{self.where} refuses: {self._message(error)}") from None
            except openai.NotFoundError as error:
                raise GradfuzzError(f"{self.where} has no model {self.model!r} or is no chat server: {self._message(error)}") from None
            except openai.RateLimitError as error:
                why = self._message(error)
                if getattr(error, "code", None) == "insufficient_quota":
                    raise GradfuzzError(f"{self.where}: the account has no money left; answers so far are kept: {why}") from None
                self._postpone(_retry_after(error), attempt)
            except (openai.APIConnectionError, openai.APITimeoutError) as error:
                timed_out = isinstance(error, openai.APITimeoutError)
                why = "no answer in time" if timed_out else f"cannot be reached ({self._cause(error)})"
                if not self._answered and not timed_out and attempt >= 1:
                    raise GradfuzzError(f"{self.where} {why}; start the server or correct --base-url") from None
                self._postpone(None, attempt)
            except openai.APIStatusError as error:
                why = self._message(error)
                if self._adapt(error.status_code, why, used):
                    continue
                if error.status_code < 500 and error.status_code not in (408, 409):
                    raise Unanswered(f"{self.where} refuses this request ({error.status_code}): {why}") from None
                self._postpone(_retry_after(error), attempt)
            except (openai.APIError, ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
                why = f"an answer that is none ({type(error).__name__})"
                self._postpone(None, attempt)
        raise Unanswered(f"{self.where}: {why} after {self.tries} tries")

    def _once(self, messages: Messages, form: str, schema: dict[str, Any], most: int) -> Reply:
        options: dict[str, Any] = {self._limit_name: most}
        kind = FORMS[self._form]
        if kind == "json_schema":
            options["response_format"] = {"type": kind, "json_schema": {"name": form, "strict": True, "schema": schema}}
        elif kind is not None:
            options["response_format"] = {"type": kind}
        answer = self._client.chat.completions.create(model=self.model, messages=messages, **options)
        choice = answer.choices[0]
        content = choice.message.content or getattr(choice.message, "refusal", None) or ""
        if not isinstance(content, str):
            raise TypeError("an answer that is no text")
        self._answered = True
        usage = answer.usage
        prompt, completion = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
        counted = _is_count(prompt) and _is_count(completion)
        if not counted:
            prompt, completion = estimate(messages), len(content) // 4 + 1
        finish = str(choice.finish_reason or "stop") if choice.message.content else "refusal"
        return Reply(self.hide(content), finish, int(prompt or 0), int(completion or 0), not counted)

    def _adapt(self, status: int, why: str, used: int) -> bool:
        """Whether there is another way to say the same to a server that calls a request wrong; some call that an error of their own.

        `used`: the form of the request. One that has been answered in it before is wrong for another reason, unless the server says so.
        """
        named = any(word in why for word in ("response_format", "json_schema", "json_object"))
        if status not in (400, 422) and not named:
            return False
        with self._lock:
            if self._form != used:
                return True  # another thread has met the same
            if "max_completion_tokens" in why or "max_tokens" in why:
                other = "max_completion_tokens" if self._limit_name == "max_tokens" else "max_tokens"
                if other in why:
                    self._limit_name = other
                    return True
            if FORMS[self._form] is None or (self._answered and not named):
                return False
            self._form += 1
            self.say(f"the server has no structured outputs of that kind; asking for {FORMS[self._form] or 'JSON in plain words'}")
            return True

    # Waiting -------------------------------------------------------------------------------------------------------------

    def _postpone(self, seconds: float | None, attempt: int) -> None:
        """Nobody asks before so many seconds have passed; by default longer after each try."""
        if seconds is None:
            seconds = min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt) * random.uniform(0.5, 1.0)
        elif seconds > LONGEST_WAIT:
            raise GradfuzzError(f"{self.where} asks to wait for {seconds:.0f} s; run the same command then: what was answered is kept")
        elif seconds > FIRST_PAUSE:
            self.say(f"{self.where} asks to wait for {seconds:.0f} s")
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)

    def _wait_turn(self) -> None:
        while (left := self._not_before - time.monotonic()) > 0 or self._stopping.is_set():
            if self._stopping.wait(max(0.0, left)):
                raise Unanswered("stopped")

    def _message(self, error: Any) -> str:
        """What the server says, in one line, without the key."""
        body = error.body if isinstance(getattr(error, "body", None), dict) else {}
        text = str(body.get("message") or getattr(error, "message", "") or error)
        return " ".join(self.hide(text).split())[:300]

    def _cause(self, error: Any) -> str:
        cause = error.__cause__
        while getattr(cause, "__cause__", None) is not None:
            cause = cause.__cause__
        return self.hide(" ".join(str(cause or error).split()))[:120]


def _retry_after(error: Any) -> float | None:
    """Seconds that the server asks to wait, in any of the ways to say so."""
    headers = error.response.headers
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers["retry-after"]))
    except KeyError:
        return None
    except ValueError:
        pass
    try:
        when = email.utils.parsedate_to_datetime(headers["retry-after"])
        return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())
    except (ValueError, TypeError):
        return None


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**40


def estimate(messages: Messages) -> int:
    """About how many tokens a prompt has: four characters each."""
    return sum(len(m["content"]) for m in messages) // 4 + 4 * len(messages)


def most_tokens(messages: Messages) -> int:
    """No prompt has more tokens than bytes, and a few around each message."""
    return sum(len(m["content"].encode("utf-8", "replace")) + 16 for m in messages)


def _shown(url: str) -> str:
    """An address without what may be secret in it."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}" if host else "the server"
