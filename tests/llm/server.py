"""A server on loopback that speaks chat completions: what it answers is a function of the request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """One HTTP answer. `content`: the message of a well-formed completion; `body`: anything else, as it is."""

    content: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    finish: str = "stop"
    usage: bool = True
    delay: float = 0.0
    hang_up: bool = False  # in the middle of the body


def completion(request: dict[str, Any], answer: Answer) -> bytes:
    prompt = sum(len(m["content"]) for m in request["messages"]) // 4
    data: dict[str, Any] = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request["model"],
        "choices": [{"index": 0, "finish_reason": answer.finish, "message": {"role": "assistant", "content": answer.content}}],
    }  # fmt: skip
    if answer.usage:
        words = len(answer.content or "") // 4
        data["usage"] = {"prompt_tokens": prompt, "completion_tokens": words, "total_tokens": prompt + words}
    return json.dumps(data).encode()


def complaint(status: int, message: str, code: str | None = None, **headers: str) -> Answer:
    body = json.dumps({"error": {"message": message, "type": "error", "code": code}}).encode()
    return Answer(None, status, {k.replace("_", "-"): v for k, v in headers.items()}, body)


Speaker = Callable[[dict[str, Any], int], Answer]


class Server:
    """Runs in a thread for as long as the `with` lasts. `requests` are those it was sent, with their headers."""

    def __init__(self, speak: Speaker) -> None:
        self.speak = speak
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Server:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with outer._lock:
                    number = len(outer.requests)
                    outer.requests.append(request)
                    outer.headers.append({k.lower(): v for k, v in self.headers.items()})
                    outer.times.append(time.monotonic())
                    outer.at_once += 1
                    outer.most_at_once = max(outer.most_at_once, outer.at_once)
                try:
                    self._answer(request, outer.speak(request, number))
                finally:
                    with outer._lock:
                        outer.at_once -= 1

            def _answer(self, request: dict[str, Any], answer: Answer) -> None:
                time.sleep(answer.delay)
                body = answer.body if answer.body is not None else completion(request, answer)
                try:
                    self.send_response(answer.status)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(body)))
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body[: len(body) // 2] if answer.hang_up else body)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"


def asked(request: dict[str, Any]) -> str:
    """What the last message asks for: program, parameters, or the same again."""
    last = request["messages"][-1]["content"]
    if "was refused" in last or "were refused" in last:
        return "again"
    return "parameters" if "parameter sets for it" in last else "explain" if "most likely causes it" in last else "program"
