"""Where campaigns are kept."""

from gradfuzz.store.lock import Claim
from gradfuzz.store.reading import Lesson, Pending
from gradfuzz.store.records import Records
from gradfuzz.store.store import Store

__all__ = ["Claim", "Lesson", "Pending", "Records", "Store"]
