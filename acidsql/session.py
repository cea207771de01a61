"""One statement's life, from its text to its commit."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any

from acidsql.acid_directory import directory_snapshot, directory_txns
from acidsql.commit import write_and_commit, write_result
from acidsql.definitions import Definition, define
from acidsql.definitions.create_table_as import Reading, create_table_as
from acidsql.errors import (
    AnalysisError,
    ColumnNotFoundError,
    ConfigError,
    SqlError,
)
from acidsql.grammar.parse import parse
from acidsql.grammar.place import place_of_name
from acidsql.leases import Leases
from acidsql.model.access import Access, Operation
from acidsql.model.ids import NO_WRITE_ID
from acidsql.model.names import DEFAULT_DATABASE, TableName
from acidsql.model.table import FIELD_DELIMITER, Table, TableKind
from acidsql.parameters import Args, check_text, named_arguments
from acidsql.planner.accesses import query_accesses, write_accesses
from acidsql.planner.check import plan_check
from acidsql.planner.compact import plan_compact
from acidsql.planner.names import SeenNames
from acidsql.planner.planner import make_plan
from acidsql.plans.engine import Engine, ReadContext, WriteContext
from acidsql.plans.explain import explain
from acidsql.plans.plan import WritePlan, tables_read
from acidsql.plans.query import QueryPlan
from acidsql.result import Result, text_rows
from acidsql.scope import Scope
from acidsql.script import run_script
from acidsql.services.check import check_table, problem_rows
from acidsql.services.cleaner import run_cleaner
from acidsql.services.housekeeper import run_housekeeper
from acidsql.services.overtaking import is_overtaken, overtaken
from acidsql.services.request import compaction_result, request_compaction
from acidsql.services.snapshots import table_snapshots
from acidsql.services.worker import run_worker
from acidsql.shows import show
from acidsql.statements import (
    Check,
    Compact,
    CreateTableAs,
    Delete,
    Explain,
    Insert,
    Load,
    Merge,
    Query,
    Statement,
    Truncate,
    Update,
    Use,
    WriteStatement,
)
from acidsql.storage import Storage
from acidsql.store import Store
from acidsql.txn.entities import LockType, TxnType
from acidsql.txn.locks import lock_components
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import OpenTxn, transaction

_SNAPSHOT_RETRIES = 5
"""hive.txn.retrysnapshot.max.count: how often a statement that waited for a lock starts anew."""


__all__ = ["Result", "Session"]


class Session:
    """A warehouse, its store and an engine; runs statements. A context manager.

    Made by `acidsql.connect`. Statements may come from several threads.
    """

    def __init__(
        self,
        *,
        store: Store,
        engine: Engine,
        storage: Storage,
        policy: TxnPolicy,
        warehouse: str,
        user: str,
        host: str,
    ) -> None:
        self._store = store
        self._engine = engine
        self._storage = storage
        self._policy = policy
        self._warehouse = warehouse
        self._user, self._host = user, host
        self._database = DEFAULT_DATABASE
        self._leases = Leases()
        self._closed = False
        weakref.finalize(self, self._leases.close_soon)

    # -- statements --------------------------------------------------------------------------------

    def execute(self, sql: str, args: Args = None, *, line: int = 1, column: int = 1) -> Result:
        """Run one statement.

        ``args`` binds ``:name`` (a mapping) or ``?`` (a sequence) as values. ``line`` and
        ``column`` say where the statement begins in a script. Raises AcidSqlError.
        """
        self._check_open()
        started_s = time.perf_counter()
        try:
            check_text(sql, "the statement")
            statement = parse(sql, line, column)
            result = self._run(statement, named_arguments(args))
        except SqlError as error:
            if error.line is None:
                parts = error.parts if isinstance(error, ColumnNotFoundError) else ()
                error.line, error.column = place_of_name(sql, parts, line, column)
            raise
        result.statement, result.line, result.column = sql, line, column
        result.elapsed_s = time.perf_counter() - started_s
        return result

    def execute_script(self, text: str) -> Iterator[Result]:
        """Run many statements, each when its result is asked for; the first error ends it."""
        return run_script(
            text, lambda sql, line, column: self.execute(sql, line=line, column=column)
        )

    def table(self, name: str) -> Any:
        """A table as a lazy Spark DataFrame under one snapshot.

        The snapshot is kept, and its files with it, until the session is closed.
        """
        self._check_open()
        full_name = TableName.parse(name, self._database)
        self._store.table(full_name)
        txn = self._read_txn([Access.of(full_name, Operation.SELECT)])
        try:
            table = self._store.table(full_name)
            context = self._read_context(txn, [table], {})
            frame = self._engine.table(context.tables[full_name], context.txns).data_frame
        except BaseException as error:
            txn.abort_after(error)
            raise
        self._leases.keep(txn, [full_name])
        return frame

    def read_acid(
        self,
        path: str,
        *,
        schema: str,
        partitioned_by: str = "",
        valid_write_ids: str | None = None,
        valid_txns: str | None = None,
        row_id: bool = False,
        stored_as: str | None = None,
        field_delimiter: str = FIELD_DELIMITER,
    ) -> Any:
        """The rows of an ACID table's directory, which no catalog need know, as a DataFrame.

        ``schema`` and ``partitioned_by`` list columns as in CREATE TABLE. The snapshot comes in
        Hive's text forms (``db.table:watermark:min open:open:aborted`` and the same without the
        table); None sees everything. ``row_id`` puts ``row__id`` first. Files of an insert-only
        table may be ORC, PARQUET or TEXTFILE, of which ``field_delimiter`` parts the fields; with
        ``stored_as`` None their first bytes tell, else it must say which. Nothing keeps a cleaner
        from the files. Raises AcidSqlError.
        """
        self._check_open()
        snapshot = directory_snapshot(
            path, schema, partitioned_by, valid_write_ids, self._storage,
            row_id=row_id, stored_as=stored_as, field_delimiter=field_delimiter,
        )  # fmt: skip
        txns = directory_txns(valid_txns)
        return self._engine.table(snapshot, txns, row_id=row_id).data_frame

    def register(self, name: str, frame: Any) -> None:
        """Make a Spark DataFrame usable as a source under a name, before any table of that name."""
        self._check_open()
        self._engine.register(name, frame)

    def run_worker(self) -> int:
        """Carry out the queued compactions; how many were done."""
        self._check_open()
        return run_worker(
            self._store, self._store, self._engine,
            user=self._user, host=self._host, policy=self._policy,
        )  # fmt: skip

    def run_cleaner(self) -> int:
        """Remove what no open reader can need any more; how many compactions were cleaned."""
        self._check_open()
        self._leases.settle()
        return run_cleaner(self._store, self._store, self._storage)

    def run_housekeeper(self) -> list[int]:
        """Abort transactions without a heartbeat, trim the transaction tables; the ids aborted."""
        self._check_open()
        return list(map(int, run_housekeeper(self._store)))

    def close(self) -> None:
        """Let go of every snapshot, the engine and the store. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            self._leases.close()
        finally:
            self._engine.close()
            self._store.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- what the planner asks (planner.names.Names) -----------------------------------------------

    @property
    def database(self) -> str:
        """The current database."""
        return self._database

    def find_table(self, name: TableName) -> Table | None:
        """The catalog's table, or None."""
        return self._store.find_table(name)

    def is_frame(self, name: str) -> bool:
        """Whether a DataFrame is registered under this name."""
        return name.lower() in self._engine.frame_names()

    def is_view(self, name: str) -> bool:
        """Whether Spark has a temporary view of this name."""
        return self._engine.has_view(name)

    def table_names(self, database: str) -> list[str]:
        """The tables of a database, if it exists, to suggest from."""
        return self._store.tables(database) if database in self._store.databases() else []

    # -- one match over statements -----------------------------------------------------------------

    def _run(self, statement: Statement, arguments: dict[str, Any]) -> Result:
        match statement:
            case Query():
                return self._query(statement, arguments)
            case Insert() | Update() | Delete() | Merge() | Truncate() | Load():
                return self._write(statement, arguments)
            case Explain():
                plan = make_plan(statement.statement, self, arguments)
                return text_rows("explain", ["plan"], [(t,) for t in explain(plan).splitlines()])
            case Compact():
                return self._compact(statement, arguments)
            case Check():
                return self._check_table(statement, arguments)
            case Use():
                self._database = self._store.database(statement.name.name).name
                return Result("use", message="OK")
            case CreateTableAs():
                reading = Reading(self._engine, partial(self._read_context, arguments=arguments))
                return create_table_as(statement, self._scope(arguments), reading)
            case _ if isinstance(statement, Definition):
                result = define(statement, self._scope(arguments))
                if self._database not in self._store.databases():
                    self._database = DEFAULT_DATABASE
                return result
            case _:
                return show(statement, self._scope(arguments))

    def _query(self, statement: Query, arguments: dict[str, Any]) -> Result:
        for _ in range(_SNAPSHOT_RETRIES):
            seen = SeenNames(self)
            plan = make_plan(statement, seen, arguments)
            assert isinstance(plan, QueryPlan)
            txn = self._read_txn(query_accesses(plan))
            if seen.still_hold():
                break
            txn.close()
        else:
            raise _altered()
        names = tables_read(plan)
        try:
            context = self._read_context(txn, [self._store.table(n) for n in names], arguments)
            frame = self._engine.query(plan, context)
        except BaseException as error:
            txn.abort_after(error)
            raise
        self._leases.keep(txn, names)
        result = Result(
            "select", frame, txn_id=txn.txn_id, release=lambda: self._leases.release(txn)
        )
        self._leases.release_with(result, txn)
        return result

    def _write(self, statement: WriteStatement, arguments: dict[str, Any]) -> Result:
        for attempt in itertools.count(1):
            seen = SeenNames(self)
            plan = make_plan(statement, seen, arguments)
            assert not isinstance(plan, QueryPlan)
            target = seen.tables[plan.table]
            assert target is not None
            with self._transaction() as txn:
                transactional = target.kind is not TableKind.PLAIN
                write_id = txn.write_id(target.name) if transactional else NO_WRITE_ID
                self._lock_target(txn, plan, target)
                # Who waited for a lock may have been overtaken: its snapshot could never commit,
                # or its plan is one for columns that are others now.
                altered = not seen.still_hold()
                if altered and attempt == _SNAPSHOT_RETRIES:
                    raise _altered()
                stale = self._store.latest_txn_in_conflict(txn.txn_id) is not None
                if altered or (stale and attempt < _SNAPSHOT_RETRIES):
                    txn.abort("snapshot was outdated when locks were acquired")
                    continue
                tables = [
                    self._store.table(n) for n in dict.fromkeys((plan.table, *tables_read(plan)))
                ]
                context = WriteContext(self._read_context(txn, tables, arguments), write_id)
                if is_overtaken(plan, context, self._store, self._storage):
                    if attempt == _SNAPSHOT_RETRIES:
                        raise overtaken(plan.table, txn.txn_id)
                    txn.abort("a later write id was committed before locks were acquired")
                    continue
                job = write_and_commit(plan, context, txn, self._store, self._engine)
            return write_result(plan, job, txn, write_id)
        raise AssertionError("the loop ends by returning or raising")

    def _lock_target(self, txn: OpenTxn, plan: WritePlan, target: Table) -> None:
        components = lock_components(write_accesses(plan, target))
        if any(c.type is LockType.EXCLUSIVE for c in components):
            # Our own lazy frames would be waited for in vain. They stay readable until the cleaner
            # comes, so that one of them may even be what the table is overwritten with.
            self._leases.release_table(lambda held: held == target.name)
        txn.lock(components)

    def _check_table(self, statement: Check, arguments: dict[str, Any]) -> Result:
        plan = plan_check(statement, self, arguments)
        txn = self._read_txn([Access.of(plan.table, Operation.SELECT)])
        try:
            table = self._store.table(plan.table)
            snapshot = self._read_context(txn, [table], {}).tables[plan.table]
            found = check_table(plan, snapshot, txn, self._store, self._storage, self._engine)
        except BaseException as error:
            txn.abort_after(error)
            raise
        txn.close()
        return problem_rows(plan, found)

    # -- compaction --------------------------------------------------------------------------------

    def _compact(self, statement: Compact, arguments: dict[str, Any]) -> Result:
        plan = plan_compact(statement, self, arguments)
        number = request_compaction(plan, statement.target, self._store, self._host)
        if statement.wait:
            self.run_worker()
        return compaction_result(number, self._store, finished=statement.wait)

    def _scope(self, arguments: dict[str, Any]) -> Scope:
        return Scope(
            self._store, self._storage, self, self._warehouse, self._user,
            self._transaction, self._leases.release_table, arguments,
        )  # fmt: skip

    # -- transactions ------------------------------------------------------------------------------

    def _transaction(self) -> Any:
        return transaction(self._store, user=self._user, host=self._host, policy=self._policy)

    def _read_txn(self, accesses: Sequence[Access]) -> OpenTxn:
        txn = OpenTxn(
            self._store,
            user=self._user,
            host=self._host,
            type=TxnType.READ_ONLY,
            policy=self._policy,
        )
        try:
            txn.lock(lock_components(accesses))
        except BaseException as error:
            txn.abort_after(error)
            raise
        return txn

    def _read_context(
        self, txn: OpenTxn, tables: Sequence[Table], arguments: Mapping[str, Any]
    ) -> ReadContext:
        write_ids = txn.snapshot([t.name for t in tables])
        snapshots = table_snapshots(self._store, tables, write_ids)
        return ReadContext(txn.valid_txns, snapshots, arguments)

    def _check_open(self) -> None:
        if self._closed:
            raise ConfigError("the session is closed", hint="Open a new one with acidsql.connect.")


def _altered() -> AnalysisError:
    return AnalysisError(
        "a table of the statement was altered again and again while it waited",
        hint="Run the statement again.",
    )
