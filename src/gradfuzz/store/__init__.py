"""Where campaigns are kept."""

from gradfuzz.store.store import Lesson, Store

__all__ = ["Lesson", "Store"]
