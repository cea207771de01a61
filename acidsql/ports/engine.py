"""The Engine port: an engine carries plans out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from acidsql.model.access import Operation
from acidsql.model.ids import StatementId, TxnId, WriteId
from acidsql.model.names import DEFAULT_DATABASE, PartitionName, TableName
from acidsql.model.own_path import OwnPath
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.statistics import Value
from acidsql.model.table import Column, Table
from acidsql.plans.compact import CompactPlan
from acidsql.plans.plan import TableWrite, WritePlan, statement_count, table_writes
from acidsql.plans.query import QueryPlan

FIRST_STATEMENT = StatementId(0)


@dataclass(frozen=True, slots=True)
class PartitionLocation:
    """One directory of a table: a partition's, or the table's own with ``name`` None."""

    name: PartitionName | None
    location: str


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """A table, its directories, and the write ids of it that a transaction sees.

    ``require_open`` asks the store, and raises unless the transaction is still open. While it is
    open, the cleaner does not remove the files, and no other one writes under the same ids. None if
    the snapshot has no transaction.
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
    """The snapshot that a statement reads, and the ids under which it writes.

    ``write_ids`` has an id for each table that it writes to. ``statement_id`` is its first one.
    """

    read: ReadContext
    write_ids: Mapping[TableName, WriteId]
    statement_id: StatementId = FIRST_STATEMENT

    def of_writes(self, plan: WritePlan) -> list[tuple[TableWrite, WriteContext]]:
        """The writes of the plan, each with its context: it has the statement id of that write."""
        found, number = [], int(self.statement_id)
        for write in table_writes(plan):
            found.append((write, replace(self, statement_id=StatementId(number))))
            number += statement_count(write)
        return found


@dataclass(frozen=True, slots=True)
class Touched:
    """What a job did in one directory. ``partition`` None is the table's own directory."""

    partition: PartitionName | None
    location: str
    operation: Operation


@dataclass(frozen=True, slots=True)
class JobResult:
    """What one write of a job did: counts of rows, directories touched, and paths that an abort
    may remove.

    ``metrics`` are counters by name. ``moved`` are files outside of the table, to be removed after
    the commit. ``own_deletes`` are the directories in which the job deleted rows of its own write
    id.
    """

    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    metrics: Mapping[str, int] = field(default_factory=dict)
    touched: tuple[Touched, ...] = ()
    paths: tuple[OwnPath, ...] = ()
    moved: tuple[str, ...] = ()
    own_deletes: tuple[PartitionLocation, ...] = ()


class RowBatches(Protocol):
    """The rows of a query, computed as they are asked for: an iterator over lists of tuples.

    Raises ExecutionError if a job fails. All rows come from one evaluation of the query, however
    late they are asked for.
    """

    @property
    def computed(self) -> bool:
        """Whether all rows are computed, so that no file is needed any more.

        Some of the rows may not have been given out yet.
        """
        ...

    def __iter__(self) -> Iterator[list[tuple[Any, ...]]]: ...

    def __next__(self) -> list[tuple[Any, ...]]:
        """The next rows. The list may be empty, which does not mean the end."""
        ...

    def close(self) -> None:
        """Stop computing rows. Idempotent."""
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
        """The rows as Python values, with bounded memory. Nothing runs until rows are asked for."""
        ...

    def arrow(self) -> Any:
        """The rows as a pyarrow.Table. ExecutionError if the job fails."""
        ...

    def pandas(self) -> Any:
        """The rows as a pandas.DataFrame. ExecutionError if the job fails."""
        ...


class RowSource(Protocol):
    """Rows that a caller gives to an INSERT, beside its plan."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns, as the caller spells them. No two differ in case only."""
        ...

    @property
    def is_stream(self) -> bool:
        """Whether the rows can be read only once."""
        ...

    def batches(self, columns: Mapping[str, Column]) -> Iterator[Any]:
        """The rows as pyarrow.RecordBatch of bounded size, with the caller's names and types.

        ``columns`` are those of the table that the rows fill, by their names in lower case: values
        of Python are read by them. InvalidValueError for values that are of no one type.
        """
        ...


