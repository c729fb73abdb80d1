"""Where campaigns are kept."""

from gradfuzz.store.store import Store

__all__ = ["Store"]
