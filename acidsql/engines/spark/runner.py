"""The Engine over Spark; what needs no Spark is done in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from acidsql.engines.overwrite import (
    counted_rows,
    empty_bases,
    empty_partitions,
    truncate,
)
from acidsql.engines.placed_write import (
    PlacedWrite,
    placed_writes,
    publish_all,
    refuse_overlaps,
)
from acidsql.engines.publish import discard, discard_moved, remove_attempts, require_copied
from acidsql.engines.selection import select_files
from acidsql.engines.spark.compact import where_it_pays
from acidsql.engines.spark.errors import only_ours
from acidsql.engines.spark.frame import SparkFrame
from acidsql.engines.spark.insert import run_insert
from acidsql.engines.spark.job import Job
from acidsql.engines.spark.kept import Kept
from acidsql.engines.spark.load import load_rows
from acidsql.engines.spark.merge import run_merge
from acidsql.engines.spark.multi_insert import run_multi_insert
from acidsql.engines.spark.own_functions import require_own_functions
from acidsql.engines.spark.own_jobs import own_jobs
from acidsql.engines.spark.read import ScanRequest
from acidsql.engines.spark.registered import registered_frame
from acidsql.engines.spark.session import SparkHolder
from acidsql.engines.spark.settings import for_statement
from acidsql.engines.spark.shared_source import shared_sources
from acidsql.engines.spark.summary import summary_frame
from acidsql.engines.spark.update import rows_of_partitions, run_delete, run_update
from acidsql.engines.target import OutputFile, Target
from acidsql.errors import AcidSqlError
from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import quote_identifier
from acidsql.model.own_path import OwnPath
from acidsql.model.progress import UNWATCHED, Progress
from acidsql.model.prune import prune_partitions
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.statistics import Value
from acidsql.model.table import TableKind
from acidsql.plans.compact import CompactPlan
from acidsql.plans.delete import DeletePlan
from acidsql.plans.insert import GivenRows, InsertPlan, LiteralRows
from acidsql.plans.load import LoadPlan
from acidsql.plans.merge import MergePlan
from acidsql.plans.multi_insert import MultiInsertPlan
from acidsql.plans.node import Node
from acidsql.plans.plan import ChangePlan, TableWrite, WritePlan, targets
from acidsql.plans.query import QueryPlan
from acidsql.plans.truncate import TruncatePlan
from acidsql.plans.update import UpdatePlan
from acidsql.ports.engine import (
    JobResult,
    ReadContext,
    RowSource,
    TableSnapshot,
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
        self._kept = Kept()
        self._spark = SparkHolder(spark, conf, self._kept.clear, progress)

    def beside(self, spark: SparkSession | None) -> SparkEngine:
        return type(self)(
            self._storage, spark, {}, by_position=self._by_position, progress=self._progress
        )

    # -- reading -----------------------------------------------------------------------------------

    @only_ours()
    def query(self, plan: QueryPlan, context: ReadContext) -> SparkFrame:
        with self._job(plan, context) as job, shared_sources(job, plan.common):
            return SparkFrame(job.sql(plan.rows), self._progress)

    @only_ours()
    def answer(
        self, plan: QueryPlan, context: ReadContext, row: Sequence[Value | None]
    ) -> SparkFrame:
        [snapshot] = context.tables.values()
        with self._job(plan, context) as job:
            return SparkFrame(summary_frame(job.spark, plan, snapshot.table, row), self._progress)

    @only_ours()
    def table(
        self, snapshot: TableSnapshot, txns: ValidTxnList, *, row_id: bool = False
    ) -> SparkFrame:
        context = ReadContext(txns, {snapshot.table.name: snapshot})
        request = ScanRequest(hidden=(HiddenColumn.ROW_ID,) if row_id else ())
        with self._job(None, context) as job:
            frame = job.scan(snapshot.table.name, request).frame
            if row_id:
                names = [quote_identifier(c.name) for c in snapshot.table.all_columns]
                frame = frame.select("row__id", *names)
            return SparkFrame(frame, self._progress)

    @contextmanager
    def _job(
        self, plan: Node | None, context: ReadContext, phase: str = "planning"
    ) -> Iterator[Job]:
        """The reads of a plan, or of a table that is asked for as a frame.

        ConfigError if the session has replaced functions that the reads call.

        Only Spark's own scans know the names of files, for which a plan or a frame may be asked.
        """
        spark = self._spark.get()
        with own_jobs(spark, phase, self._progress), for_statement(spark):
            require_own_functions(spark)
            yield Job(
                spark,
                self._storage,
                context,
                self._frames,
                self._kept,
                by_position=self._by_position,
                shows_files=plan is None or plan.mentions("input_file_"),
            )

    # -- writing -----------------------------------------------------------------------------------

    @only_ours()
    def write(self, plan: WritePlan, context: WriteContext) -> list[JobResult]:
        writes = placed_writes(plan, context, self._storage)
        try:
            files = self._files(plan, context, writes)
            refuse_overlaps(writes, files)
            # A writer that overslept its time-out must not publish: its ids may be another's by
            # now.
            _require_open(plan, context)
            results = publish_all(writes, files)
        except BaseException:
            self._discard(plan, context, writes)
            raise
        for write in writes:
            if write.target.kind is TableKind.PLAIN:
                remove_attempts(write.target)
        return results

    def _discard(
        self, plan: WritePlan, context: WriteContext, writes: Sequence[PlacedWrite]
    ) -> None:
        """Remove what the writes left. Never raises.

        If their transaction has ended, only hidden files: others may not be its own.
        """
        try:
            _require_open(plan, context)
        except AcidSqlError:
            for write in writes:
                remove_attempts(write.target)
            return
        for write in writes:
            discard_write(write.target, write.statement_ids, self._storage)

    @only_ours()
    def undo(self, plan: WritePlan, context: WriteContext) -> None:
        _require_open(plan, context)
        for write in placed_writes(plan, context, self._storage):
            undo_write(write.target, write.statement_ids, self._storage)

    def _files(
        self, plan: WritePlan, context: WriteContext, writes: Sequence[PlacedWrite]
    ) -> list[list[OutputFile]]:
        """The files of each write, not yet published. A write that is not due has none."""
        due = [write for write in writes if write.is_due]
        if isinstance(plan, MultiInsertPlan) and due:
            files = self._multi_insert(plan, context, due)
        else:
            files = [self._run(write.plan, write.context, write.target) for write in due]
        whole = iter([own + empty_bases(w, own) for w, own in zip(due, files, strict=True)])
        return [next(whole) if write.is_due else [] for write in writes]

    def _multi_insert(
        self, plan: MultiInsertPlan, context: WriteContext, writes: Sequence[PlacedWrite]
    ) -> list[list[OutputFile]]:
        with self._job(plan, context.read, "writing") as job:
            return run_multi_insert(plan, job, writes)

    def _run(self, plan: TableWrite, context: WriteContext, target: Target) -> list[OutputFile]:
        snapshot = context.read.tables[plan.table]
        match plan:
            case InsertPlan():
                return self._insert(plan, context, target)
            case DeletePlan(empties=True):
                return self._empty(plan, context, target)
            case UpdatePlan() | DeletePlan() | MergePlan():
                return self._change(plan, context, target)
            case LoadPlan(by_rows=True):
                with self._job(plan, context.read, "writing") as job:
                    return load_rows(plan, job, target, context.statement_id)
            case LoadPlan():
                return load(plan, snapshot.table, target, context.statement_id)
            case TruncatePlan():
                return truncate(plan, snapshot, target)
            case _:
                assert_never(plan)

    def _empty(self, plan: DeletePlan, context: WriteContext, target: Target) -> list[OutputFile]:
        """Empty bases. Spark counts the rows that they hide only where footers do not tell."""
        snapshot = context.read.tables[plan.table]
        places = prune_partitions(snapshot.table, snapshot.partitions, plan.predicates)
        selection = select_files(snapshot, places, context.read.txns, self._storage, tails=True)
        rows = counted_rows(selection)
        if rows is None:
            with self._job(plan, context.read, "writing") as job:
                rows = rows_of_partitions(plan, job)
        return empty_partitions(places, rows, target)

    def _change(self, plan: ChangePlan, context: WriteContext, target: Target) -> list[OutputFile]:
        with self._job(plan, context.read, "writing") as job, shared_sources(job, plan.common):
            match plan:
                case UpdatePlan():
                    return run_update(plan, job, target, context.statement_id)
                case DeletePlan():
                    return run_delete(plan, job, target, context.statement_id)
                case MergePlan():
                    return run_merge(plan, job, target)
                case _:
                    assert_never(plan)

    def _insert(self, plan: InsertPlan, context: WriteContext, target: Target) -> list[OutputFile]:
        if isinstance(plan.rows, LiteralRows):
            return insert_literals(plan, plan.rows, target, context)
        if isinstance(plan.rows, GivenRows):
            return insert_given(plan, plan.rows, target, context)
        with self._job(plan, context.read, "writing") as job:
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

    def require_copied(self, paths: Sequence[str]) -> None:
        require_copied(paths, self._storage)

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
        self._kept.clear()
        self._spark.close()


def is_temporary_view(spark: SparkSession, name: str) -> bool:
    """Whether the session has a temporary view of this name; others are not looked at."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - imported already

    try:
        return bool(spark.catalog.getTable(quote_identifier(name)).isTemporary)
    except AnalysisException:
        return False


def _require_open(plan: WritePlan, context: WriteContext) -> None:
    require_open = context.read.tables[targets(plan)[0]].require_open
    if require_open is not None:
        require_open()
