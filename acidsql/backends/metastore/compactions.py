"""The metastore's compaction queue and its history."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any

from acidsql.backends.metastore.client import Call, MetastoreClient
from acidsql.backends.metastore.errors import UnknownMethodError
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.locks import MetastoreLocks
from acidsql.backends.metastore.sense import NonsenseError, given, meaning_of
from acidsql.errors import CompactionRefusedError, UnsupportedStatementError
from acidsql.model.ids import CompactionId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.string_map import parse_string_map
from acidsql.txn.components import TxnComponent
from acidsql.txn.entities import (
    COMPACTED,
    NO_OPTIONS,
    UNFINISHED,
    AbortedCompaction,
    ChangedPlace,
    Compaction,
    CompactionOptions,
    CompactionState,
    CompactionType,
    Written,
)
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.state import (
    aborted_compaction,
    no_such_compaction,
    recorded_txn,
    require_compaction,
)

_log = logging.getLogger(__name__)

_TYPES = {
    CompactionType.MINOR: hms.CompactionType.MINOR,
    CompactionType.MAJOR: hms.CompactionType.MAJOR,
    CompactionType.REBALANCE: hms.CompactionType.REBALANCE,
}
_TYPE_OF = {number: kind for kind, number in _TYPES.items()}
_STATES = {state.word: state for state in CompactionState}
_HIVE_4 = Call("get_open_txns_req", (hms.GetOpenTxnsRequest(),))
"""A harmless call that Hive 3.1 does not know."""
_STATES["attempted"] = CompactionState.DID_NOT_INITIATE  # as Hive 3.1 has it


class MetastoreCompactions(MetastoreLocks, ABC):
    """The verbs of `TxnManager` about compaction. Cleaning is the metastore's own."""

    def __init__(self, client: MetastoreClient, policy: TxnPolicy) -> None:
        super().__init__(client, policy)
        self._taken: dict[CompactionId, Any] = {}
        """Queue entries that this client has taken, as the metastore sent them."""
        self._workers: dict[CompactionId, TxnId] = {}
        self._has_queue = True

    def compact(
        self,
        table: TableName,
        partition: str | None,
        type: CompactionType,
        initiator: str = "manual",
        host: str = "",
        options: CompactionOptions = NO_OPTIONS,
    ) -> CompactionId:
        """As in the port. UnsupportedStatementError for what Hive 3.1 does not know."""
        request = hms.CompactionRequest(
            dbname=table.database,
            tablename=table.table,
            partitionname=partition,
            type=_TYPES[type],
            initiatorId=f"{host}-{initiator}",
            initiatorVersion="acidsql",
            poolName=options.pool,
            numberOfBuckets=options.buckets,
            orderByClause=options.order_by,
            properties=dict(options.properties) or None,
        )
        newer = options.pool, options.buckets, options.order_by
        needs = _HIVE_4 if type is CompactionType.REBALANCE or any(newer) else None
        try:
            call = Call("compact2", (request,), needs=needs)
            answer = self._client.call_known(call, repeatable=False)
        except UnknownMethodError as error:
            raise self._needs_hive_4("a rebalance, and COMPACT with a pool or buckets") from error
        if not answer.accepted:
            raise CompactionRefusedError(
                answer.errormessage
                or f"Compaction is already scheduled with state='{answer.state}' "
                f"and id={answer.id}",
                code=10432,
            )
        return CompactionId(answer.id)

    def next_compaction(self, worker_id: str, pool: str | None = None) -> Compaction | None:
        """As in the port. Hive 3.1 gives its queue to its own workers only: then None."""
        request = hms.FindNextCompactRequest(
            workerId=worker_id, workerVersion="acidsql", poolName=pool
        )
        calls = [Call("find_next_compact2", (request,))]
        if pool is None:
            calls.append(Call("find_next_compact", (worker_id,)))
        try:
            info = self._client.call_known(*calls, keep_unknown=True).ci
        except UnknownMethodError:
            if self._has_queue:
                name = self._client.place.name
                _log.warning("only the workers of the metastore %s get its compactions", name)
            self._has_queue = False
            return None
        if info is None:
            return None
        self._taken[CompactionId(info.id)] = info
        return _of_info(info, worker_id)

    def abort_compactions(self, compaction_ids: Sequence[CompactionId]) -> list[AbortedCompaction]:
        """As in the port. UnsupportedStatementError from Hive 3.1, which cannot do it."""
        request = hms.AbortCompactionRequest(compactionIds=list(compaction_ids))
        try:
            answer = self._client.call("abort_Compactions", request)
        except UnknownMethodError as error:
            raise self._needs_hive_4("ABORT COMPACTIONS") from error
        found = given(answer.abortedcompacts, "the compactions aborted")
        return [
            aborted_compaction(i, None) if found.get(i) is None else _aborted(i, found[i])
            for i in compaction_ids
        ]

    def _needs_hive_4(self, what: str) -> UnsupportedStatementError:
        return UnsupportedStatementError(
            f"the metastore {self._client.place.name} does not know {what}",
            hint="It takes a metastore of Hive 4.",
        )

    def compaction_started(
        self, compaction_id: CompactionId, txn_id: TxnId, highest_write_id: WriteId
    ) -> None:
        info = self._info(compaction_id)
        info.highestWriteId = highest_write_id
        # The user as whom the metastore's cleaner removes files. Without a user the cleaner does
        # not begin.
        info.runas = info.runas or self.owner_of(TableName(info.dbname, info.tablename))
        self._client.call("update_compactor_state", info, txn_id, keep_unknown=True)
        self._taken[compaction_id] = info
        self._workers[compaction_id] = txn_id

    @abstractmethod
    def owner_of(self, table: TableName) -> str:
        """The user as whom the metastore's cleaner works on a table. Implemented by the store."""

    def mark_compacted(self, compaction_id: CompactionId) -> None:
        """As in the port, but in two steps: the mark, then the commit.

        If the client dies between them, the transaction times out, and the cleaner finds nothing
        obsolete.
        """
        txn_id = self._workers.get(compaction_id)
        if txn_id is None:
            entry = self._entry(compaction_id)
            if entry.state in COMPACTED:
                return
            txn_id = recorded_txn(entry)
        self.heartbeat(txn_id)
        self._client.call("mark_compacted", self._info(compaction_id), keep_unknown=True)
        self.commit_txn(txn_id)
        self._release(compaction_id)

    def mark_refused(self, compaction_id: CompactionId, reason: str) -> None:
        self._finish("mark_refused", self._info(compaction_id), reason)

    def mark_failed(self, compaction_id: CompactionId, reason: str) -> None:
        self._finish("mark_failed", self._info(compaction_id), reason)

    def ready_to_clean(self) -> list[Compaction]:
        """Empty: the metastore's own cleaner removes obsolete directories."""
        return []

    def mark_cleaned(self, compaction_id: CompactionId) -> None:
        """Does nothing: the metastore's own cleaner marks its entries."""

    def committed_writes(self, table: TableName) -> frozenset[Written]:
        """Empty: a metastore does not tell."""
        return frozenset()

    def changed_places(self) -> list[ChangedPlace]:
        """Empty: the metastore's own initiator asks for compactions."""
        return []

    def aborted_writes(self) -> list[TxnComponent]:
        """Empty: the metastore's own cleaner removes the files of aborted writes."""
        return []

    def forget_aborted(self, table: TableName, txn_ids: Sequence[TxnId]) -> None:
        """Does nothing: the metastore's own cleaner makes it forget them."""

    def show_compactions(self) -> list[Compaction]:
        answer = self._client.call("show_compact", hms.ShowCompactRequest())
        entries = [_of_element(element) for element in answer.compacts]
        return sorted(entries, key=lambda c: c.compaction_id, reverse=True)

    def _finish(self, method: str, info: Any, reason: str) -> None:
        info.errorMessage = reason
        self._client.call(method, info, keep_unknown=True)
        self._release(CompactionId(info.id))

    def _release(self, compaction_id: CompactionId) -> None:
        self._taken.pop(compaction_id, None)
        self._workers.pop(compaction_id, None)

    def _info(self, compaction_id: CompactionId) -> Any:
        """The queue entry in the form in which the metastore expects it back."""
        if compaction_id in self._taken:
            return copy(self._taken[compaction_id])
        entry = self._entry(compaction_id)
        require_compaction(entry, *UNFINISHED)
        return hms.CompactionInfoStruct(
            id=compaction_id,
            dbname=entry.database,
            tablename=entry.table,
            partitionname=entry.partition,
            type=_TYPES[entry.type],
            state=entry.state.value,
            workerId=entry.worker_id,
            start=entry.started_ms,
            highestWriteId=entry.highest_write_id,
            poolname=entry.options.pool,
        )

    def _entry(self, compaction_id: CompactionId) -> Compaction:
        for entry in self.show_compactions():
            if entry.compaction_id == compaction_id:
                return entry
        raise no_such_compaction(compaction_id)


