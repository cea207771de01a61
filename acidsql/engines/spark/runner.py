"""The Engine over Spark; what needs no Spark is done in this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from typing_extensions import assert_never

from acidsql.engines.cleanup import discard_write, undo_write
from acidsql.engines.given_rows import given_rows
from acidsql.engines.local.compact import compact
from acidsql.engines.local.fold import fold
from acidsql.engines.local.insert import insert_literals
from acidsql.engines.local.insert_given import insert_given
from acidsql.engines.local.load import load
from acidsql.engines.local.rebalance import rebalance
from acidsql.engines.output import (
    OutputFile,
    Target,
    discard,
    discard_moved,
    partition_name,
    publish,
    remove_attempts,
)
from acidsql.engines.overwrite import empty_bases, truncate
from acidsql.engines.spark.compact import where_it_pays
from acidsql.engines.spark.deletes import KeptFilters
from acidsql.engines.spark.errors import only_ours
from acidsql.engines.spark.frame import SparkFrame
from acidsql.engines.spark.insert import run_insert
from acidsql.engines.spark.job import Job
from acidsql.engines.spark.merge import run_merge
from acidsql.engines.spark.own_jobs import own_jobs
from acidsql.engines.spark.read import ScanRequest
from acidsql.engines.spark.registered import registered_frame
from acidsql.engines.spark.session import SparkHolder
from acidsql.engines.spark.settings import for_statement
from acidsql.engines.spark.update import run_delete, run_update
from acidsql.errors import AcidSqlError
from acidsql.model.access import Operation
from acidsql.model.ids import StatementId, TxnId, WriteId
from acidsql.model.names import quote_identifier
from acidsql.model.own_path import OwnPath
from acidsql.model.progress import UNWATCHED, Progress
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import TableKind
from acidsql.plans.compact import CompactPlan
from acidsql.plans.delete import DeletePlan
from acidsql.plans.insert import GivenRows, InsertPlan, LiteralRows
from acidsql.plans.load import LoadPlan
from acidsql.plans.merge import MergePlan, UpdateLeg
from acidsql.plans.plan import WritePlan, replaces, statement_count
from acidsql.plans.query import QueryPlan
from acidsql.plans.truncate import TruncatePlan
from acidsql.plans.update import UpdatePlan
from acidsql.ports.engine import (
    JobResult,
    PartitionLocation,
    ReadContext,
    RowSource,
    TableSnapshot,
    Touched,
    WriteContext,
)
from acidsql.ports.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkEngine:
    """Runs plans as Spark jobs.

    ``spark`` is a session to use, else one is started when a plan first needs it, with the keys of
    ``conf`` that begin with "spark.". ``by_position`` says how columns of older files are matched
    in a table that does not say so itself. ``cluster_bytes`` is how many bytes a compaction must
    have to merge before it runs on Spark, where Spark is a cluster.
    """

    def __init__(
        self,
        storage: Storage,
        spark: SparkSession | None,
        conf: Mapping[str, str],
        *,
        by_position: bool = True,
        cluster_bytes: int = 128 << 20,
        progress: Progress = UNWATCHED,
    ) -> None:
        self._storage = storage
        self._cluster_bytes = cluster_bytes
        self._progress = progress
        self._by_position = by_position
        self._frames: dict[str, DataFrame] = {}
        self._filters = KeptFilters()
        self._spark = SparkHolder(spark, conf, self._filters.clear, progress)

    def beside(self, spark: SparkSession | None) -> SparkEngine:
        return type(self)(
            self._storage, spark, {}, by_position=self._by_position, progress=self._progress
        )

    # -- reading -----------------------------------------------------------------------------------

    @only_ours()
    def query(self, plan: QueryPlan, context: ReadContext) -> SparkFrame:
        with self._job(context) as job:
            return SparkFrame(job.sql(plan.rows), self._progress)

    @only_ours()
    def table(
        self, snapshot: TableSnapshot, txns: ValidTxnList, *, row_id: bool = False
    ) -> SparkFrame:
        context = ReadContext(txns, {snapshot.table.name: snapshot})
        request = ScanRequest(row_id=row_id)
        with self._job(context) as job:
            frame = job.scan(snapshot.table.name, request).frame
            if row_id:
                names = [quote_identifier(c.name) for c in snapshot.table.all_columns]
                frame = frame.select("row__id", *names)
            return SparkFrame(frame, self._progress)

    @contextmanager
    def _job(self, context: ReadContext, phase: str = "planning") -> Iterator[Job]:
        spark = self._spark.get()
        with own_jobs(spark, phase, self._progress), for_statement(spark):
            yield Job(
                spark,
                self._storage,
                context,
                self._frames,
                self._filters,
                by_position=self._by_position,
            )

    # -- writing -----------------------------------------------------------------------------------

    @only_ours()
    def write(self, plan: WritePlan, context: WriteContext) -> JobResult:
        if isinstance(plan, MergePlan):
            plan = plan.starting_at(context.statement_id)
        target = self._target(plan, context)
        try:
            files = self._run(plan, context, target)
            # A writer that overslept its time-out must not publish: its ids may be another's by
            # now.
            _require_open(plan, context)
            published = publish(files, target)
        except BaseException:
            self._discard(plan, context, target)
            raise
        if target.kind is TableKind.PLAIN:
            remove_attempts(target)
        result = _result(plan, files, published, target)
        if isinstance(plan, LoadPlan) and not plan.local:
            return replace(result, moved=tuple(f.source for f in files))
        return result

    def _discard(self, plan: WritePlan, context: WriteContext, target: Target) -> None:
        """Remove what the write left. Never raises.

        If its transaction has ended, only hidden files: others may not be its own.
        """
        try:
            _require_open(plan, context)
        except AcidSqlError:
            remove_attempts(target)
            return
        discard_write(target, _statement_ids(plan, context), self._storage)

    @only_ours()
    def undo(self, plan: WritePlan, context: WriteContext) -> None:
        _require_open(plan, context)
        target = self._target(plan, context)
        undo_write(target, _statement_ids(plan, context), self._storage)

    def _target(self, plan: WritePlan, context: WriteContext) -> Target:
        snapshot = context.read.tables[plan.table]
        return Target.of(snapshot, context.write_id, self._storage, overwrite=replaces(plan))

    def _run(self, plan: WritePlan, context: WriteContext, target: Target) -> list[OutputFile]:
        snapshot = context.read.tables[plan.table]
        match plan:
            case InsertPlan():
                files = self._insert(plan, context, target)
                return files + empty_bases(plan, snapshot.table, files, target)
            case UpdatePlan():
                with self._job(context.read, "writing") as job:
                    return run_update(plan, job, target, context.statement_id)
            case DeletePlan():
                with self._job(context.read, "writing") as job:
                    return run_delete(plan, job, target, context.statement_id)
            case MergePlan():
                with self._job(context.read, "writing") as job:
                    return run_merge(plan, job, target)
            case LoadPlan():
                return load(plan, snapshot.table, target, context.statement_id)
            case TruncatePlan():
                return truncate(plan, snapshot, target)
            case _:
                assert_never(plan)

    def _insert(self, plan: InsertPlan, context: WriteContext, target: Target) -> list[OutputFile]:
        if isinstance(plan.rows, LiteralRows):
            return insert_literals(plan, plan.rows, target, context)
        if isinstance(plan.rows, GivenRows):
            return insert_given(plan, plan.rows, target, context)
        with self._job(context.read, "writing") as job:
            return run_insert(plan, plan.rows, job, target, context.statement_id)

    @only_ours()
    def fold(
        self,
        snapshot: TableSnapshot,
        txns: ValidTxnList,
        write_id: WriteId,
        txn_id: TxnId,
        *,
        keep: bool,
    ) -> Sequence[OwnPath]:
        return fold(
            snapshot,
            txns,
            write_id,
            self._storage,
            txn_id,
            keep=keep,
            by_position=self._by_position,
        )

    @only_ours()
    def compact(
        self, plan: CompactPlan, snapshot: TableSnapshot, txns: ValidTxnList, txn_id: TxnId
    ) -> bool:
        least = self._cluster_bytes
        run = where_it_pays(self._spark, self._storage, least, self._progress)
        by_position = self._by_position
        return compact(
            plan, snapshot, txns, self._storage, txn_id, by_position=by_position, run=run
        )

    @only_ours()
    def rebalance(
        self,
        plan: CompactPlan,
        snapshot: TableSnapshot,
        txns: ValidTxnList,
        txn_id: TxnId,
        write_id: WriteId,
    ) -> None:
        by_position = self._by_position
        rebalance(plan, snapshot, txns, self._storage, txn_id, write_id, by_position=by_position)

    def discard(self, paths: Sequence[OwnPath]) -> None:
        discard(paths, self._storage)

    def discard_moved(self, paths: Sequence[str]) -> None:
        discard_moved(paths, self._storage)

    # -- names -------------------------------------------------------------------------------------

    def register(self, name: str, frame: Any) -> None:
        self._frames[name.lower()] = registered_frame(name, frame, self._spark.get)

    def row_source(self, data: Any) -> RowSource:
        return given_rows(data)

    def frame_names(self) -> frozenset[str]:
        return frozenset(self._frames)

    @only_ours()
    def has_view(self, name: str) -> bool:
        # A session that is not started yet has no views.
        return self._spark.started and is_temporary_view(self._spark.get(), name)

    @only_ours()
    def configure(self, key: str, value: str | None) -> str | None:
        return self._spark.configure(key, value)

    @only_ours()
    def close(self) -> None:
        self._frames.clear()
        self._filters.clear()
        self._spark.close()


def is_temporary_view(spark: SparkSession, name: str) -> bool:
    """Whether the session has a temporary view of this name; others are not looked at."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - imported already

    try:
        return bool(spark.catalog.getTable(quote_identifier(name)).isTemporary)
    except AnalysisException:
        return False


