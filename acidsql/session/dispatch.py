"""The dispatch of a session: one match over statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from acidsql.background.rounds import Rounds
from acidsql.background.vacuum import run_vacuum
from acidsql.check.table import run_check
from acidsql.definitions import define
from acidsql.definitions.abort_compactions import abort_compactions
from acidsql.definitions.abort_transactions import abort_transactions
from acidsql.definitions.analyze import analyze
from acidsql.definitions.cache import cache
from acidsql.definitions.compaction_request import compact
from acidsql.definitions.create_table_as import create_table_as
from acidsql.definitions.create_view import create_temporary_view, define_view
from acidsql.definitions.evolution import evolve
from acidsql.definitions.exchange_partition import exchange_partition
from acidsql.definitions.export_table import export_table
from acidsql.definitions.import_table import import_table
from acidsql.definitions.insert_directory import insert_directory
from acidsql.definitions.name_pattern import matching
from acidsql.definitions.shows import show
from acidsql.definitions.temporary_tables import Creation, TemporaryTables
from acidsql.execution.leases import Leases
from acidsql.execution.names import SessionNames
from acidsql.execution.query import describe_query, run_query
from acidsql.execution.result import Result, text_rows
from acidsql.execution.scope import Scope
from acidsql.execution.transaction_block import TransactionBlock
from acidsql.execution.types import function_lines, function_names
from acidsql.execution.write import planned_write, run_write
from acidsql.model.table import pool_of
from acidsql.planner.names import find_temporary, is_temporary_table
from acidsql.ports.engine import Engine
from acidsql.session.configuration import Configuration
from acidsql.session.explain import explain
from acidsql.session.transaction_control import TransactionControl
from acidsql.statements import (
    AbortCompactions,
    AbortTransactions,
    Analyze,
    Cache,
    Check,
    Compact,
    ConfigurationStatement,
    CreateTable,
    CreateTableAs,
    CreateTableLike,
    CreateView,
    Definition,
    DescribeFunction,
    DescribeQuery,
    DropTable,
    DropView,
    EngineAnswer,
    EngineDefinition,
    ExchangePartition,
    Explain,
    ExportTable,
    ImportTable,
    Insert,
    InsertDirectory,
    Merge,
    OtherStatement,
    Query,
    RenameTable,
    Show,
    ShowFunctions,
    Statement,
    TransactionStatement,
    Use,
    Vacuum,
    ViewDefinition,
    WriteStatement,
)
from acidsql.txn.transaction import TxnOpener


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Carries out the statements of a session.

    ``base`` is the Scope of all of them, without the arguments of a statement. Its settings are
    those with which the session began; ``configuration`` has those in force.
    """

    base: Scope
    names: SessionNames
    engine: Engine
    open_txn: TxnOpener
    leases: Leases
    transactions: TransactionControl
    configuration: Configuration
    rounds: Rounds
    temporary_tables: TemporaryTables

    def run(self, statement: Statement, arguments: Mapping[str, Any]) -> Result:
        """Run one statement, in the open transaction if there is one. Raises AcidSqlError."""
        if isinstance(statement, TransactionStatement):
            return self.transactions.run(statement)
        if isinstance(statement, ConfigurationStatement):
            return self.configuration.run(statement)
        with self.transactions.statement(statement) as block:
            return self._run(statement, self.scope(arguments), block)

    def scope(self, arguments: Mapping[str, Any]) -> Scope:
        """What a statement with these arguments works on."""
        return replace(self.base, arguments=arguments, settings=self.configuration.settings)

    def _run(
        self, statement: OtherStatement, scope: Scope, block: TransactionBlock | None
    ) -> Result:
        match statement:
            case Query():
                return run_query(statement, block, self.open_txn, scope, self.engine, self.leases)
            case _ if isinstance(statement, WriteStatement):
                return self._write(statement, scope, block)
            case InsertDirectory() | ExportTable() | ImportTable():
                return self._transfer(statement, scope)
            case Explain():
                return explain(statement, scope, self.engine, self.open_txn.policy, block)
            case Check():
                return run_check(statement, block, self.open_txn, scope)
            case Analyze():
                return analyze(statement, scope, self.engine)
            case Compact() | Vacuum() | Cache() | AbortTransactions() | AbortCompactions():
                return self._maintain(statement, scope)
            case Use():
                self.names.database = scope.store.database(statement.name.name).name
                return Result("use", message="OK")
            case _ if isinstance(statement, Show | EngineAnswer):
                return self._show(statement, scope, block)
            case _:
                return self._define(statement, scope, block)

    def _write(
        self, statement: WriteStatement, scope: Scope, block: TransactionBlock | None
    ) -> Result:
        """Write rows. The columns that they bring are added before, in a transaction of its own."""
        if not isinstance(statement, Insert | Merge) or not statement.evolves:
            return run_write(statement, block, self.open_txn, scope, self.engine)
        planned = partial(planned_write, policy=self.open_txn.policy)
        found = evolve(statement, scope, self.engine, planned, in_block=block is not None)
        result = run_write(found.statement, block, self.open_txn, scope, self.engine)
        result.columns_added = [column.name for column in found.new]
        return result

    def _transfer(
        self, statement: InsertDirectory | ExportTable | ImportTable, scope: Scope
    ) -> Result:
        """Bring rows from tables into files of nobody, or back."""
        match statement:
            case InsertDirectory():
                return insert_directory(statement, self.open_txn, scope, self.engine)
            case ExportTable():
                return export_table(statement, self.open_txn, scope, self.engine)
            case ImportTable():
                return import_table(statement, self.open_txn, scope, self.engine)

    def _show(
        self,
        statement: Show | EngineAnswer,
        scope: Scope,
        block: TransactionBlock | None,
    ) -> Result:
        match statement:
            case DescribeQuery(query):
                return describe_query(query, block, self.open_txn, scope, self.engine, self.leases)
            case ShowFunctions(pattern):
                names = matching(function_names(self.engine), pattern)
                return text_rows("show", ["tab_name"], [(name,) for name in names])
            case DescribeFunction(name, extended):
                found = function_lines(self.engine, name, extended=extended)
                return text_rows("describe", ["tab_name"], [(line,) for line in found])
            case _:
                return show(statement, scope)

    def _maintain(
        self,
        statement: Compact | Vacuum | Cache | AbortTransactions | AbortCompactions,
        scope: Scope,
    ) -> Result:
        match statement:
            case Compact():
                thresholds = self.rounds.initiator.thresholds
                return compact(statement, scope, self.open_txn.host, self._work, thresholds)
            case Vacuum():
                return run_vacuum(statement, scope, self.rounds)
            case Cache():
                return cache(statement, scope)
            case AbortTransactions():
                return abort_transactions(statement, scope.store)
            case AbortCompactions():
                return abort_compactions(statement, scope.store)

    def _work(self, pool: str | None) -> int:
        return self.rounds.work(pool_of(pool or ""))

    def _define(
        self,
        statement: Definition | EngineDefinition,
        scope: Scope,
        block: TransactionBlock | None,
    ) -> Result:
        if isinstance(statement, CreateTableAs | CreateTable | CreateTableLike):
            if statement.is_temporary:
                self.leases.start()  # its thread drops the table if the session is not closed
                make = partial(self._create_table, scope=scope)
                return self.temporary_tables.create(statement, make)
            return self._create_table(statement, scope)
        if isinstance(statement, ExchangePartition):
            return exchange_partition(statement, scope, self.engine)
        temporary = self.names.temporary_views
        if isinstance(statement, CreateView) and statement.is_temporary:
            return create_temporary_view(
                statement, temporary, block, self.open_txn, scope, self.engine
            )
        if isinstance(statement, ViewDefinition):
            return define_view(statement, scope, self.engine)
        if isinstance(statement, DropView):
            dropped = find_temporary(statement.target, scope.names)
            if dropped is not None:
                del temporary[dropped.name.table]
                return Result("drop", message="OK")
        if isinstance(statement, RenameTable) and is_temporary_table(statement.target, self.names):
            return self.temporary_tables.rename(statement, scope)
        try:
            result = define(statement, scope)
        finally:
            if isinstance(statement, DropTable):
                self.temporary_tables.forget_dropped(statement.target)
        self.names.leave_dropped_database()
        return result

    def _create_table(self, statement: Creation, scope: Scope) -> Result:
        if isinstance(statement, CreateTableAs):
            return create_table_as(statement, scope, self.engine)
        return define(statement, scope)
