"""The session: it takes a statement from its text to its commit."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import TracebackType
from typing import Any

from acidsql.background.initiator import Initiator
from acidsql.background.rounds import Rounds
from acidsql.background.scope import BackgroundScope
from acidsql.definitions.temporary_tables import TemporaryTables, drop_abandoned
from acidsql.errors import ConfigError, SqlError
from acidsql.execution.leases import Leases
from acidsql.execution.names import SessionNames
from acidsql.execution.result import Result
from acidsql.execution.scope import UNBOUNDED, Bounds, Scope
from acidsql.execution.stream_scope import OpenStreams, StreamScope
from acidsql.execution.types import query_types
from acidsql.grammar.origin import Origin
from acidsql.grammar.parse import parse
from acidsql.model.names import TableName
from acidsql.model.progress import UNWATCHED, Progress, Relay
from acidsql.model.view import View
from acidsql.ports.engine import Engine
from acidsql.ports.storage import Storage
from acidsql.ports.store import Store
from acidsql.process.forks import Home
from acidsql.service.inline import InlineService
from acidsql.service.timetable import ServiceTimes
from acidsql.session.at_exit import leaves_at_exit
from acidsql.session.background_work import BackgroundWork
from acidsql.session.configuration import Configuration
from acidsql.session.dispatch import Dispatch
from acidsql.session.frames import Frames
from acidsql.session.insert import insert_of_rows, require_retriable
from acidsql.session.parameters import Args, named_arguments, require_count, require_text
from acidsql.session.retries import with_retries
from acidsql.session.script import run_script
from acidsql.session.transaction_control import TransactionControl
from acidsql.session.view_text import view_query
from acidsql.settings import Settings
from acidsql.statements import Query, Statement
from acidsql.txn.compaction_need import DEFAULT_THRESHOLDS, Thresholds
from acidsql.txn.heartbeats import HEARTBEATS, Heartbeats
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import TxnOpener, transaction


class Session(Frames, BackgroundWork):
    """Runs statements on a warehouse with its store and an engine. A context manager.

    Made by `acidsql.connect`. Several threads may run statements at the same time. A transaction
    that one of them has begun is that of the session, so statements of the others are part of it:
    a thread that needs transactions of its own needs a session of its own, as by `beside`.
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
        heartbeats: Heartbeats = HEARTBEATS,
        is_new: bool = False,
        progress: Relay | None = None,
        settings: Settings | None = None,
        bounds: Bounds = UNBOUNDED,
        thresholds: Thresholds = DEFAULT_THRESHOLDS,
        times: ServiceTimes | None = None,
        inline: bool = False,
        sleep: Callable[[float], None] = time.sleep,
        borrows_store: bool = False,
    ) -> None:
        """``progress`` receives the phases of the engine's work.

        ``settings`` are what SET changes: ``policy`` and ``thresholds`` follow them from then on.
        With ``inline`` the session compacts and cleans up in the background, after its commits.
        ``borrows_store`` says that the store belongs to another session, which closes it.
        """
        self._store, self._engine, self._storage = store, engine, storage
        self._warehouse, self._user, self._host = warehouse, user, host
        self._is_new, self._bounds, self._sleep = is_new, bounds, sleep
        self._borrows_store = borrows_store
        self._supervisor = heartbeats.supervisor
        self._progress = progress or Relay()
        # An object of its own, not a bound method: transactions and leases keep it, and they must
        # not keep the session alive.
        open_txn = TxnOpener(store, user, host, policy, heartbeats, progress or UNWATCHED)
        self._open_txn = open_txn
        self._leases = leases = Leases(self._supervisor)
        self._streams = OpenStreams(leases, self._supervisor)
        self._transactions = TransactionControl(store, engine, open_txn, leases)
        initiator = Initiator(thresholds, host)
        # It keeps the objects that go by the settings, and not the session.
        put_in_force = partial(_put_in_force, open_txn, initiator)
        settings = settings or Settings.of(warehouse)
        self._configuration = Configuration(settings, engine, put_in_force)
        self._names = SessionNames(store, engine, partial(_view_query, self._configuration))
        base = self._base_scope()
        self._temporary_tables = TemporaryTables(self._names, base, heartbeats)
        # Background work shows no progress: a notebook watches its statements alone.
        quiet = TxnOpener(store, user, host, policy, heartbeats)
        scope = BackgroundScope(store, store, storage, quiet, self._supervisor, sleep=sleep)
        sweep = partial(drop_abandoned, base)
        rounds = Rounds(scope, engine, initiator, host, leases.settle, sweep)
        super().__init__(rounds, heartbeats, times, inline=inline)
        self._dispatch = Dispatch(
            base, self._names, engine, open_txn, leases, self._transactions,
            self._configuration, rounds, self._temporary_tables,
        )  # fmt: skip
        self._closed = False
        self._home = Home("session", self)
        self._end_later = partial(
            _close_later, self._transactions, leases, self._inline, self._temporary_tables
        )
        weakref.finalize(self, self._end_later).atexit = False
        leaves_at_exit(self)

    def _base_scope(self) -> Scope:
        """It keeps nothing of the session but its parts."""
        open_txn = self._open_txn
        return Scope(
            self._store, self._storage, self._names, self._warehouse, self._user,
            lambda: transaction(open_txn()), self._leases.release_table, {},
            self._configuration.settings, partial(query_types, self._engine), bounds=self._bounds,
        )  # fmt: skip

    @property
    def new_warehouse(self) -> str | None:
        """The warehouse, if this session made its store; None if the store was there before."""
        return self._warehouse if self._is_new else None

    @property
    def _policy(self) -> TxnPolicy:
        return self._open_txn.policy

    @property
    def _thresholds(self) -> Thresholds:
        return self._rounds.initiator.thresholds

    # -- statements --------------------------------------------------------------------------------

    def execute(
        self,
        sql: str,
        args: Args = None,
        *,
        retries: int = 0,
        line: int = 1,
        column: int = 1,
        variables: bool = False,
    ) -> Result:
        """Run one statement.

        ``args`` gives the values of the parameters: a mapping for ``:name``, a sequence for ``?``.
        A statement that loses a write conflict runs again up to ``retries`` times, each time on a
        new snapshot. Inside a transaction ``retries`` must be 0. ``line`` and ``column`` are the
        place of the statement in a script, for errors. ``variables`` replaces variables like
        ``${day}`` by their texts, as scripts do. Raises AcidSqlError.
        """
        self._check_open()
        require_text(sql, "the statement")
        require_count(retries, "retries")
        require_count(line, "line", 1)
        require_count(column, "column", 1)
        started_s = time.perf_counter()
        text = self._configuration.replaced(sql, line, column) if variables else sql
        origin = Origin(sql, text, line, column)
        reflection = self._configuration.settings.allow_reflection
        try:
            arguments = named_arguments(args)
            statement = parse(text, line, column, reflection=reflection, arguments=arguments.keys())
            result = self._run(statement, arguments, retries)
        except SqlError as error:
            origin.place(error)
            raise
        result.statement, result.line, result.column = sql, line, column
        result.place_error = origin.place
        result.elapsed_s = time.perf_counter() - started_s
        return result

    def insert(
        self,
        table: str,
        data: Any,
        *,
        partition: Mapping[str, Any] | None = None,
        overwrite: bool = False,
        retries: int = 0,
    ) -> Result:
        """Insert rows of this process into a table, as one INSERT. Spark is not needed.

        ``data`` is a frame of pandas or polars, an Arrow table, record batch, reader or other
        object that gives an Arrow stream, a list of dicts, or a dict of columns. Its columns are
        those of the table by name, in any case. A column of the table that it lacks becomes NULL,
        one that the table lacks is an error. ``partition`` gives partition columns one value for
        all rows. pandas' NaT and NA are NULL. A reader is read batch by batch, so it may have more
        rows than memory.

        ``overwrite`` replaces rows as INSERT OVERWRITE does. ``retries`` is that of `execute`; a
        reader can be read once only, so there it must be 0.

        Values are converted as INSERT converts them, but where that would lose something: a value
        that does not fit its column is an InvalidValueError that names column and row, and nothing
        is written. Raises AcidSqlError.
        """
        self._check_open()
        require_text(table, "the name of a table")
        started_s = time.perf_counter()
        source = self._engine.row_source(data)
        require_retriable(source, retries)
        name = TableName.parse(table, self._names.database)
        statement, arguments = insert_of_rows(name, source, partition or {}, overwrite=overwrite)
        try:
            result = self._run(statement, arguments, retries)
        except SqlError as error:
            error.line = error.column = error.excerpt = None  # there is no text
            raise
        result.elapsed_s = time.perf_counter() - started_s
        return result

    def execute_script(self, text: str, *, single_transaction: bool = False) -> Iterator[Result]:
        """Run many statements; each runs when its result is asked for.

        The first error ends the script. With ``single_transaction`` all statements are committed
        together at the end, or none of them.
        """
        require_text(text, "the script")
        with self.transaction() if single_transaction else nullcontext():
            yield from run_script(
                text,
                lambda sql, line, column: self.execute(
                    sql, line=line, column=column, variables=True
                ),
            )

    def set(self, key: str, value: str) -> Result:
        """Give a property or a variable a value: ``SET key=value``, for texts of any characters.

        The message says so if that has no effect. ConfigError for what no statement may set.
        """
        self._check_open()
        require_text(key, "the name of a property")
        require_text(value, f"the value of {key}")
        return self._configuration.set(key, value)

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator[Session]:
        """A transaction over the statements of a ``with`` block; the same as BEGIN and COMMIT.

        Leaving the block commits, an error rolls back. TxnError if a transaction is open already.
        """
        self._check_open()
        begun = self._transactions.begin(read_only=read_only or None)
        try:
            yield self
            self._home.require()
            self._transactions.commit_if(begun)
            if begun.write_ids:
                self._committed()
        except BaseException:
            if self._home.is_here:
                self._transactions.rollback_if(begun)
            raise

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction of several statements is open."""
        return self._transactions.in_block

    def beside(self, spark: Any = None) -> Session:
        """A session on the same store, with a transaction and registered names of its own.

        It is for work beside that of this session, for example in a callback of Spark: statements
        there do not meet a transaction that is open here. ``spark`` is the SparkSession that it
        uses. Close it before this session, which keeps the store.
        """
        self._check_open()
        session = Session(
            store=self._store, engine=self._engine.beside(spark), storage=self._storage,
            policy=self._policy, warehouse=self._warehouse, user=self._user, host=self._host,
            heartbeats=self._heartbeats, settings=self._configuration.settings,
            bounds=self._bounds, thresholds=self._thresholds, sleep=self._sleep,
            borrows_store=True,
        )  # fmt: skip
        session._names.database = self._names.database
        session._committed = self._committed
        return session

    def watched_by(self, watcher: Progress) -> AbstractContextManager[None]:
        """For a ``with`` block, tell a watcher the progress of statements and of their results."""
        return self._progress.watched_by(watcher)

    def stream_scope(self) -> StreamScope:
        """What `acidsql.streaming` needs to write beside this session. Not for other callers."""
        self._check_open()
        return StreamScope(
            self._dispatch.scope({}), self._policy, self._heartbeats, self._host,
            self._names.database, self._committed, self._streams.add,
        )  # fmt: skip

    def close(self) -> None:
        """Close streaming connections, release every snapshot, engine and store. Idempotent.

        Does nothing in a forked child: snapshots, engine and store belong to the parent.
        """
        if self._closed or not self._home.is_here:
            return
        self._closed = True
        try:
            if self._inline is not None:
                self._inline.close()
            self._streams.close()
            self._transactions.close()
            self._leases.close()
            # A table that cannot be dropped now is dropped a day later, by a housekeeper.
            self._supervisor.attempt(
                "temporary tables", self._temporary_tables.close, None, self._warehouse
            )
        finally:
            self._engine.close()
            if not self._borrows_store:
                self._store.close()

    def leave(self, timeout_s: float) -> None:
        """What a process does at its end with a session that nobody has closed. No error is raised.

        Ends transactions and drops temporary tables; waits for that at most ``timeout_s`` seconds.
        """
        if not self._closed and self._home.is_here:
            self._streams.close_soon()
            self._end_later()
            self._leases.wait(timeout_s)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def database(self) -> str:
        """The current database."""
        return self._names.database

    # -- what the public methods share -------------------------------------------------------------

    def _run(self, statement: Statement, arguments: dict[str, Any], retries: int) -> Result:
        if retries and (self._transactions.in_block or not self._transactions.autocommit):
            raise ConfigError(
                "a single statement of a transaction cannot be retried",
                hint="Run the whole transaction again, on a new snapshot.",
            )
        result = with_retries(
            lambda: self._dispatch.run(statement, arguments), retries, self._sleep
        )
        if result.write_ids and result.kind != "rollback" and not self.in_transaction:
            self._committed()
        return result

    def _check_open(self) -> None:
        self._home.require()
        if self._closed:
            raise ConfigError("the session is closed", hint="Open a new one with acidsql.connect.")


def _view_query(configuration: Configuration, view: View) -> Query:
    return view_query(view, reflection=configuration.settings.allow_reflection)


def _put_in_force(open_txn: TxnOpener, initiator: Initiator, settings: Settings) -> None:
    """Let the next transactions and compactions go by other settings."""
    open_txn.policy = settings.followed_by(open_txn.policy)
    initiator.thresholds = settings.thresholds


def _close_later(
    transactions: TransactionControl,
    leases: Leases,
    inline: InlineService | None,
    temporary_tables: TemporaryTables,
) -> None:
    """Have the thread of its leases close a session that Python has collected."""
    if inline is not None:
        inline.stop()
    leases.soon(transactions.close)
    leases.soon(temporary_tables.close)
    leases.soon(leases.close)
