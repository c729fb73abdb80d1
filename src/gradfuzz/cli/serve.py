"""`gradfuzz serve`: the report while a campaign runs."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, records, say
from gradfuzz.report.serving import Server, is_loopback

PORT = 8642


def serve(
    store: StoreOption = DEFAULT_STORE,
    host: Annotated[str, typer.Option(help="The address to listen at; any but this machine's own needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes one that is free.")] = PORT,
    verbose: Annotated[bool, typer.Option("--verbose", help="A line for each request.")] = False,
) -> None:
    """Serve the report of a store, live while a campaign writes to it. Ctrl-C ends it.

    Nothing can be changed through it: the store is opened to read. It listens where only this machine can reach it, unless --host names
    another address; then whoever lacks the token that is printed is turned away. There is no encryption: put it behind a proxy that has.
    """
    with records(store):
        pass  # a store that is none is said now, not to whoever asks first
    token = "" if is_loopback(host) else secrets.token_urlsafe(24)
    with Server(store, host, port, token, say if verbose else lambda text: None) as server:
        say(f"serving {store} at {server.address}")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("stopped")
