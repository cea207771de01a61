"""The checker of histories, by histories made by hand: one for each anomaly, and harmless ones."""

from __future__ import annotations

import pytest

from tests.history.anomalies import Anomaly, find_anomalies
from tests.history.history import Append, Outcome, Read, Transaction, transactions


def txn(name: str, text: str, outcome: str = "committed", at: str = "") -> Transaction:
    """``x+1`` appends 1 to x, ``x=1,2`` reads it; ``at`` is begin-end."""
    ops: list[Append | Read] = []
    for word in text.split():
        key, sign, rest = word[0], word[1], word[2:]
        values = tuple(int(v) for v in rest.split(",") if v)
        ops.append(Append(key, *values) if sign == "+" else Read(key, values))
    begin, _, end = at.partition("-")
    times = (int(begin) if begin else None, int(end) if end else None)
    return Transaction(name, tuple(ops), Outcome(outcome), *times)


def found(*history: Transaction) -> set[Anomaly]:
    return {finding.anomaly for finding in find_anomalies(history)}


HARMLESS = {
    "nothing": [],
    "one after the other": [
        txn("A", "x+1 y+2", at="1-2"), txn("B", "x=1 x+3 x=1,3", at="3-4"),
        txn("C", "x=1,3 y=2", at="5-6"),
    ],
    "two appends of one": [txn("A", "x+1 x+2"), txn("B", "x=1,2")],
    "own appends, not yet seen by others": [txn("A", "x= x+1 x=1 x+2 x=1,2"), txn("B", "x=")],
    "an aborted append": [txn("A", "x+1", "aborted"), txn("B", "x= x+2"), txn("C", "x=2")],
    "what aborted may have seen anything": [txn("A", "x=9 x=", "aborted")],
    "unknown, and not committed": [txn("A", "x+1", "unknown", "1-"), txn("B", "x=", at="5-6")],
    "unknown, and committed": [txn("A", "x+1", "unknown", "1-"), txn("B", "x=1", at="5-6")],
    "overlapping reads": [txn("A", "x+1", at="1-6"), txn("B", "x=", at="2-8")],
    "write skew": [
        txn("A", "x= y= x+1", at="1-9"), txn("B", "x= y= y+2", at="1-9"),
        txn("C", "x=1 y=2", at="10-11"),
    ],
}  # fmt: skip

FOUND = {
    "writes in different orders": (
        [txn("A", "x+1 y+2"), txn("B", "x+3 y+4"), txn("C", "x=1,3"), txn("D", "y=4,2")],
        {Anomaly.DIRTY_WRITE},
    ),
    "a write between two of another one": (
        [txn("A", "x+1 x+2"), txn("B", "x+3"), txn("C", "x=1,3,2")],
        {Anomaly.DIRTY_WRITE},
    ),
    "a value of an aborted transaction": (
        [txn("A", "x+1", "aborted"), txn("B", "x=1")],
        {Anomaly.ABORTED_READ},
    ),
    "half of a transaction in one list": (
        [txn("A", "x+1 x+2"), txn("B", "x=1"), txn("C", "x=1,2")],
        {Anomaly.INTERMEDIATE_READ},
    ),
    "each reads the other": (
        [txn("A", "x+1 y=2"), txn("B", "y+2 x=1")],
        {Anomaly.CIRCULAR_READ},
    ),
    "half of a transaction in two lists": (
        [txn("A", "x+1 y+2"), txn("B", "x=1 y="), txn("C", "y=2")],
        {Anomaly.READ_SKEW},
    ),
    "a snapshot that is not the same for all readers": (
        # A before B for R, B before A for S: two anti-dependencies, but never one after the other.
        [txn("A", "x+1"), txn("B", "y+2"), txn("R", "x=1 y="), txn("S", "x= y=2")],
        {Anomaly.SNAPSHOT},
    ),
    "a lost update, both there": (
        [txn("A", "x= x+1"), txn("B", "x= x+2"), txn("C", "x=1,2")],
        {Anomaly.LOST_UPDATE, Anomaly.READ_SKEW},
    ),
    "a lost update, one of them gone": (
        [txn("A", "x= x+1", at="1-5"), txn("B", "x= x+2", at="2-6"), txn("C", "x=2", at="7-8")],
        {Anomaly.LOST_UPDATE, Anomaly.LOST_APPEND, Anomaly.READ_SKEW, Anomaly.STALE_READ},
    ),
    "an append that is gone": (
        [txn("A", "x+1", at="1-2"), txn("B", "x=", at="3-4")],
        {Anomaly.LOST_APPEND, Anomaly.STALE_READ},
    ),
    "time in a circle": (
        # B began after A's end and has not seen what A had seen.
        [txn("W", "y+1", at="1-9"), txn("A", "y=1", at="2-3"), txn("B", "y=", at="4-5")],
        {Anomaly.STALE_READ},
    ),
    "an own append that is not read": ([txn("A", "x+1 x=")], {Anomaly.OWN_WRITES}),
    "a list that changes in a transaction": (
        [txn("A", "x+1"), txn("B", "x= x=1")],
        {Anomaly.OWN_WRITES},
    ),
    "different orders": (
        [txn("A", "x+1"), txn("B", "x+2"), txn("C", "x=1,2"), txn("D", "x=2")],
        {Anomaly.ORDER, Anomaly.READ_SKEW},
    ),
    "a value twice": ([txn("A", "x+1"), txn("B", "x=1,1")], {Anomaly.DOUBLED}),
    "a value of nobody": ([txn("A", "x=1")], {Anomaly.UNWRITTEN}),
}  # fmt: skip


@pytest.mark.parametrize("history", HARMLESS.values(), ids=HARMLESS)
def test_harmless(history: list[Transaction]) -> None:
    assert find_anomalies(history) == []


@pytest.mark.parametrize(("history", "anomalies"), FOUND.values(), ids=FOUND)
def test_found(history: list[Transaction], anomalies: set[Anomaly]) -> None:
    assert found(*history) == anomalies


def test_every_anomaly_has_a_history() -> None:
    assert set().union(*(anomalies for _, anomalies in FOUND.values())) == set(Anomaly)


def test_a_circle_is_drawn() -> None:
    [finding] = find_anomalies([txn("A", "x+1 y+2"), txn("B", "x=1 y="), txn("C", "y=2")])
    assert finding.what == "B -rw-> A -wr-> B"


def test_a_journal_that_breaks_off() -> None:
    lines = [
        '["begin", "A", 1]', '["read", "x", [1]]', '["append", "x", 2]', '["commit"]',
        '["end", "committed", 5]', '["begin", "B", 6]', '["append", "y", 3]', '["commit"]',
        '["begin", "C", 7]', '["append", "y", 4]',
    ]  # fmt: skip
    assert transactions(lines) == [
        Transaction("A", (Read("x", (1,)), Append("x", 2)), Outcome.COMMITTED, 1, 5),
        Transaction("B", (Append("y", 3),), Outcome.UNKNOWN, 6),
        Transaction("C", (Append("y", 4),), Outcome.ABORTED, 7),
    ]


def test_a_journal_without_a_line() -> None:
    assert transactions([]) == []
