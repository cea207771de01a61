"""Transactions and write ids in a Hive Metastore."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from acidsql.backends.metastore.client import Call, MetastoreClient
from acidsql.backends.metastore.errors import (
    LostAnswerError,
    MetaError,
    RefusedError,
    UnknownMethodError,
)
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.operations import OPERATIONS
from acidsql.backends.metastore.sense import given, meaning_of
from acidsql.backends.metastore.snapshots import txn_list, write_id_list
from acidsql.errors import NoSuchTxnError, TxnAbortedError
from acidsql.model.ids import LockId, TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.txn.cleanup import failures_logged
from acidsql.txn.conflict import Winner
from acidsql.txn.entities import (
    LockComponent,
    Reached,
    Txn,
    TxnRangeResponse,
    TxnState,
    TxnType,
    WriteOperation,
    Written,
)
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.state import batch_size, require_open, require_reach, too_many_open_txns

_STATES = {
    hms.TxnState.OPEN: TxnState.OPEN,
    hms.TxnState.ABORTED: TxnState.ABORTED,
    hms.TxnState.COMMITTED: TxnState.COMMITTED,
}
AGENT = "acidsql"
"""Marks transactions and locks as ours."""
_ROLLED_BACK = 50005
"""Hive's TxnErrorMsg ABORT_ROLLBACK. Hive 4.x shows it as the reason, and takes no text of ours."""
_REMEMBERED = 100
_MIN_HISTORY = "metastore.txn.use.minhistorywriteid"


