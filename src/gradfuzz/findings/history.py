"""What releases have said of a finding, put together: since when it is there, and whether it came back."""

from __future__ import annotations

from collections.abc import Mapping

from gradfuzz.envs.versions import order

# What a release says of a finding.
SHOWS, GONE, CANNOT = "shows", "gone", "cannot run"
SAID = (SHOWS, GONE, CANNOT)


def regressed(said: Mapping[str, str], version: str) -> bool:
    """Whether it shows in this release, did not in an older one, and did in one that is older still."""
    older = [said[v] for v in sorted(said, key=order) if order(v) < order(version) and said[v] != CANNOT]
    gone = [i for i, word in enumerate(older) if word == GONE]
    return said.get(version) == SHOWS and bool(gone) and SHOWS in older[: gone[-1]]


def since(said: Mapping[str, str]) -> str:
    """Since when it is there and until when, as far as releases were tried; nothing where only one was."""
    tried = [v for v in sorted(said, key=order) if said[v] != CANNOT]
    if len(tried) < 2:
        return ""
    turns = [(before, after) for before, after in zip(tried, tried[1:]) if said[before] != said[after]]
    if turns:
        words = {SHOWS: "shows it", GONE: "does not"}
        return "; ".join(f"{before} {words[said[before]]}, {after} {words[said[after]]}" for before, after in turns)
    return f"every release tried {'shows it' if said[tried[0]] == SHOWS else 'is without it'}: {', '.join(tried)}"
