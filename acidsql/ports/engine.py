"""The Engine port: what carries a plan out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from acidsql.model.access import Operation
from acidsql.model.ids import StatementId, TxnId, WriteId
from acidsql.model.names import DEFAULT_DATABASE, PartitionName, TableName
from acidsql.model.own_path import OwnPath
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import Table
from acidsql.plans.compact import CompactPlan
from acidsql.plans.plan import WritePlan
from acidsql.plans.query import QueryPlan

FIRST_STATEMENT = StatementId(0)


@dataclass(frozen=True, slots=True)
class PartitionLocation:
    """One directory of a table: a partition's, or the table's own with ``name`` None."""

    name: PartitionName | None
    location: str


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """A table, its directories, and the write ids that a transaction sees of it.

    ``require_open`` raises unless its transaction is open, according to the store: as long as it
    is, the cleaner keeps from its files, and nobody else writes under its ids. None if there never
    was one.
    """

    table: Table
    partitions: tuple[PartitionLocation, ...]
    write_ids: ValidWriteIdList
    require_open: Callable[[], None] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ReadContext:
    """One snapshot for every table a statement reads, and the values of its parameters.

    ``database`` is the session's current one.
    """

    txns: ValidTxnList
    tables: Mapping[TableName, TableSnapshot]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    database: str = DEFAULT_DATABASE


@dataclass(frozen=True, slots=True)
class WriteContext:
    """Where a statement reads, and the ids it writes under."""

    read: ReadContext
    write_id: WriteId
    statement_id: StatementId = FIRST_STATEMENT


@dataclass(frozen=True, slots=True)
class Touched:
    """What a job did in one directory; ``partition`` None is the table's own."""

    partition: PartitionName | None
    location: str
    operation: Operation


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job wrote: counts of rows, directories touched, and paths that an abort may remove.

    ``moved`` are files outside the table that the commit is to remove. ``own_deletes`` are the
    places where it deleted rows of its own write id.
    """

    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    touched: tuple[Touched, ...] = ()
    paths: tuple[OwnPath, ...] = ()
    moved: tuple[str, ...] = ()
    own_deletes: tuple[PartitionLocation, ...] = ()


class RowBatches(Protocol):
    """The rows of a query, computed as they are asked for: an iterator over lists of tuples.

    ExecutionError if a job fails. What was read and what comes are of one evaluation.
    """

    @property
    def computed(self) -> bool:
        """Whether all rows are computed, though not all may have been given out: no file is needed
        any more.
        """
        ...

    def __iter__(self) -> Iterator[list[tuple[Any, ...]]]: ...

    def __next__(self) -> list[tuple[Any, ...]]:
        """The next rows, of which there may be none."""
        ...

    def close(self) -> None:
        """Compute no more. Idempotent."""
        ...


class Frame(Protocol):
    """The rows of a query, not yet computed."""

    @property
    def columns(self) -> list[str]:
        """The column names, in order."""
        ...

    @property
    def types(self) -> list[str]:
        """The columns' types in Spark's words, in order."""
        ...

    @property
    def data_frame(self) -> Any:
        """The engine's own lazy frame: a Spark DataFrame."""
        ...

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as Python values. ExecutionError if the job fails."""
        ...

    def batches(self) -> RowBatches:
        """The rows as Python values, with bounded memory. Nothing runs before the first of them."""
        ...

    def arrow(self) -> Any:
        """The rows as a pyarrow.Table. ExecutionError if the job fails."""
        ...

    def pandas(self) -> Any:
        """The rows as a pandas.DataFrame. ExecutionError if the job fails."""
        ...


class Engine(Protocol):
    """Carries plans out. Files are durable, and under their final names, when a verb returns."""

    def query(self, plan: QueryPlan, context: ReadContext) -> Frame:
        """A lazy frame. AnalysisError if the query does not make sense."""
        ...

    def table(self, snapshot: TableSnapshot, txns: ValidTxnList, *, row_id: bool = False) -> Frame:
        """All columns and rows of a table, lazily; ``row_id`` puts ``row__id`` first."""
        ...

    def write(self, plan: WritePlan, context: WriteContext) -> JobResult:
        """Run a write. On any error what it left is removed as far as possible."""
        ...

    def undo(self, plan: WritePlan, context: WriteContext) -> None:
        """Remove what a write left, finished or not; StorageError if that is not certain.

        For a transaction that goes on after it: an aborted one hides what stays.
        """
        ...

    def fold(
        self,
        snapshot: TableSnapshot,
        txns: ValidTxnList,
        write_id: WriteId,
        txn_id: TxnId,
        *,
        keep: bool,
    ) -> Sequence[OwnPath]:
        """Take the rows that an uncommitted write id deleted itself out of its files, and these
        deletes with them, in each place of its writer's snapshot; paths that an abort may remove.

        The files are written anew, in directories that every reader prefers to those that were
        there. With ``keep`` those stay, for who reads them already. On any error what it wrote is
        removed as far as possible.
        """
        ...

    def compact(
        self, plan: CompactPlan, snapshot: TableSnapshot, txns: ValidTxnList, txn_id: TxnId
    ) -> bool:
        """Write what a compactor's snapshot selects; False if there was nothing to do or clean."""
        ...

    def discard(self, paths: Sequence[OwnPath]) -> None:
        """Remove what an aborted write left. Never raises."""
        ...

    def discard_moved(self, paths: Sequence[str]) -> None:
        """Remove the files that LOAD DATA has taken, where the user named them. Never raises."""
        ...

    def register(self, name: str, frame: Any) -> None:
        """Make rows known under a name: the engine's own frame, or one of pandas or Arrow, copied.

        AnalysisError for anything else.
        """
        ...

    def frame_names(self) -> frozenset[str]:
        """Names registered, in lower case."""
        ...

    def has_view(self, name: str) -> bool:
        """Whether the engine itself knows a temporary view of this name (may start Spark)."""
        ...

    def close(self) -> None:
        """Let go of what the engine itself started. Idempotent."""
        ...
