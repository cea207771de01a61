"""Random transactions of several clients against real metastores: what is seen, and what is not."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from acidsql.backends.metastore import MetastoreStore
from acidsql.errors import WriteConflictError
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList
from acidsql.txn.entities import LockComponent, LockState, LockType, WriteOperation
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive

_numbers = itertools.count(1)
WRITES = [WriteOperation.INSERT, WriteOperation.UPDATE, WriteOperation.DELETE]
CHANGES = WRITES[1:]


class Clients(RuleBasedStateMachine):
    """Two clients take turns; a model says what each snapshot shows and who loses."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.stores = [MetastoreStore(self.url, user=user) for user in ("ann", "bob")]
        number = next(_numbers)
        self.tables = [TableName("default", f"random{number}_{x}") for x in "ab"]
        self.steps = itertools.count(1)
        self.opened: dict[TxnId, int] = {}
        self.ended: dict[TxnId, int | None] = {}
        """At which step they committed, or None."""
        self.write_ids: dict[TableName, dict[WriteId, TxnId]] = {t: {} for t in self.tables}
        self.changed: dict[TxnId, set[TableName]] = {}
        self.snapshots: list[tuple[int, TxnId | None, ValidTxnList]] = []

    def teardown(self) -> None:
        self.stores[0].abort_txns(list(self.opened))
        for store in self.stores:
            store.close()

    def store(self, txn_id: TxnId) -> MetastoreStore:
        return self.stores[txn_id % 2]

    def chosen(self, index: int) -> TxnId | None:
        return sorted(self.opened)[index % len(self.opened)] if self.opened else None

    @rule(client=st.integers(0, 1))
    def open(self, client: int) -> None:
        if len(self.opened) < 5:
            self.opened[self.stores[client].open_txn("ann", "here")] = next(self.steps)

    @rule(index=st.integers(0, 4), table=st.integers(0, 1), operation=st.sampled_from(WRITES))
    def write(self, index: int, table: int, operation: WriteOperation) -> None:
        txn_id = self.chosen(index)
        if txn_id is None:
            return
        name, store = self.tables[table], self.store(txn_id)
        write_id = store.allocate_write_id(txn_id, name)
        assert self.write_ids[name].setdefault(write_id, txn_id) == txn_id
        # By reading locks, so that nobody waits: the commit alone decides.
        lock = LockComponent(LockType.SHARED_READ, name.database, name.table, None, operation)
        assert store.lock(txn_id, [lock], "ann", "here").state is LockState.ACQUIRED
        if operation in CHANGES:
            self.changed.setdefault(txn_id, set()).add(name)

    @rule(index=st.integers(0, 4))
    def commit(self, index: int) -> None:
        txn_id = self.chosen(index)
        if txn_id is None:
            return
        began, changed = self.opened.pop(txn_id), self.changed.get(txn_id, set())
        winners = [
            other
            for other, step in self.ended.items()
            if step is not None and step > began and changed & self.changed.get(other, set())
        ]
        lost_to = None
        try:
            self.store(txn_id).commit_txn(txn_id)
        except WriteConflictError as error:
            lost_to = TxnId(error.other_txn_id or 0)
        assert (lost_to in winners) if winners else lost_to is None
        self.ended[txn_id] = None if winners else next(self.steps)

    @rule(index=st.integers(0, 4))
    def abort(self, index: int) -> None:
        txn_id = self.chosen(index)
        if txn_id is not None:
            del self.opened[txn_id]
            self.ended[txn_id] = None
            self.store(txn_id).abort_txn(txn_id)

    @rule(index=st.none() | st.integers(0, 4))
    def look(self, index: int | None) -> None:
        txn_id = None if index is None else self.chosen(index)
        taken = self.stores[0].valid_txns(txn_id)
        self.snapshots = [*self.snapshots[-2:], (next(self.steps), txn_id, taken)]

    @invariant()
    def snapshots_show_what_was_committed_when_they_were_taken(self) -> None:
        for taken_at, own, txns in self.snapshots:
            lists = self.stores[1].valid_write_ids(self.tables, txns)
            for name in self.tables:
                for write_id, txn_id in self.write_ids[name].items():
                    ended = self.ended.get(txn_id)
                    seen = txn_id == own or (
                        ended is not None and ended < taken_at and (own is None or txn_id < own)
                    )
                    assert lists[name].is_valid(write_id) == seen


def test_what_is_seen(hive: Hive) -> None:
    class Asked(Clients):
        url = hive.metastore_url

    run_state_machine_as_test(
        Asked,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