class MetastoreTxns:
    """The verbs of `TxnManager` about transactions and write ids.

    The metastore's own services time out transactions and trim the transaction tables.
    """

    def __init__(self, client: MetastoreClient, policy: TxnPolicy) -> None:
        self._client = client
        self._policy = policy
        self._opened: set[TxnId] = set()
        """Our open transactions."""
        self._deadlocks: dict[TxnId, str] = {}
        """Our transactions that lost a deadlock, with the reason, which the metastore forgets."""
        self._unanswered: set[TxnId] = set()
        """Transactions whose commit was sent, but not answered."""
        self._committed: deque[TxnId] = deque(maxlen=_REMEMBERED)
        """Our last committed transactions. Hive 3.1 forgets one without writes at once."""
        self._views: dict[TxnId, ValidTxnList] = {}
        """The snapshots of our open transactions."""
        self._pinned: dict[TxnId, set[TableName]] = {}
        """The tables whose history the metastore keeps for our open transactions
        (MIN_HISTORY_WRITE_ID).
        """
        self._waited: dict[TxnId, tuple[frozenset[TableName], ValidTxnList]] = {}
        """For transactions that waited for locks: the tables they want to change, and the snapshot
        at the beginning of the wait.
        """
        self._held: dict[TxnId, dict[LockComponent, LockId]] = {}
        """The locks that were granted to our open transactions."""
        self._pins: bool | None = None

    # -- transactions ---------------------------------------------------------------------------

    def open_txn(self, user: str, host: str, type: TxnType = TxnType.DEFAULT) -> TxnId:
        return self.open_txns(1, user, host, type)[0]

    def open_txns(
        self, count: int, user: str, host: str, type: TxnType = TxnType.DEFAULT
    ) -> list[TxnId]:
        # Hive 3.1 does not know types: its transactions can do everything.
        request = hms.OpenTxnRequest(
            num_txns=batch_size(count, self._policy.max_open_batch),
            user=user,
            hostname=host,
            agentInfo=AGENT,
            txn_type=type.value,
        )
        try:
            answer = self._client.call("open_txns", request)
        except MetaError:
            self._require_room()
            raise
        # Hive 4 selects the rows it has just written, in whatever order its database has them.
        opened = sorted(map(TxnId, given(answer.txn_ids or None, "the transactions opened")))
        self._opened.update(opened)
        return opened

    def _require_room(self) -> None:
        """TooManyOpenTxnsError if the limit is why none was opened; Hive sends an internal error.

        Once the limit is reached, the metastore refuses everybody until fewer than nine tenths of
        the limit are open (Hive TxnHandler).
        """
        limit = self.setting("hive.max.open.txns")
        if not limit.isdecimal():
            return
        count = sum(t.state is TxnState.OPEN for t in self.show_txns())
        if count >= int(limit) * 9 // 10:
            raise too_many_open_txns(
                f"{count} transactions are open in the metastore, whose limit is {limit}.",
                hint="It opens new ones once fewer than nine tenths of the limit are open. SHOW"
                " TRANSACTIONS lists them, ABORT TRANSACTIONS ends them.",
            )

    def heartbeat(self, txn_id: TxnId) -> None:
        # A short time-out: if one server hangs, there must be time to ask another one.
        timeout_s = min(self._policy.heartbeat_s, self._client.place.timeout_s)
        request = hms.HeartbeatRequest(txnid=txn_id)
        try:
            self._client.call("heartbeat", request, timeout_s=timeout_s)
        except TxnAbortedError:
            if txn_id in self._deadlocks:
                require_open(txn_id, TxnState.ABORTED, self._deadlocks[txn_id])
            raise

    def heartbeat_txn_range(self, first: TxnId, last: TxnId) -> TxnRangeResponse:
        request = hms.HeartbeatTxnRangeRequest(min=first, max=last)
        answer = self._client.call("heartbeat_txn_range", request)
        return TxnRangeResponse(_txn_ids(answer.aborted), _txn_ids(answer.nosuch))

    def commit_txn(
        self, txn_id: TxnId, reached: Sequence[Reached] = (), written: Sequence[Written] = ()
    ) -> None:
        """As in the port. The metastore always looks for write conflicts."""
        if txn_id in self._committed:
            return
        # If an earlier commit was not answered, the metastore has these records already.
        for r in reached if txn_id not in self._unanswered else ():
            self.add_dynamic_partitions(txn_id, r.write_id, r.table, r.partitions, r.operation)
        request = hms.CommitTxnRequest(txnid=txn_id, exclWriteEnabled=False)
        try:
            self._client.call("commit_txn", request, repeatable=False)
        except (LostAnswerError, MetaError):
            self._unanswered.add(txn_id)
            raise
        except NoSuchTxnError as error:
            # Hive 3.1 forgets a transaction without recorded writes as soon as it has ended. So if
            # our commit was not answered, the transaction has ended, and it had no writes to lose.
            if txn_id not in self._unanswered or error.committed:
                self._forget(txn_id)
                raise
        except TxnAbortedError:
            self._forget(txn_id)
            raise
        self._forget(txn_id)
        self._committed.append(txn_id)

    def abort_txn(self, txn_id: TxnId, reason: str = "") -> None:
        """As in the port. The reason is not passed on; Hive 4.x notes that it was rolled back."""
        request = hms.AbortTxnRequest(txnid=txn_id, errorCode=_ROLLED_BACK)
        try:
            self._client.call("abort_txn", request)
        finally:
            self._forget(txn_id)

    def abort_txns(self, txn_ids: Sequence[TxnId], reason: str = "") -> list[TxnId]:
        opened = {t.txn_id for t in self.show_txns() if t.state is TxnState.OPEN}
        aborted = sorted(opened.intersection(txn_ids))
        if aborted:
            request = hms.AbortTxnsRequest(txn_ids=aborted, errorCode=_ROLLED_BACK)
            self._client.call("abort_txns", request)
        return aborted

    def open_block(
        self, user: str, host: str, type: TxnType = TxnType.DEFAULT
    ) -> tuple[TxnId, ValidTxnList]:
        """As in the port, but in two steps, between which others may act."""
        txn_id = self.open_txn(user, host, type)
        try:
            return txn_id, self.valid_txns(txn_id, writes=type is not TxnType.READ_ONLY)
        except BaseException:
            # If this fails, the transaction will time out.
            with failures_logged("aborting", txn_id):
                self.abort_txn(txn_id)
            raise

    def valid_txns(self, txn_id: TxnId | None = None, *, writes: bool = True) -> ValidTxnList:
        excluded = hms.GetOpenTxnsRequest(excludeTxnTypes=[hms.TxnType.READ_ONLY])
        answer = self._client.call_known(
            Call("get_open_txns_req", (excluded,)), Call("get_open_txns")
        )
        valid = txn_list(answer, txn_id, writes=writes)
        if txn_id is not None and self._wants_pins():
            self._views[txn_id] = valid
        return valid

    def show_txns(self) -> list[Txn]:
        """As in the port, but the metastore does not tell the type: it is always DEFAULT."""
        infos = self._client.call("get_open_txns_info").open_txns
        txns = [
            Txn(
                TxnId(info.id),
                meaning_of(_STATES, info.state, "state of a transaction"),
                TxnType.DEFAULT,
                info.startedTime or 0,
                info.lastHeartbeatTime or 0,
                info.user,
                info.hostname,
                info.metaInfo or "",
            )
            for info in infos
        ]
        ended = TxnState.COMMITTED
        return sorted((t for t in txns if t.state is not ended), key=lambda t: t.txn_id)

    def latest_txn_in_conflict(self, txn_id: TxnId) -> Winner | None:
        """As in the port. Hive 3.1 has no such method: for the tables that the transaction had to
        wait for, we compare write ids. A conflict that this misses is found at the commit.
        """
        try:
            winner = self._client.call("get_latest_txnid_in_conflict", txn_id)
        except UnknownMethodError:
            latest = self._latest_since_waiting(txn_id)
            return Winner(latest) if latest is not None else None
        return Winner(TxnId(winner)) if winner > 0 else None

    def _latest_since_waiting(self, txn_id: TxnId) -> TxnId | None:
        if txn_id not in self._waited:
            return None
        tables, then = self._waited[txn_id]
        now = self.valid_txns()
        before, after = (
            self.valid_write_ids(list(tables), then),
            self.valid_write_ids(list(tables), now),
        )
        if not any(any(after[table].committed_since(before[table])) for table in tables):
            return None
        return max((i for i in now.committed_since(then) if i != txn_id), default=None)

    def time_out_txns(self) -> list[TxnId]:
        """Does nothing: the metastore's housekeeper does it (AcidHouseKeeperService)."""
        return []

    def trim(self) -> None:
        """Does nothing: the metastore's services do it."""

    def _forget(self, txn_id: TxnId) -> None:
        self._unanswered.discard(txn_id)
        self._opened.discard(txn_id)
        for known in (self._views, self._pinned, self._waited, self._held):
            known.pop(txn_id, None)

    # -- write ids ------------------------------------------------------------------------------

    def allocate_write_id(self, txn_id: TxnId, table: TableName) -> WriteId:
        return self.allocate_write_ids([txn_id], table)[0]

    def allocate_write_ids(self, txn_ids: Sequence[TxnId], table: TableName) -> list[WriteId]:
        request = hms.AllocateTableWriteIdsRequest(
            dbName=table.database, tableName=table.table, txnIds=list(txn_ids)
        )
        with self._ended_explained(*txn_ids):
            answer = self._client.call("allocate_table_write_ids", request)
        allocated = {m.txnId: m.writeId for m in answer.txnToWriteIds}
        return [
            WriteId(given(allocated.get(t), f"a write id for transaction {t}")) for t in txn_ids
        ]

    @contextmanager
    def _ended_explained(self, *txn_ids: TxnId) -> Iterator[None]:
        """Raise the true error if a call failed because one of the transactions is not open.

        Hive 4 calls that an internal error, and Hive 3.1 closes the connection. A heartbeat tells.
        """
        try:
            yield
        except (MetaError, LostAnswerError):
            for txn_id in txn_ids:
                self.heartbeat(txn_id)
            raise

    def valid_write_ids(
        self, tables: Sequence[TableName], txns: ValidTxnList
    ) -> dict[TableName, ValidWriteIdList]:
        if not tables:
            return {}
        request = hms.GetValidWriteIdsRequest(
            fullTableNames=[str(table) for table in tables], validTxnList=str(txns)
        )
        answer = self._client.call("get_valid_write_ids", request)
        lists = {TableName.parse(a.fullTableName): a for a in answer.tblValidWriteIds}
        valid = {
            table: write_id_list(table, given(lists.get(table), f"the write ids of {table}"))
            for table in tables
        }
        self._pin(valid, txns)
        return valid

    def known_write_id(self, txn_id: TxnId, table: TableName) -> WriteId | None:
        """As in the port: it may give one out."""
        return self.allocate_write_id(txn_id, table)

    def writer_of(self, table: TableName, write_id: WriteId) -> Txn | None:
        """None: a metastore does not tell."""
        return None

    def _pin(self, valid: dict[TableName, ValidWriteIdList], txns: ValidTxnList) -> None:
        """Tell the metastore which tables a transaction reads, if its cleaner is set up to ask."""
        txn_id = next((t for t, view in list(self._views.items()) if view is txns), None)
        if txn_id is None:
            return
        pinned = self._pinned.setdefault(txn_id, set())
        fresh = {
            str(table): min(ids.min_open, ids.high_watermark + 1)
            for table, ids in valid.items()
            if table not in pinned
        }
        if fresh:
            self._client.call("add_write_ids_to_min_history", txn_id, fresh)
            pinned.update(valid)

    def _wants_pins(self) -> bool:
        if self._pins is None:
            self._pins = self.setting(_MIN_HISTORY).lower() == "true"
        return self._pins

    def setting(self, key: str) -> str:
        """The text of a setting of the metastore; "" if the metastore keeps it to itself.

        MetaError if the metastore fails: what the setting says is not known then.
        """
        try:
            return str(self._client.call("get_config_value", key, ""))
        except (RefusedError, UnknownMethodError):
            return ""

    def add_dynamic_partitions(
        self,
        txn_id: TxnId,
        write_id: WriteId,
        table: TableName,
        partitions: Sequence[str],
        operation: WriteOperation,
    ) -> None:
        require_reach(operation)
        if not partitions:
            # Without partitions there is nothing to add to the lock's own record.
            return
        request = hms.AddDynamicPartitions(
            txnid=txn_id,
            writeid=write_id,
            dbname=table.database,
            tablename=table.table,
            partitionnames=list(partitions),
            operationType=OPERATIONS[operation],
        )
        with self._ended_explained(txn_id):
            self._client.call("add_dynamic_partitions", request)


def _txn_ids(ids: Iterable[int]) -> frozenset[TxnId]:
    return frozenset(TxnId(i) for i in ids)
