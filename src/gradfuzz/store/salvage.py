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
        whole = True
        try:
            for row in db.execute(f"{_SELECT.format(table)} where rowid > ? order by rowid", (after,)):
                number = row["row_number"]
                if not isinstance(number, int) or number <= after:
                    whole = False  # pages that point in circles
                    break
                if misses:
                    lost(max(1, min(number - last - 1, misses)))
                last, after, misses = number, number, 0
                yield row
        except _UNREADABLE:
            whole = False
        if whole:
            if misses:
                lost(1)
            return
        # The row before one that cannot be read may go under with it: each is asked for by itself until the way on is clear.
        after += 1
        alone = _row(db, table, after)
        if alone is None:
            misses += 1
        else:
            if misses:
                lost(misses)
            last, misses = after, 0
            yield alone
    lost(1)


_SELECT = "select rowid as row_number, * from {} not indexed"
_UNREADABLE = (sqlite3.Error, MemoryError, OverflowError, ValueError)  # the last: names of columns that are no text


def _row(db: sqlite3.Connection, table: str, number: int) -> sqlite3.Row | None:
    try:
        found: sqlite3.Row | None = db.execute(f"{_SELECT.format(table)} where rowid = ?", (number,)).fetchone()
    except _UNREADABLE:
        return None
    return found if found is not None and found["row_number"] == number else None


def tables(db: sqlite3.Connection) -> set[str]:
    """The tables that there are."""
    try:
        return {row[0] for row in db.execute("select name from sqlite_master where type = 'table'")}
    except _UNREADABLE:
        return set()
