"""ALTER TABLE … SET TBLPROPERTIES ('transactional' = 'true'): a plain table becomes ACID.

No file is rewritten. If the table becomes full-ACID, its files become original files, of write id
0, and write ids up to 10,000,000 are kept free for them. A plain table finds columns by name. If
columns by position are others, the full-ACID table goes on finding them by name, and a property of
the table says so. If the table becomes insert-only, its files move into the delta of write id 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from acidsql.definitions.partition import altering, keeps, move, undoing
from acidsql.definitions.table_kind import (
    TRANSACTIONAL,
    TRANSACTIONAL_PROPERTIES,
    refuse_acid_format,
    refuse_external_acid,
    refuse_unknown_values,
)
from acidsql.definitions.table_places import places_of
from acidsql.errors import AnalysisError
from acidsql.execution.places import Neighbours, reason_to_keep
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.execution.snapshots import table_directories
from acidsql.layout.dir_names import DeltaDir, lies_hidden
from acidsql.layout.history import ORIGINAL_WRITE_IDS, history
from acidsql.model.comment import split_comment, with_comment
from acidsql.model.ids import StatementId, WriteId
from acidsql.model.names import TableName
from acidsql.model.table import POSITIONAL_EVOLUTION, FileFormat, Table, TableKind
from acidsql.orc.evolution import matched
from acidsql.orc.footer import read_tail
from acidsql.ports.storage import require_present, without_login
from acidsql.statements.fragment import TableRef
from acidsql.txn.transaction import OpenTxn

_MANAGED_FIRST = "ALTER TABLE … SET TBLPROPERTIES ('EXTERNAL' = 'FALSE') makes it managed first."


def convert(table: Table, given: Mapping[str, str], scope: Scope, target: TableRef) -> Result:
    """Make the table full-ACID or insert-only, under an exclusive lock."""
    place: dict[str, Any] = {"line": target.line, "column": target.column}
    properties = table.parameters.get(TRANSACTIONAL_PROPERTIES, "default")
    changes = {TRANSACTIONAL_PROPERTIES: properties, **given, TRANSACTIONAL: "true"}
    refuse_unknown_values(table.name, changes, place)
    refuse_external_acid(with_properties(table, changes), place, _MANAGED_FIRST)
    with altering(table, scope) as (txn, now):
        # `now` is the table after the wait for the lock. Another session may have converted it
        # meanwhile.
        if now.kind is not TableKind.PLAIN:
            raise AnalysisError(f"{table.name} is a {now.kind.value} table already", **place)
        _refuse_shared(now, scope, place)
        converted = with_properties(replace(now, parameters=now.noted), changes)
        refuse_external_acid(converted, place, _MANAGED_FIRST)
        if converted.kind is TableKind.FULL_ACID:
            _to_full_acid(converted, scope, txn, place)
        else:
            _to_insert_only(converted, scope, txn)
    return Result("alter", message="OK")


def _refuse_shared(table: Table, scope: Scope, place: dict[str, Any]) -> None:
    """AnalysisError if another table has files in a directory of this one.

    It would read the rows in another way, and remove them with its own.
    """
    neighbours = Neighbours(scope)
    for own in places_of(table, scope):
        reason = reason_to_keep(own.location, neighbours, [table.name])
        if reason is not None:
            raise AnalysisError(
                f"{table.name} cannot become transactional: its directory is not its own",
                detail=f"{without_login(own.location)}: {without_login(reason)}.",
                hint="Drop the other table, or give one of them another directory.",
                **place,
            )


def with_properties(table: Table, given: Mapping[str, str]) -> Table:
    """The table with the given TBLPROPERTIES; the property ``comment`` sets its comment."""
    parameters, comment = split_comment({**with_comment(table.parameters, table.comment), **given})
    return replace(table, parameters=parameters, comment=comment)


def _to_full_acid(table: Table, scope: Scope, txn: OpenTxn, place: dict[str, Any]) -> None:
    refuse_acid_format(
        table, place, "'transactional_properties' = 'insert_only' takes other formats."
    )
    files: list[str] = []
    for location in _locations(table, scope):
        listed = scope.storage.list_files(location)
        past = history(listed)
        if past.strange or past.directories:
            name = (past.strange or [path for path, _ in past.directories])[0]
            raise AnalysisError(
                f"Unable to alter table. Unexpected data file name format.  Cannot convert "
                f"{table.name} to transactional table.  File: {location}/{name}",
                hint="Only files named like 000000_0 or 000000_0_copy_1 become original files.",
                **place,
            )
        count = table.bucketing.count if table.bucketing else None
        if count is not None and any(bucket >= count for bucket in past.buckets):
            raise AnalysisError(f"{location} holds bucket {max(past.buckets)} of {count}", **place)
        files += [f"{location}/{f.path}" for f in listed if f.size and f.path in past.originals]
    table = _matching_as_before(table, files, scope)
    with scope.committing(txn):
        scope.store.alter_table(table)
        # A Hive Metastore has seeded the write id itself when alter_table returns.
        scope.store.seed_write_id(table.name, ORIGINAL_WRITE_IDS)


def _matching_as_before(table: Table, files: Iterable[str], scope: Scope) -> Table:
    """The table, which as a plain one finds columns of files by name, and must go on so."""
    if all(_in_order(table, path, scope) for path in files):
        return table
    return replace(table, parameters={POSITIONAL_EVOLUTION: "false", **table.parameters})


def _in_order(table: Table, path: str, scope: Scope) -> bool:
    """Whether matching the file's columns by position gives the same as matching by name."""
    with scope.storage.open_input(path) as stream:
        names = read_tail(stream, path).column_names
    by_position = matched(names, table.columns, by_position=True)
    return by_position == matched(names, table.columns, by_position=False)


def _to_insert_only(table: Table, scope: Scope, txn: OpenTxn) -> None:
    files = [
        (location, file)
        for location in _locations(table, scope)
        for file in scope.storage.list_files(location)
        if not lies_hidden(file.path)
    ]
    if table.format is FileFormat.ORC:
        paths = (f"{location}/{file.path}" for location, file in files if file.size)
        table = _matching_as_before(table, paths, scope)
    # Not before it is needed: a metastore makes no table full-ACID that has a write id.
    write_id = _committed_write_id(table.name, scope)
    delta = DeltaDir(write_id, WriteId(write_id), StatementId(0)).name

    def is_converted() -> bool:
        return scope.store.table(table.name).kind is not TableKind.PLAIN

    # The rows of a plain table are those of all files below it, so none is lost if it stays one.
    with undoing(lambda: keeps(scope, is_converted, unless_told=True)) as undo:
        for location in {location for location, _ in files}:
            # Hive reads no plain table that has such a directory, even an empty one.
            undo.callback(scope.storage.remove_empty, f"{location}/{delta}")
        for location, file in files:
            moved = f"{location}/{delta}/{file.path}"
            move(f"{location}/{file.path}", moved, scope.storage, undo)
        with scope.committing(txn):
            scope.store.alter_table(table.remade(txn.txn_id))


def _committed_write_id(name: TableName, scope: Scope) -> WriteId:
    """A write id that counts whatever becomes of the conversion.

    A Hive Metastore may keep the converted table although the transaction of the conversion ends
    without a commit. Then the cleaner would remove the files of the transaction's write id.
    """
    with scope.transaction() as first:
        return first.write_id(name)


def _locations(table: Table, scope: Scope) -> list[str]:
    places = [place.location for place in table_directories(scope.store, table)]
    for place in places:
        require_present(place, table.name, scope.storage)
    return places