def _require_open(plan: WritePlan, context: WriteContext) -> None:
    require_open = context.read.tables[plan.table].require_open
    if require_open is not None:
        require_open()


def _statement_ids(plan: WritePlan, context: WriteContext) -> range:
    return range(context.statement_id, context.statement_id + statement_count(plan))


def _result(
    plan: WritePlan, files: Sequence[OutputFile], published: Sequence[OwnPath], target: Target
) -> JobResult:
    counts = {"inserted": 0, "updated": 0, "deleted": 0}
    by_statement: Counter[StatementId] = Counter()
    touched: dict[Touched, None] = {}
    for file in files:
        statement_id = StatementId(file.statement_id)
        operation = _operation(plan, statement_id)
        location = target.directory(file.partition)
        touched[Touched(partition_name(file.partition), location, operation)] = None
        if operation in (Operation.INSERT, Operation.OVERWRITE):
            counts["inserted"] += file.rows
        elif operation is Operation.DELETE:
            counts["deleted"] += file.rows
        elif not file.is_delete:
            counts["updated"] += file.rows
        if operation is not Operation.UPDATE or not file.is_delete:
            by_statement[statement_id] += file.rows
    return JobResult(
        rows_inserted=counts["inserted"],
        rows_updated=counts["updated"],
        rows_deleted=counts["deleted"],
        metrics=plan.metrics(by_statement) if isinstance(plan, MergePlan) else {},
        touched=tuple(touched),
        paths=tuple(published),
        own_deletes=tuple(
            PartitionLocation(partition_name(text), target.directory(text))
            for text in sorted({f.partition for f in files if f.own_deletes})
        ),
    )


def _operation(plan: WritePlan, statement_id: StatementId) -> Operation:
    match plan:
        case InsertPlan() | LoadPlan():
            return Operation.OVERWRITE if plan.overwrite else Operation.INSERT
        case TruncatePlan():
            return Operation.OVERWRITE
        case UpdatePlan():
            return Operation.UPDATE
        case DeletePlan():
            return Operation.DELETE
        case MergePlan():
            for leg in plan.changing:
                if leg.statement_id == statement_id:
                    return Operation.UPDATE if isinstance(leg, UpdateLeg) else Operation.DELETE
            return Operation.INSERT
