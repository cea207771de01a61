"""First committer wins, over literals."""

import pytest

from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from acidsql.txn.components import TxnComponent
from acidsql.txn.conflict import Winner, first_conflict, latest_conflict
from acidsql.txn.entities import Txn, TxnState, TxnType, WriteOperation, WriteSetEntry

T = TableName("db", "t")


def entry(txn_id, commit_id, place="t", *, partition=None, operation="u", database="db"):
    return WriteSetEntry(
        database, place, partition, TxnId(txn_id), TxnId(commit_id), WriteOperation(operation)
    )


@pytest.mark.parametrize(
    ("own", "other", "conflict"),
    [
        ((18, 19), (17, 18), True),
        ((17, 20), (18, 19), True),
        ((21, 21), (17, 20), False),
        ((20, 21), (17, 20), True),
    ],
)
def test_intervals_that_meet_overlap(own, other, conflict):
    assert (first_conflict([entry(*own)], [entry(*other)]) is not None) is conflict


def test_own_entries_are_no_conflict():
    assert first_conflict([entry(5, 6)], [entry(5, 6)]) is None


def test_the_partition_is_named():
    own = [entry(5, 6, partition="p=1"), entry(5, 6, partition="p=2")]
    conflict = first_conflict(own, [entry(6, 6, partition="p=2", operation="d")])
    assert str(conflict) == (
        "Aborting [txnid:5,6] due to a write conflict on db/t/p=2 committed by [txnid:6,6] u/d"
    )
    winner = Txn(TxnId(6), TxnState.COMMITTED, TxnType.DEFAULT, 0, 0, "ann", "host1")
    named = conflict.error(winner)
    assert (named.other_user, named.other_host) == ("ann", "host1")
    assert str(named.detail).startswith("Transaction 6 by ann@host1 committed first; ")
    error = conflict.error(None)
    assert (error.other_user, error.other_host) == (None, None)
    assert (error.table, error.partition, error.txn_id, error.other_txn_id) == (
        "db.t",
        "p=2",
        5,
        6,
    )
    assert error.detail == "Transaction 6 committed first; transaction 5 is rolled back."
    assert error.hint == "Run the statement again."


@pytest.mark.parametrize(
    "other",
    [
        entry(6, 6, place="u"),
        entry(6, 6, database="elsewhere"),
        entry(6, 6, partition="p=1"),
        entry(6, 6, operation="i"),
    ],
)
def test_what_does_not_conflict(other):
    assert first_conflict([entry(5, 6)], [other]) is None


def test_the_order_of_the_entries_does_not_matter():
    own = [entry(5, 9, "b"), entry(5, 9, "a")]
    others = [entry(8, 8, "b"), entry(7, 7, "a"), entry(6, 6, "a")]
    found = {str(first_conflict(o, c)) for o in (own, own[::-1]) for c in (others, others[::-1])}
    assert len(found) == 1
    assert "db/a committed by [txnid:6,6]" in found.pop()


def component(partition, operation="u"):
    return TxnComponent(TxnId(5), "db", "t", partition, WriteOperation(operation), None)


@pytest.mark.parametrize(
    ("own", "winner"),
    [
        ([component(None)], Winner(8, T, "p=2")),
        ([component("p=1")], Winner(7, T, "p=1")),
        ([component("p=3")], None),
        ([component(None, "i")], None),
        ([], None),
    ],
)
def test_latest_conflict(own, winner):
    committed = [
        entry(4, 4, partition="p=3"),
        entry(7, 7, partition="p=1"),
        entry(8, 8, partition="p=2", operation="d"),
        entry(9, 9, partition="p=1", operation="i"),
        entry(9, 9, "u"),
        entry(5, 9, partition="p=1"),
    ]
    assert latest_conflict(TxnId(5), own, (), committed) == winner
