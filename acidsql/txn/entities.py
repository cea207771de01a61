"""Transactions, locks, write sets and compactions, and their states (Hive's letters and words)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum

from acidsql.model.ids import CompactionId, LockId, TxnId, WriteId
from acidsql.model.names import PartitionName, TableName


class TxnState(Enum):
    """TXNS.TXN_STATE."""

    OPEN = "o"
    ABORTED = "a"
    COMMITTED = "c"


class TxnType(IntEnum):
    """TXNS.TXN_TYPE, thrift TxnType."""

    DEFAULT = 0
    READ_ONLY = 2
    COMPACTION = 3


class LockType(Enum):
    """HIVE_LOCKS.HL_LOCK_TYPE."""

    SHARED_READ = "r"
    SHARED_WRITE = "w"
    EXCL_WRITE = "x"
    EXCLUSIVE = "e"


class LockState(Enum):
    """Of a request; WAITING and ACQUIRED are HIVE_LOCKS.HL_LOCK_STATE."""

    ACQUIRED = "a"
    WAITING = "w"


class WriteOperation(Enum):
    """TXN_COMPONENTS.TC_OPERATION_TYPE; the letters that a lock component may carry."""

    SELECT = "s"
    INSERT = "i"
    UPDATE = "u"
    DELETE = "d"
    COMPACT = "c"
    NO_TXN = "-"
    """Not recorded: a lock that writes no rows (DDL)."""


@dataclass(frozen=True, slots=True)
class LockComponent:
    """One resource of a lock request.

    ``table`` None locks the database, ``partition`` None the table. ``partition`` is Hive's text
    form. ``dynamic`` is isDynamicPartitionWrite.
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
    """The answer to lock and check_lock; ``blocked_by`` names the first blocker in words."""

    lock_id: LockId
    state: LockState
    blocked_by: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A transaction with its write ids and the answer to its first lock request.

    ``in_one_step``: nobody else came in between. A store may not know that it is so.
    """

    txn_id: TxnId
    write_ids: Mapping[TableName, WriteId]
    response: LockResponse
    in_one_step: bool = True


@dataclass(frozen=True, slots=True)
class Reached:
    """The partitions of a table that a write reached in one way."""

    write_id: WriteId
    table: TableName
    partitions: Sequence[str]
    operation: WriteOperation


@dataclass(frozen=True, slots=True)
class Written:
    """A place that has a directory of a write; ``partition`` None is the table's own, else it is
    Hive's text form.
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

    ``nosuch`` are those that were committed, and ids that are unknown (Hive's name).
    """

    aborted: frozenset[TxnId]
    nosuch: frozenset[TxnId]

    @classmethod
    def of(cls, first: TxnId, last: TxnId, states: Mapping[TxnId, TxnState]) -> TxnRangeResponse:
        """From the states of what is known in a range, both ends included.

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
    """COMPACTION_QUEUE.CQ_TYPE."""

    MAJOR = "a"
    MINOR = "i"
    REBALANCE = "r"
    """Of a Hive Metastore alone: Hive spreads the rows over another number of files."""


class CompactionState(Enum):
    """COMPACTION_QUEUE.CQ_STATE and COMPLETED_COMPACTIONS.CC_STATE."""

    INITIATED = "i"
    WORKING = "w"
    READY_FOR_CLEANING = "r"
    FAILED = "f"
    SUCCEEDED = "s"
    REFUSED = "c"
    DID_NOT_INITIATE = "a"
    """Of a Hive Metastore alone: its initiator failed."""
    ABORTED = "x"
    """Of a Hive Metastore alone: ABORT COMPACTIONS."""

    @property
    def remembered(self) -> int:
        """How many of this state are kept of each place (hive.compactor.history.retention).

        Hive keeps as many: those that succeeded or failed, and those that were refused.
        """
        return 2 if self is CompactionState.REFUSED else 3

    @property
    def word(self) -> str:
        """What Hive shows to users: "ready for cleaning" and so on."""
        return self.name.lower().replace("_", " ")


UNFINISHED = (CompactionState.INITIATED, CompactionState.WORKING)
"""Of entries whose work is still to be done."""

COMPACTED = (CompactionState.READY_FOR_CLEANING, CompactionState.SUCCEEDED)
"""Of entries whose work is done and committed."""

ENDED = (CompactionState.SUCCEEDED, CompactionState.FAILED, CompactionState.REFUSED)
"""Of entries in the history of our own stores."""


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
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def partition_name(self) -> PartitionName | None:
        """The partition to compact; None for a table without."""
        return PartitionName.parse(self.partition) if self.partition else None

    @property
    def label(self) -> str:
        """What logs say."""
        place = f"{self.database}.{self.table}"
        place += f" {self.partition}" if self.partition else ""
        return f"compaction {self.compaction_id} ({place})"
