"""What the tests of this room share: a cache and a folder of their own, and no patience."""

from __future__ import annotations

import pytest

from gradfuzz.llm import client

KEY = "sk-test-1234567890-very-secret"


@pytest.fixture(autouse=True)
def own_place(tmp_path, monkeypatch):
    """Nothing of the user's: neither the cache, nor the key, nor the server."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.01)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gradfuzz" / "llm"