def _of_info(info: Any, worker_id: str) -> Compaction:
    return Compaction(
        CompactionId(info.id),
        info.dbname,
        info.tablename,
        info.partitionname,
        meaning_of(_TYPE_OF, info.type, "type of a compaction"),
        CompactionState.WORKING,
        worker_id=worker_id,
        options=CompactionOptions(
            info.poolname or None,
            info.numberOfBuckets or None,
            info.orderByClause or None,
            _properties(info.properties),
        ),
    )


def _aborted(compaction_id: CompactionId, element: Any) -> AbortedCompaction:
    return AbortedCompaction(compaction_id, element.status or "", element.message or "")


def _properties(text: str | None) -> dict[str, str]:
    try:
        return parse_string_map(text) if text else {}
    except ValueError as error:
        raise NonsenseError(f"The properties of a compaction: {error}.") from error


def _of_element(element: Any) -> Compaction:
    host, _, initiator = (element.initiatorId or "").rpartition("-")
    return Compaction(
        CompactionId(element.id or 0),
        element.dbname,
        element.tablename,
        element.partitionname,
        meaning_of(_TYPE_OF, element.type, "type of a compaction"),
        meaning_of(_STATES, element.state, "state of a compaction"),
        worker_id=element.workerid,
        enqueued_ms=element.enqueueTime or None,
        started_ms=element.start or None,
        ended_ms=element.endTime or None,
        error_message=element.errorMessage or None,
        txn_id=TxnId(element.txnId) if element.txnId else None,
        next_txn_id=TxnId(element.nextTxnId) if element.nextTxnId else None,
        commit_ms=element.commitTime or None,
        highest_write_id=WriteId(element.hightestWriteId) if element.hightestWriteId else None,
        initiator=initiator or None,
        initiator_host=host or None,
        options=CompactionOptions(element.poolName or None),
    )
