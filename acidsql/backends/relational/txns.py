"""Transactions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import cast

from acidsql.backends.relational.connection import (
    Answer,
    Row,
    alone,
    reading,
    undamaged,
    writing,
)
from acidsql.backends.relational.rows import (
    component_of,
    maybe_txn,
    require_txn,
    txn_of,
    write_set_entry_of,
)
from acidsql.backends.relational.write_ids import RelationalWriteIds
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList
from acidsql.txn.components import CHANGES, TxnComponent
from acidsql.txn.conflict import Conflict, Winner, first_conflict, latest_conflict
from acidsql.txn.entities import (
    LockType,
    Reached,
    Txn,
    TxnRangeResponse,
    TxnState,
    TxnType,
    WriteSetEntry,
    Written,
)
from acidsql.txn.open_count import OpenTxnCount
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.state import TIMED_OUT, WORKED_TOO_LONG, batch_size, require_reach


class RelationalTxns(RelationalWriteIds):
    """The verbs of `TxnManager` about transactions.

    Where several processes write at once, a verb first locks the row of its transaction: so of
    commit, abort and time-out one comes first. Next the verb locks the counter that it takes an id
    from, until its own end: so ids become visible in their order, and no snapshot misses an id
    below its high watermark.
    """

    _policy: TxnPolicy
    _open_count: OpenTxnCount

    def open_txn(self, user: str, host: str, type: TxnType = TxnType.DEFAULT) -> TxnId:
        return self.open_txns(1, user, host, type)[0]

    @undamaged
    def open_block(
        self, user: str, host: str, type: TxnType = TxnType.DEFAULT
    ) -> tuple[TxnId, ValidTxnList]:
        after, listed = self._open_block_now(user, host, type)
        txn_id = TxnId(after.value() - 1)
        return txn_id, txn_list(txn_id, listed.rows())

    @writing(durable=False)
    def _open_block_now(self, user: str, host: str, type: TxnType) -> tuple[Answer, Answer]:
        self._open(1, user, host, type)
        return self._sql.ask("next_txn_id"), self._listed_on_open()

    def _listed_on_open(self) -> Answer:
        """What the newest transaction does not see. The counter is locked."""
        return self._sql.ask("listed_on_open", read_only=TxnType.READ_ONLY.value)

    @undamaged
    def open_txns(
        self, count: int, user: str, host: str, type: TxnType = TxnType.DEFAULT
    ) -> list[TxnId]:
        count = batch_size(count, self._policy.max_open_batch)
        after = self._open_now(count, user, host, type).value()
        return [TxnId(i) for i in range(after - count, after)]

    @writing(durable=False)
    def _open_now(self, count: int, user: str, host: str, type: TxnType) -> Answer:
        self._open(count, user, host, type)
        return self._sql.ask("next_txn_id")

    def _open(self, count: int, user: str, host: str, type: TxnType) -> None:
        """Insert transactions whose ids are not known here yet. The counter stays locked."""
        self._open_count.require_room(count, lambda: self._sql.value("count_open"))
        self._sql.run("bump_next_txn_id", count=count)
        owner = {"user": user, "host": host, "type": type.value}
        for back in range(count, 0, -1):
            self._sql.run("insert_txn", back=back, **owner)
        for back in range(count, 0, -1):
            self._sql.run("insert_min_history", back=back)

    @writing(durable=False)
    def heartbeat(self, txn_id: TxnId) -> None:
        self._require_open(txn_id)
        self._sql.run("heartbeat", txn_id=txn_id)

    @writing(durable=False)
    def heartbeat_txn_range(self, first: TxnId, last: TxnId) -> TxnRangeResponse:
        rows = self._sql.rows("txn_range_to_change", first=first, last=last)
        self._sql.run("heartbeat_range", first=first, last=last)
        return TxnRangeResponse.of(first, last, {TxnId(i): TxnState(s) for i, s in rows})

    @undamaged
    def commit_txn(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> None:
        for r in reached:
            require_reach(r.operation)
        if self._commit_unrivalled(txn_id, reached, written).value() == TxnState.COMMITTED.value:
            return
        conflict = self._commit(txn_id, written)
        # Raised after the store transaction: the abort that the error reports is kept.
        if conflict is not None:
            raise conflict.error(self._winner(conflict))

    @reading()
    def _winner(self, conflict: Conflict) -> Txn | None:
        return self._txn("txn", conflict.other.txn_id)

    @writing(repeatable=False)
    def _commit_unrivalled(
        self, txn_id: TxnId, reached: Sequence[Reached], written: Sequence[Written]
    ) -> Answer:
        """Commit, unless a rival may have won; the state afterwards. All is sent in one batch."""
        # The transaction is locked first. A component that another session adds is recorded before
        # that, or too late.
        self._sql.run("txn_to_change", txn_id=txn_id)
        for r in reached:
            self._reach(txn_id, r.write_id, r.table, r.partitions, r.operation)
        # If the transaction changes rows, the counter stays locked to the end. Such commits are
        # numbered and compared one after the other, and a transaction that opens later begins after
        # this commit.
        self._sql.run("next_txn_id_of_change", txn_id=txn_id)
        self._sql.run("commit_unrivalled", txn_id=txn_id, compaction=TxnType.COMPACTION.value)
        self._complete(txn_id, written)
        return self._sql.ask("txn_state", txn_id=txn_id)

    @writing(repeatable=False)
    def _commit(self, txn_id: TxnId, written: Sequence[Written]) -> Conflict | None:
        """Commit a transaction that may have lost. Its components are recorded already."""
        known = self._sql.ask("txn_to_change", txn_id=txn_id)
        components = self._sql.ask("components", txn_id=txn_id)
        next_txn_id = self._sql.ask("next_txn_id_of_change", txn_id=txn_id)
        since = self._sql.ask("write_set_since", txn_id=txn_id)
        row = known.row()
        txn = maybe_txn(row)
        if txn is not None and txn.state is TxnState.COMMITTED:
            return None
        is_writing = require_txn(txn_id, row).type is not TxnType.COMPACTION
        found = map(component_of, components.rows())
        changes = [c for c in found if is_writing and c.operation in CHANGES]
        commit_id = TxnId(next_txn_id.value() - 1) if changes else txn_id
        own = {
            WriteSetEntry(c.database, c.table, c.partition, txn_id, commit_id, c.operation)
            for c in changes
        }
        conflict = first_conflict(own, self._rivals(since))
        if conflict is not None:
            self._abort(txn_id, str(conflict))
            return conflict
        self._sql.run("commit_txn", txn_id=txn_id)
        self._complete(txn_id, written)
        return None

    def _complete(self, txn_id: TxnId, written: Sequence[Written]) -> None:
        """Record what a transaction has written, if it is committed by now."""
        compaction = TxnType.COMPACTION.value
        self._sql.run("insert_write_set", txn_id=txn_id, compaction=compaction)
        self._sql.run("complete_components", txn_id=txn_id, compaction=compaction)
        for w in written:
            place = {"database": w.table.database, "table": w.table.table, "write_id": w.write_id}
            if w.partition is None:
                self._sql.run("note_written_table", txn_id=txn_id, **place)
            else:
                note = "note_written_partition"
                self._sql.run(note, txn_id=txn_id, partition=w.partition, **place)
        self._sql.run("delete_components_of_committed", txn_id=txn_id)
        self._release(txn_id)

    @writing()
    def abort_txn(self, txn_id: TxnId, reason: str = "") -> None:
        row = self._sql.row("txn_to_change", txn_id=txn_id)
        txn = maybe_txn(row)
        if txn is not None and txn.state is TxnState.ABORTED:
            return
        require_txn(txn_id, row)
        self._abort(txn_id, reason)

    @writing()
    def abort_txns(self, txn_ids: Sequence[TxnId], reason: str = "") -> list[TxnId]:
        aborted = []
        # Every session aborts transactions in this order, so two sessions that abort the same ones
        # do not wait in a circle.
        for txn_id in sorted(set(txn_ids)):
            txn = self._txn("txn_to_change", txn_id)
            if txn is not None and txn.state is TxnState.OPEN:
                self._abort(txn_id, reason)
                aborted.append(txn_id)
        return aborted

    def _abort(self, txn_id: TxnId, reason: str) -> None:
        # The components stay, until the cleaner has removed what the transaction wrote.
        self._sql.run("abort_txn", txn_id=txn_id, reason=reason)
        self._release(txn_id)

    def _release(self, txn_id: TxnId) -> None:
        self._sql.run("delete_locks", txn_id=txn_id, lock_id=None)
        self._sql.run("delete_min_history_of_ended", txn_id=txn_id)

    @reading()
    def valid_txns(self, txn_id: TxnId | None = None, *, writes: bool = True) -> ValidTxnList:
        newest = TxnId(self._sql.value("next_txn_id") - 1)
        mark = min(txn_id, newest) if txn_id is not None and writes else newest
        listed = self._sql.rows(
            "listed_txns",
            high_watermark=mark,
            txn_id=txn_id,
            read_only=TxnType.READ_ONLY.value,
        )
        return txn_list(mark, listed)

    @reading()
    def show_txns(self) -> list[Txn]:
        return [txn_of(row) for row in self._sql.rows("show_txns")]

    @reading(durable=False)
    def latest_txn_in_conflict(self, txn_id: TxnId) -> Winner | None:
        txn = self._sql.ask("txn", txn_id=txn_id)
        since = self._sql.ask("write_set_since", txn_id=txn_id)
        places = self._sql.ask("locked_places", txn_id=txn_id, shared=LockType.SHARED_READ.value)
        components = self._sql.ask("components", txn_id=txn_id)
        require_txn(txn_id, txn.row())
        locked = {(database, table, partition) for database, table, partition in places.rows()}
        own = [component_of(row) for row in components.rows()]
        winner = latest_conflict(txn_id, own, locked, self._rivals(since))
        return winner and winner.known_as(self._txn("txn", winner.txn_id))

    def time_out_txns(self) -> list[TxnId]:
        # Each session that waits for a lock calls this often. So a look that keeps no other session
        # waiting comes first.
        return self._time_out() if self._is_late() else []

    @reading(durable=False)
    def _is_late(self) -> bool:
        oldest_ms = self._sql.value("now_ms") - self._policy.timeout_ms
        times = {"oldest_ms": oldest_ms, "begun_ms": self._begun_ms()}
        return self._sql.row("anything_late", **times) is not None

    @alone()
    def _time_out(self) -> list[TxnId]:
        oldest_ms = self._sql.value("now_ms") - self._policy.timeout_ms
        late = [TxnId(i) for (i,) in self._sql.rows("late_txns", oldest_ms=oldest_ms)]
        for txn_id in late:
            self._abort(txn_id, TIMED_OUT)
        slow = [TxnId(i) for (i,) in self._sql.rows("slow_compactors", begun_ms=self._begun_ms())]
        for txn_id in slow:
            self._abort(txn_id, WORKED_TOO_LONG)
        self._give_back(oldest_ms)
        return sorted([*late, *slow])

    def _begun_ms(self) -> int:
        """A compaction that has begun before takes too long."""
        return int(self._sql.value("now_ms")) - self._policy.worker_timeout_ms

    @abstractmethod
    def _give_back(self, oldest_ms: int) -> None:
        """Implemented beside the other compaction verbs."""

    @alone()
    def trim(self) -> None:
        least = self._sql.value("min_open") or self._sql.value("next_txn_id")
        self._sql.run("trim_write_set", least=least)
        oldest_ms = self._sql.value("now_ms") - self._policy.retention_ms
        self._sql.run("trim_txns", oldest_ms=oldest_ms)
        self._sql.run("trim_write_ids", floor=self._sql.value("min_needed"))
        self._sql.run("trim_completed_components")
        for states, kept in self._policy.kept_compactions:
            letters = "".join(state.value for state in states)
            self._sql.run("trim_history", oldest_ms=oldest_ms, states=letters, kept=kept)

    @reading()
    def aborted_writes(self) -> list[TxnComponent]:
        oldest_ms = self._sql.value("now_ms") - self._policy.timeout_ms
        return [
            component_of(row) for row in self._sql.rows("aborted_components", oldest_ms=oldest_ms)
        ]

    @writing()
    def forget_aborted(self, table: TableName, txn_ids: Sequence[TxnId]) -> None:
        place = {"database": table.database, "table": table.table}
        for txn_id in sorted(set(txn_ids)):
            self._sql.run("forget_aborted", txn_id=txn_id, **place)

    @reading()
    def committed_writes(self, table: TableName) -> frozenset[Written]:
        place = {"database": table.database, "table": table.table}
        rows = self._sql.rows("written", **place)
        return frozenset(Written(write_id, table, partition) for partition, write_id in rows)

    @writing()
    def seed_txn_id(self, highest: TxnId) -> None:
        self._sql.run("seed_txn_id", next=highest + 1)

    # -- what several verbs need ----------------------------------------------------------------

    def _txn(self, query: str, txn_id: TxnId) -> Txn | None:
        return maybe_txn(self._sql.row(query, txn_id=txn_id))

    def _require_open(self, txn_id: TxnId) -> Txn:
        """The open transaction. Its row stays locked to the end of the verb."""
        return require_txn(txn_id, self._sql.row("txn_to_change", txn_id=txn_id))

    @staticmethod
    def _rivals(since: Answer) -> list[WriteSetEntry]:
        """The entries of the write set that a transaction may lose to."""
        return [write_set_entry_of(row) for row in since.rows()]


def txn_list(mark: TxnId, listed: Sequence[Row]) -> ValidTxnList:
    """The valid txn list with this high watermark.

    ``listed`` has the ids of each state as a text, with commas between them.
    """
    texts: dict[str, str] = dict(listed)
    return ValidTxnList(
        mark, *(_ids(texts.get(s.value)) for s in (TxnState.OPEN, TxnState.ABORTED))
    )


def _ids(text: str | None) -> frozenset[TxnId]:
    # Thousands of ids are not passed through TxnId one by one.
    return cast(frozenset[TxnId], frozenset(map(int, text.split(","))) if text else frozenset())
