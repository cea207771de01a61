"""ALTER TABLE … EXCHANGE PARTITION: partitions move from one table into another one.

Write ids and row ids belong to a table, so the rows of the partitions are written anew. One commit
shows them in the one table and drops the partitions of the other one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from acidsql.definitions.leftovers import remove_leftovers
from acidsql.definitions.partition import drop_together, no_partition_meets
from acidsql.errors import (
    AcidSqlError,
    AnalysisError,
    CommitStateUnknownError,
    UnsupportedStatementError,
)
from acidsql.execution.commit import Uncommitted, write
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import read_context
from acidsql.grammar.parse import parse
from acidsql.model.access import Access, Operation
from acidsql.model.ids import NO_WRITE_ID
from acidsql.model.names import PartitionName, quote_identifier, quoted_table
from acidsql.model.naming import partition_path
from acidsql.model.table import Table, TableKind
from acidsql.planner.insert import plan_insert
from acidsql.planner.names import SeenNames, ViewRefusal, find_target, refuse_read_only
from acidsql.planner.partition import fixed_values, partition_from_directory, require_partitioned
from acidsql.plans.insert import InsertPlan
from acidsql.ports.catalog import Partition, partition_exists
from acidsql.ports.engine import Engine, PartitionLocation, WriteContext
from acidsql.ports.storage import without_login
from acidsql.statements import Insert
from acidsql.statements.alter_table import ExchangePartition
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components
from acidsql.txn.transaction import OpenTxn

_log = logging.getLogger(__name__)


def exchange_partition(statement: ExchangePartition, scope: Scope, engine: Engine) -> Result:
    """Move the partitions. PARTITION may leave partition columns out."""
    target, source = exchanged_tables(statement, scope)
    seen = SeenNames(scope.names)
    plan = _plan(target, source, seen, scope)
    with scope.transaction() as txn:
        scope.release(lambda held: held in (target.name, source.name))
        txn.lock(exchange_locks(target, source))
        txn.see_latest()
        if not seen.still_hold():
            raise AnalysisError(
                "one of the tables was altered by another statement meanwhile",
                hint="Run the statement again.",
            )
        moved = _moved(statement, target, source, scope)
        context = _context(target, source, moved, plan, scope, txn)
        notes = _move(plan, context, source, moved, scope, engine, txn)
    lines = [f"Moved the partition {p.name}" for p in moved]
    return Result("alter", message="\n".join([*lines, *notes]))


def exchanged_tables(statement: ExchangePartition, scope: Scope) -> tuple[Table, Table]:
    """The table that gets the partitions, and the one that loses them.

    AnalysisError unless they have the same columns.
    """
    target = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    source = find_target(statement.source, scope.names, ViewRefusal.ALTER)
    place: dict[str, Any] = {"line": statement.source.line, "column": statement.source.column}
    for table in (target, source):
        refuse_read_only(table)
    if not source.owns_files:
        raise UnsupportedStatementError(
            f"the files of the external table {source.name} stay where they are",
            detail="So its partitions cannot move: their rows would be in both tables.",
            hint="INSERT INTO … SELECT copies the rows; DROP PARTITION forgets the partitions.",
            **place,
        )
    require_partitioned(target, statement.target)
    if target.name == source.name:
        raise AnalysisError("a table cannot exchange partitions with itself", **place)
    if _shape(target) != _shape(source):
        raise AnalysisError(
            "The tables have different schemas. Their partitions cannot be exchanged.",
            detail=f"{target.name} has {_shown(target)}; {source.name} has {_shown(source)}.",
            **place,
        )
    return target, source


def exchange_locks(target: Table, source: Table) -> list[LockComponent]:
    """The locks of EXCHANGE PARTITION: nobody else reads or writes the two tables."""
    return lock_components([Access.of(t.name, Operation.ALTER) for t in (target, source)])


def _shape(table: Table) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    columns, partition_columns = table.columns, table.partition_columns
    return [(c.name, c.type) for c in columns], [(c.name, c.type) for c in partition_columns]


def _shown(table: Table) -> str:
    columns, partition_columns = _shape(table)
    shown = ", ".join(f"{name} {kind}" for name, kind in columns)
    keys = ", ".join(f"{name} {kind}" for name, kind in partition_columns)
    return f"({shown}) partitioned by ({keys})"


def _plan(target: Table, source: Table, seen: SeenNames, scope: Scope) -> InsertPlan:
    """The plan of the INSERT of all rows, by the rules of any INSERT."""
    keys = ", ".join(quote_identifier(c.name) for c in target.partition_columns)
    columns = ", ".join(quote_identifier(c.name) for c in source.all_columns)
    into, rows = quoted_table(target.name), quoted_table(source.name)
    sql = f"INSERT INTO {into} PARTITION ({keys}) SELECT {columns} FROM {rows}"  # noqa: S608 - quoted
    insert = parse(sql)
    assert isinstance(insert, Insert)
    return plan_insert(insert, seen, {})


def _moved(
    statement: ExchangePartition, target: Table, source: Table, scope: Scope
) -> list[Partition]:
    """The partitions that move. None of them may be in the target."""
    wanted = fixed_values(statement.partition, source, scope.arguments)
    known = scope.store.partitions(source.name)
    moved = [p for p in known if set(wanted) <= set(p.name.items)]
    if not moved:
        raise no_partition_meets(source, statement.source)
    there = set(scope.store.partition_names(target.name))
    for partition in moved:
        if _canonical(partition.name, target) in there:
            raise partition_exists(target.name, partition.name)
    return moved


def _canonical(name: PartitionName, table: Table) -> PartitionName:
    """The name that an INSERT gives a partition with these values."""
    try:
        return partition_from_directory(name, table)
    except ValueError:
        return name


def _context(
    target: Table,
    source: Table,
    moved: Sequence[Partition],
    plan: InsertPlan,
    scope: Scope,
    txn: OpenTxn,
) -> WriteContext:
    """What the INSERT reads and writes: of the source, only the partitions that move."""
    is_plain = target.kind is TableKind.PLAIN
    write_id = NO_WRITE_ID if is_plain else txn.write_id(target.name)
    read = read_context(
        scope.store, txn, [target, source], {}, plan=plan, database=scope.names.database
    )
    places = tuple(PartitionLocation(p.name, p.location) for p in moved)
    rows = replace(read.tables[source.name], partitions=places)
    read = replace(read, tables={**read.tables, source.name: rows})
    return WriteContext(read, {target.name: write_id})


def _move(
    plan: InsertPlan,
    context: WriteContext,
    source: Table,
    moved: Sequence[Partition],
    scope: Scope,
    engine: Engine,
    txn: OpenTxn,
) -> list[str]:
    """Write the rows, and commit them together with the end of the source's partitions."""
    target = context.read.tables[plan.table].table
    made = [_made(partition, target, scope) for partition in moved]
    wrote = Uncommitted()
    write(
        plan,
        context,
        txn,
        scope.store,
        scope.storage,
        engine,
        wrote,
        is_last=True,
        max_partitions=None,
    )
    try:
        for partition in made:
            scope.storage.make_directory(partition.location)

        @contextmanager
        def committing() -> Iterator[None]:
            with scope.committing(txn, wrote.reached, list(wrote.written)):
                scope.store.add_partitions(target.name, made)
                for table in (target, source):
                    scope.store.alter_table(table.remade(txn.txn_id))
                yield

        return drop_together(source, moved, scope, committing(), keeps_rows=True)
    except CommitStateUnknownError:
        raise
    except BaseException:
        is_own = txn.owns_files()
        if is_own:
            engine.discard(wrote.paths)
        if is_own or target.kind is TableKind.PLAIN:
            _forget_made(target, made, scope)
        raise


def _forget_made(target: Table, made: Sequence[Partition], scope: Scope) -> None:
    """Drop the partitions of an exchange that failed, where the store has not done so by itself.

    A Hive Metastore keeps them, because others may have written into them. But nobody else writes
    under the locks of an exchange, and rows of a plain table would be in both tables.
    """
    if scope.store.commits_in_one_step:
        return
    try:
        scope.store.drop_partitions(target.name, [partition.name for partition in made])
    except AcidSqlError:  # the first error must win
        _log.warning("could not drop partitions of %s again", target.name, exc_info=True)


def _made(partition: Partition, target: Table, scope: Scope) -> Partition:
    """The partition as the target will have it. AnalysisError if files are in its directory."""
    name = _canonical(partition.name, target)
    place = partition_path(target.location, name)
    remove_leftovers(target, [place], scope)
    if scope.storage.list_files(place):
        raise AnalysisError(
            f"the directory {without_login(place)} is not empty",
            detail=f"It is the one that partition {name} of {target.name} would get.",
            hint="ADD PARTITION makes a partition of the files that are there.",
        )
    return Partition(name, place)
