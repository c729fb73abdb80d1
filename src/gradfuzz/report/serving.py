"""The report over HTTP while a campaign runs: it reads, answers GET alone, and shows a page anew when the store has changed."""

from __future__ import annotations

import hmac
import ipaddress
import json
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from gradfuzz.errors import GradfuzzError
from gradfuzz.report.html import page
from gradfuzz.report.model import report_of
from gradfuzz.store import Records
from gradfuzz.store.board import read_board

# Making pages may take this part of the time: a campaign wants the processor for itself.
SHARE = 0.1
COOKIE = "gradfuzz-token"
LOCAL = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def stamp(store: Path) -> str:
    """What a store's file looks like: another text whenever something was written to it."""
    seen = []
    for end in ("", "-wal"):
        try:
            about = store.with_name(store.name + end).stat()
            seen.append(f"{about.st_mtime_ns:x}.{about.st_size:x}")
        except OSError:
            seen.append("-")
    return "_".join(seen)


class Pages:
    """The page of a store, made anew when the store has changed, somebody asks and it is time; for one at a time."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._made: tuple[str, bytes] = ("", b"")
        self._rest = 0.0  # until then the page stays as it is

    def page(self) -> bytes:
        with self._lock:
            now = self.stamp()
            if self._made[0] != now:
                began = time.monotonic()
                with Records(self.store) as opened:
                    self._made = (now, page(report_of(opened), live=now).encode("utf-8", "backslashreplace"))
                self._rest = time.monotonic() + (time.monotonic() - began) * (1 / SHARE - 1)
            return self._made[1]

    def stamp(self) -> str:
        """What the store looks like; what it looked like, while the page is not to be made anew. A store that is gone is said at once."""
        now = stamp(self.store)
        return self._made[0] if self._made[0] and time.monotonic() < self._rest and self.store.exists() else now


class Server(ThreadingHTTPServer):
    """Serves one store. Where others can reach it, whoever has no token gets nothing."""

    daemon_threads = True

    def __init__(self, store: Path, host: str, port: int, token: str = "", log: Callable[[str], None] = lambda text: None) -> None:
        if not is_loopback(host) and not token:
            raise ValueError("a token is needed where others can reach the server")
        self.pages, self.token, self.log = Pages(store), token, log
        self.local = is_loopback(host)
        try:
            super().__init__((host, port), Handler)
        except OSError as error:
            raise GradfuzzError(f"{host}:{port} cannot be listened at ({error.strerror}); name another with --host and --port") from None

    @property
    def address(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/" + (f"?token={self.token}" if self.token else "")


class Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "gradfuzz", ""

    def do_GET(self) -> None:
        split = urlsplit(self.path)
        if self.server.local and not self._asked_here():
            return self._say(HTTPStatus.FORBIDDEN, "this server is for this machine alone")
        if self.server.token and not self._known(split.query):
            return self._say(HTTPStatus.FORBIDDEN, "open the address that `gradfuzz serve` printed, with its token")
        if self.server.token and "token" in parse_qs(split.query):
            return self._welcome()
        if split.path == "/stamp":
            return self._say(HTTPStatus.OK, self.server.pages.stamp())
        if split.path == "/now":
            board = read_board(self.server.pages.store)
            return self._send(HTTPStatus.OK, json.dumps(board.to_json() if board is not None else {}).encode(), "application/json")
        if split.path != "/":
            return self._say(HTTPStatus.NOT_FOUND, "there is one page: /")
        try:
            content = self.server.pages.page()
        except GradfuzzError as error:
            return self._say(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        return self._send(HTTPStatus.OK, content, "text/html")

    def _asked_here(self) -> bool:
        """Whether it was this machine's name that was asked for: another one means a page elsewhere that makes a browser ask."""
        name = (self.headers.get("Host") or "").rsplit(":", 1)[0].strip("[]")
        return name in LOCAL or is_loopback(name)

    def _known(self, query: str) -> bool:
        try:
            cookie = SimpleCookie(self.headers.get("Cookie") or "").get(COOKIE)
        except CookieError:
            cookie = None
        said = [*parse_qs(query).get("token", ()), *([cookie.value] if cookie else [])]
        return any(hmac.compare_digest(word.encode(), self.server.token.encode()) for word in said)

    def _welcome(self) -> None:
        """The token goes from the address, which people share, into a cookie."""
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", "/")
        self.send_header("Set-Cookie", f"{COOKIE}={self.server.token}; HttpOnly; SameSite=Strict; Path=/")
        self._end(0)

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._send(status, text.encode("utf-8", "backslashreplace"), "text/plain")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self._end(len(content))
        self.wfile.write(content)

    def _end(self, size: int) -> None:
        for name, value in (
            ("Content-Length", str(size)), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        self.server.log(format % arguments)
