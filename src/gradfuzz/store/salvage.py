"""Reading a table of a file that may be damaged: rows that cannot be reached are stepped over and counted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

# After so many numbers in a row behind which nothing can be reached there is nothing more to be had.
MOST_MISSES = 4096


def rows(db: sqlite3.Connection, table: str, lost: Callable[[int], None]) -> Iterator[sqlite3.Row]:
    """Every row that can be reached, by its number; `lost` is told how many could not, as far as that can be known.

    The table itself is read, never an index: those may be damaged where the rows are whole.
    """
    last, after, misses = 0, 0, 0
    while misses <= MOST_MISSES:
        try:
            for row in db.execute(f"select rowid as row_number, * from {table} not indexed where rowid > ? order by rowid", (after,)):
                number = row["row_number"]
                if not isinstance(number, int) or number <= after:
                    break  # pages that point in circles
                if misses:
                    lost(max(1, min(number - last - 1, misses)))
                last, after, misses = number, number, 0
                yield row
            else:
                if misses:
                    lost(1)
                return
        except (sqlite3.Error, MemoryError, OverflowError):
            pass
        after, misses = after + 1, misses + 1
    lost(1)


def tables(db: sqlite3.Connection) -> set[str]:
    """The tables that there are."""
    try:
        return {row[0] for row in db.execute("select name from sqlite_master where type = 'table'")}
    except sqlite3.Error:
        return set()
