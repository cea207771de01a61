"""Transactions, locks, write sets and compactions, and their states (Hive's letters and words)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum

from acidsql.model.ids import CompactionId, LockId, TxnId, WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.snapshot import ValidTxnList


class TxnState(Enum):
    """The state of a transaction: TXNS.TXN_STATE."""

    OPEN = "o"
    ABORTED = "a"
    COMMITTED = "c"


class TxnType(IntEnum):
    """The type of a transaction: TXNS.TXN_TYPE, and TxnType of Thrift."""

    DEFAULT = 0
    READ_ONLY = 2
    COMPACTION = 3
    """Of a compaction that changes no row id. It never loses a write conflict."""
    REBALANCE_COMPACTION = 6
    """Of a compaction that gives new row ids. For others it is an update of all rows."""


class LockType(Enum):
    """The type of a lock: HIVE_LOCKS.HL_LOCK_TYPE."""

    SHARED_READ = "r"
    SHARED_WRITE = "w"
    EXCL_WRITE = "x"
    EXCLUSIVE = "e"


class LockState(Enum):
    """The state of a lock or lock request: HIVE_LOCKS.HL_LOCK_STATE."""

    ACQUIRED = "a"
    WAITING = "w"


class WriteOperation(Enum):
    """What a component of a lock or transaction does: TXN_COMPONENTS.TC_OPERATION_TYPE."""

    SELECT = "s"
    INSERT = "i"
    UPDATE = "u"
    DELETE = "d"
    COMPACT = "c"
    NO_TXN = "-"
    """Of a lock for a change of definitions. It writes no rows, so nothing is recorded."""


@dataclass(frozen=True, slots=True)
class LockComponent:
    """One resource of a lock request.

    Without ``table`` it is the database, without ``partition`` the table. ``partition`` is Hive's
    text form. ``dynamic`` says that only the rows to be written will tell which partitions are
    written to (Hive's isDynamicPartitionWrite).
    """

    type: LockType
    database: str
    table: str | None = None
    partition: str | None = None
    operation: WriteOperation = WriteOperation.NO_TXN
    transactional: bool = True
    dynamic: bool = False


@dataclass(frozen=True, slots=True)
class LockResponse:
    """The answer to lock and check_lock. ``blocked_by`` describes the lock that it waits for."""

    lock_id: LockId
    state: LockState
    blocked_by: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A transaction with its write ids and the answer to its first lock request.

    ``in_one_step`` says that no other transaction came in between. It is False in a store that
    cannot tell. ``valid_txns`` is the valid txn list of that step, or None in such a store.
    """

    txn_id: TxnId
    write_ids: Mapping[TableName, WriteId]
    response: LockResponse
    in_one_step: bool = True
    valid_txns: ValidTxnList | None = None


@dataclass(frozen=True, slots=True)
class Reached:
    """The partitions of a table in which a write has done one kind of operation."""

    write_id: WriteId
    table: TableName
    partitions: Sequence[str]
    operation: WriteOperation


@dataclass(frozen=True, slots=True)
class Written:
    """A place in which a write has left a directory.

    ``partition`` is Hive's text form. None stands for the directory of the table itself.
    """

    write_id: WriteId
    table: TableName
    partition: str | None


@dataclass(frozen=True, slots=True)
class Lock:
    """One row of HIVE_LOCKS. Times are milliseconds since the epoch, by the store's clock."""

    lock_id: LockId
    internal_id: int
    txn_id: TxnId
    database: str
    table: str | None
    partition: str | None
    state: LockState
    type: LockType
    last_heartbeat_ms: int
    acquired_at_ms: int | None
    user: str
    host: str
    agent_info: str
    blocked_by_lock_id: LockId | None = None
    blocked_by_internal_id: int | None = None


@dataclass(frozen=True, slots=True)
class Txn:
    """One row of TXNS. Times are milliseconds since the epoch, by the store's clock."""

    txn_id: TxnId
    state: TxnState
    type: TxnType
    started_ms: int
    last_heartbeat_ms: int
    user: str
    host: str
    meta_info: str = ""


@dataclass(frozen=True, slots=True)
class TxnRangeResponse:
    """The answer to heartbeat_txn_range: the transactions that are not open.

    ``nosuch``, which is Hive's name, has the committed transactions and the unknown ids.
    """

    aborted: frozenset[TxnId]
    nosuch: frozenset[TxnId]

    @classmethod
    def of(cls, first: TxnId, last: TxnId, states: Mapping[TxnId, TxnState]) -> TxnRangeResponse:
        """The answer for the ids from ``first`` to ``last``, both included.

        ``states`` has the transactions that the store knows.

        >>> TxnRangeResponse.of(TxnId(1), TxnId(2), {TxnId(2): TxnState.ABORTED})
        TxnRangeResponse(aborted=frozenset({2}), nosuch=frozenset({1}))
        """
        ids = {TxnId(i): states.get(TxnId(i)) for i in range(first, last + 1)}
        return cls(
            frozenset(i for i, state in ids.items() if state is TxnState.ABORTED),
            frozenset(i for i, state in ids.items() if state in (TxnState.COMMITTED, None)),
        )


@dataclass(frozen=True, slots=True)
class WriteSetEntry:
    """One row of WRITE_SET: what a committed, or committing, transaction changed."""

    database: str
    table: str
    partition: str | None
    txn_id: TxnId
    commit_id: TxnId
    operation: WriteOperation


class CompactionType(Enum):
    """The type of a compaction: COMPACTION_QUEUE.CQ_TYPE."""

    MAJOR = "a"
    MINOR = "i"
    REBALANCE = "r"
    """All rows are spread over files of equal size, and get new row ids."""


class CompactionState(Enum):
    """The state of a compaction: COMPACTION_QUEUE.CQ_STATE, COMPLETED_COMPACTIONS.CC_STATE."""

    INITIATED = "i"
    WORKING = "w"
    READY_FOR_CLEANING = "r"
    FAILED = "f"
    SUCCEEDED = "s"
    REFUSED = "c"
    DID_NOT_INITIATE = "a"
    """Only in a Hive Metastore: its initiator failed."""
    ABORTED = "x"
    """ABORT COMPACTIONS has ended it before a worker took it."""

    @property
    def word(self) -> str:
        """The state as Hive shows it to users, such as "ready for cleaning"."""
        return self.name.lower().replace("_", " ")


UNFINISHED = (CompactionState.INITIATED, CompactionState.WORKING)
"""The states in which the work is still to be done."""

COMPACTED = (CompactionState.READY_FOR_CLEANING, CompactionState.SUCCEEDED)
"""The states in which the work is done and committed."""

ENDED = (
    CompactionState.SUCCEEDED,
    CompactionState.FAILED,
    CompactionState.REFUSED,
    CompactionState.ABORTED,
)
"""The states of entries in the history of acidsql's own stores."""


@dataclass(frozen=True, slots=True)
class ChangedPlace:
    """A table without partitions, or a partition, that may need a compaction.

    ``highest_write_id`` is that of its latest committed write, None if there is none. ``aborted``
    counts the aborted transactions that wrote, or were going to write, there. The first of them
    began ``aborted_age_ms`` ago. ``now_ms`` is what the store's clock said.
    """

    table: TableName
    partition: str | None
    highest_write_id: WriteId | None
    aborted: int = 0
    aborted_age_ms: int = 0
    now_ms: int = field(default=0, compare=False)

    @property
    def label(self) -> str:
        """The place, for log messages."""
        return f"{self.table} {self.partition}" if self.partition else str(self.table)


@dataclass(frozen=True, slots=True)
class CompactionOptions:
    """What a request says beyond the place and the type.

    ``pool`` names the workers that may take it first; None is the default pool. ``buckets`` and
    ``order_by`` are for a rebalance: the number of files, and an ORDER BY as `parse_sort_order`
    reads it. ``properties`` override those of the table for this compaction.
    """

    pool: str | None = None
    buckets: int | None = None
    order_by: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


NO_OPTIONS = CompactionOptions()
"""Of a request that says nothing more."""


@dataclass(frozen=True, slots=True)
class AbortedCompaction:
    """What ABORT COMPACTIONS has done to one entry: Hive's status and message."""

    compaction_id: CompactionId
    status: str
    message: str


@dataclass(frozen=True, slots=True)
class Compaction:
    """One row of COMPACTION_QUEUE or COMPLETED_COMPACTIONS. Times are ms by the store's clock."""

    compaction_id: CompactionId
    database: str
    table: str
    partition: str | None
    type: CompactionType
    state: CompactionState
    worker_id: str | None = None
    enqueued_ms: int | None = None
    started_ms: int | None = None
    ended_ms: int | None = None
    error_message: str | None = None
    txn_id: TxnId | None = None
    next_txn_id: TxnId | None = None
    commit_ms: int | None = None
    highest_write_id: WriteId | None = None
    initiator: str | None = None
    initiator_host: str | None = None
    options: CompactionOptions = NO_OPTIONS

    @property
    def partition_name(self) -> PartitionName | None:
        """The partition to compact; None for a table without partitions."""
        return PartitionName.parse(self.partition) if self.partition else None

    @property
    def label(self) -> str:
        """The compaction and its place, for log messages."""
        place = f"{self.database}.{self.table}"
        place += f" {self.partition}" if self.partition else ""
        return f"compaction {self.compaction_id} ({place})"
