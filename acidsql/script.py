"""Many statements: run them one by one, stop at the first error, stream the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from acidsql.grammar.split import split

if TYPE_CHECKING:
    from acidsql.session import Result

T = TypeVar("T")


def run_script(text: str, execute: Callable[[str, int, int], T]) -> Iterator[T]:
    """The result of each statement, each executed only when it is asked for.

    ``execute`` takes a statement and the line and column at which it starts. Its first error ends
    the script, and so does text that cannot be split; what ran before stays done.
    """
    for statement in split(text):
        yield execute(statement.text, statement.line, statement.column)


def summary(result: Result) -> str:
    """One line about what a statement did: its message, its counts and ids, or OK."""
    if result.message is not None:
        return result.message
    counts = [
        (count, verb)
        for count, verb in (
            (result.rows_inserted, "inserted"),
            (result.rows_updated, "updated"),
            (result.rows_deleted, "deleted"),
        )
        if count is not None
    ]
    if not counts:
        return "OK"
    told = [pair for pair in counts if pair[0]] or counts
    return ", ".join(f"{count_text(n, 'row')} {verb}" for n, verb in told) + _ids(result)


def count_text(count: int, noun: str) -> str:
    """A count with its noun.

    >>> count_text(1, "row"), count_text(3, "row")
    ('1 row', '3 rows')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _ids(result: Result) -> str:
    ids = [] if result.txn_id is None else [f"txn {result.txn_id}"]
    if len(result.write_ids) == 1:
        ids += [f"write id {write_id}" for write_id in result.write_ids.values()]
    else:
        ids += [f"{table} write id {write_id}" for table, write_id in result.write_ids.items()]
    return f" ({', '.join(ids)})" if ids else ""