class Engine(Protocol):
    """Carries plans out. When a verb returns, files are durable and have their final names."""

    def query(self, plan: QueryPlan, context: ReadContext) -> Frame:
        """A lazy frame. AnalysisError if the query does not make sense."""
        ...

    def answer(self, plan: QueryPlan, context: ReadContext, row: Sequence[Value | None]) -> Frame:
        """The one row of a summary, whose values are known, with the names and types of the query.

        If the query means something else to the engine, it is what `query` returns.
        """
        ...

    def table(self, snapshot: TableSnapshot, txns: ValidTxnList, *, row_id: bool = False) -> Frame:
        """All columns and rows of a table, lazily; ``row_id`` puts ``row__id`` first."""
        ...

    def write(self, plan: WritePlan, context: WriteContext) -> list[JobResult]:
        """Run a write: a result for each of its `table_writes`.

        On any error its files are removed as far as possible.
        """
        ...

    def undo(self, plan: WritePlan, context: WriteContext) -> None:
        """Remove the files of a write, finished or not. StorageError if some may have stayed.

        For a transaction that goes on after a failed statement. If a transaction is aborted, its
        files are hidden anyway.
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
        """Fold own rows: rows that an uncommitted write id inserted and deleted itself.

        In each directory of the snapshot, the files are written anew without these rows and without
        their deletes. The new directories are such that every reader prefers them to the old ones.
        With ``keep`` the old ones stay, for readers that use them already. On any error the new
        files are removed as far as possible. Returns the paths that an abort may remove.
        """
        ...

    def compact(
        self, plan: CompactPlan, snapshot: TableSnapshot, txns: ValidTxnList, txn_id: TxnId
    ) -> bool:
        """Compact the files that a compactor's snapshot selects.

        False if there was nothing to compact and nothing to clean.
        """
        ...

    def rebalance(
        self,
        plan: CompactPlan,
        snapshot: TableSnapshot,
        txns: ValidTxnList,
        txn_id: TxnId,
        write_id: WriteId,
    ) -> None:
        """Write all rows that a compactor's snapshot selects into a base of ``write_id``.

        They get new row ids. Nobody may change rows meanwhile, and every write id below
        ``write_id`` must have ended.
        """
        ...

    def discard(self, paths: Sequence[OwnPath]) -> None:
        """Remove the files of an aborted write. Never raises."""
        ...

    def require_copied(self, paths: Sequence[str]) -> None:
        """MissingFileError if a file that LOAD DATA has copied is gone, before it is committed."""
        ...

    def discard_moved(self, paths: Sequence[str]) -> None:
        """Remove files that LOAD DATA has copied from the place the user named. Never raises."""
        ...

    def register(self, name: str, frame: Any) -> None:
        """Make rows known under a name: the engine's own frame, or a copy of a pandas or Arrow one.

        AnalysisError for anything else.
        """
        ...

    def row_source(self, data: Any) -> RowSource:
        """The rows of a caller's object of this process, to be inserted; nothing is read yet.

        AnalysisError for an object that has none.
        """
        ...

    def frame_names(self) -> frozenset[str]:
        """The registered names, in lower case."""
        ...

    def has_view(self, name: str) -> bool:
        """Whether the engine itself has a temporary view of this name. May start Spark."""
        ...

    def configure(self, key: str, value: str | None) -> str | None:
        """Give a setting of the engine another value, or with None the one from before.

        Returns why that has no effect, None if it has. ConfigError for a setting on which right
        answers rely, and for a value that does not fit.
        """
        ...

    def beside(self, spark: Any) -> Engine:
        """An engine over the same storage, with a Spark and registered names of its own."""
        ...

    def close(self) -> None:
        """Stop what the engine itself started. Idempotent."""
        ...
