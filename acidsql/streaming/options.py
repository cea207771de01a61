"""What a streaming connection was told, and what follows from that for one table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from acidsql.engines.required import Required
from acidsql.engines.rows import Placement
from acidsql.errors import StreamingConnectionError
from acidsql.execution.stream_scope import StreamScope
from acidsql.layout.bucketing import is_bucketable
from acidsql.model.access import Access, Operation
from acidsql.model.constraint import checks
from acidsql.model.names import PartitionName
from acidsql.model.table import Column, Table, TableKind
from acidsql.plans.insert import InsertPlan, LiteralRows
from acidsql.streaming.partitions import fault_of_partition
from acidsql.streaming.writers import RecordWriter
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.policy import TxnPolicy


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What the builder was told, checked."""

    table: Table
    record_writer: RecordWriter
    static_partition: PartitionName | None = None
    batch_size: int = 1
    agent_info: str = ""

    @property
    def is_dynamic(self) -> bool:
        """Whether each record names its partition."""
        return bool(self.table.partition_columns) and self.static_partition is None

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of a record: without static values, partition columns come last."""
        return self.table.all_columns if self.is_dynamic else self.table.columns

    @property
    def required(self) -> Collection[str]:
        """The columns in which no record may have a null."""
        return Required.of(self.table).columns.keys()

    @property
    def plan(self) -> InsertPlan:
        """The stream as an INSERT without rows, for the questions that are asked of one."""
        return InsertPlan(
            table=self.table.name,
            columns=tuple(c.name for c in self.columns),
            static_partition=() if self.static_partition is None else self.static_partition.items,
            rows=LiteralRows(rows=()),
        )

    def locks(self, policy: TxnPolicy) -> list[LockComponent]:
        """The locks of each transaction: those of an INSERT."""
        access = Access.of(
            self.table.name, Operation.INSERT, self.static_partition, dynamic=self.is_dynamic
        )
        return lock_components([access], policy)


def require_streamable(options: StreamOptions, scope: StreamScope) -> None:
    """StreamingConnectionError if rows cannot be streamed into a table with these options."""
    table = options.table
    if table.kind is not TableKind.FULL_ACID:
        raise StreamingConnectionError(
            f"table {table.name} is not an Acid table",
            detail=f"It is {table.kind.value}. Only full-ACID tables can be streamed into.",
        )
    why = "It is a materialized view." if table.is_materialized_view else table.read_only
    if why is not None:
        raise StreamingConnectionError(f"table {table.name} cannot be written to", detail=why)
    if table.is_immutable:
        raise StreamingConnectionError(
            f"table {table.name} is immutable",
            detail="Each transaction of a stream adds rows to those that there are.",
        )
    unchecked = checks(table.constraints)
    if unchecked:
        raise StreamingConnectionError(
            f'table {table.name} has the CHECK constraint "{unchecked[0].name}"',
            detail="Only Spark can check it, and streams do without Spark.",
            hint="Write with INSERT, or with the sink for Structured Streaming.",
        )
    placement = Placement.of(table)
    for kind in placement.types:
        if not is_bucketable(kind, placement.version):
            raise StreamingConnectionError(
                f"table {table.name} is clustered by a column of type {kind},"
                " whose bucket cannot be computed"
            )
    _require_partition(options, scope)
    most = scope.policy.max_open_batch
    if options.batch_size > most:
        raise StreamingConnectionError(
            f"a batch of {options.batch_size} transactions is too large",
            hint=f"hive.txn.max.open.batch allows {most}.",
        )
    if options.batch_size > 1 and not scope.storage.appends:
        raise StreamingConnectionError(
            f"the files of table {table.name} cannot grow where they lie",
            detail="Their file system only replaces whole files.",
            hint="Use transaction_batch_size(1).",
        )


def _require_partition(options: StreamOptions, scope: StreamScope) -> None:
    name = options.static_partition
    if name is None:
        return
    fault = fault_of_partition(name, has_directories=scope.storage.has_directories)
    if fault is not None:
        raise StreamingConnectionError(
            f"the static values name no partition that table {options.table.name} can have",
            detail=f"{fault}.",
        )


def shape(table: Table) -> tuple[object, ...]:
    """What the rows of a connection depend on: if it changes, the connection ends."""
    return (
        table.kind,
        table.format,
        table.location,
        table.bucketing,
        [(c.name, c.type) for c in table.columns],
        [(c.name, c.type) for c in table.partition_columns],
        table.constraints,
        table.is_immutable,
        table.read_only,
    )
