"""ALTER TABLE … SET and UNSET TBLPROPERTIES."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from acidsql.definitions.conversion import convert, with_properties
from acidsql.definitions.partition import alter_locks, altering
from acidsql.definitions.table_kind import (
    TRANSACTIONAL,
    TRANSACTIONAL_PROPERTIES,
    normal_properties,
    refuse_columns,
    refuse_properties,
    refuse_unknown_values,
)
from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.model.access import Access, Operation
from acidsql.model.comment import split_comment, with_comment
from acidsql.model.table import POSITIONAL_EVOLUTION, RESERVED, Table, TableKind
from acidsql.planner.names import ViewRefusal, find_target
from acidsql.statements.alter_table import SetProperties, UnsetProperties
from acidsql.statements.fragment import TableRef
from acidsql.txn.entities import LockComponent
from acidsql.txn.locks import lock_components

_FIXED = ("bucketing_version", POSITIONAL_EVOLUTION, *RESERVED)


def set_properties(statement: SetProperties, scope: Scope) -> Result:
    """Set properties. ``transactional`` makes a plain table an ACID table."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    given = normal_properties(statement.properties)
    place = _place(statement.target)
    _refuse(table, given, place)
    if _converts(table, given):
        return convert(table, given, scope, statement.target)
    with altering(table, scope, _note_locks(table)) as (txn, now):
        # `now` is the table after the wait for the lock. Another session may have converted it
        # meanwhile.
        _refuse(now, given, place)
        with scope.committing(txn):
            scope.store.alter_table(with_properties(now, given))
    return Result("alter", message="OK")


def unset_properties(statement: UnsetProperties, scope: Scope) -> Result:
    """Remove properties."""
    table = find_target(statement.target, scope.names, ViewRefusal.ALTER)
    place = _place(statement.target)
    known = with_comment(table.parameters, table.comment)
    for key in statement.keys:
        if (
            key.lower() in (TRANSACTIONAL, TRANSACTIONAL_PROPERTIES)
            and table.kind is not TableKind.PLAIN
        ):
            raise _cannot_be_unset(table, place)
        if key in _FIXED and key in table.parameters:
            raise _unchangeable(key, table, place)
        if key not in known and not statement.if_exists:
            raise AnalysisError(
                f"The following property {key} does not exist in {table.name.table}",
                hint="UNSET TBLPROPERTIES IF EXISTS skips properties that are not there.",
                **place,
            )
    with altering(table, scope, _note_locks(table)) as (txn, now):
        present = with_comment(now.parameters, now.comment)
        parameters, comment = split_comment(
            {key: value for key, value in present.items() if key not in statement.keys}
        )
        with scope.committing(txn):
            scope.store.alter_table(replace(now, parameters=parameters, comment=comment))
    return Result("alter", message="OK")


def property_locks(statement: SetProperties | UnsetProperties, table: Table) -> list[LockComponent]:
    """The locks of SET and UNSET TBLPROPERTIES."""
    given = statement.properties if isinstance(statement, SetProperties) else ()
    return alter_locks(table) if _converts(table, normal_properties(given)) else _note_locks(table)


def _note_locks(table: Table) -> list[LockComponent]:
    return lock_components([Access.of(table.name, Operation.DESCRIBE)])


def _converts(table: Table, given: Mapping[str, str]) -> bool:
    return table.kind is TableKind.PLAIN and given.get(TRANSACTIONAL, "").lower() == "true"


def _refuse(table: Table, given: Mapping[str, str], place: dict[str, Any]) -> None:
    if TRANSACTIONAL in given or TRANSACTIONAL_PROPERTIES in given:
        _refuse_kind_change(table, given, place)
    _refuse_properties(table, given, place)


def _refuse_kind_change(table: Table, given: Mapping[str, str], place: dict[str, Any]) -> None:
    """An ACID table keeps its kind, by the rules of Hive's TransactionalValidationListener."""
    transactional = given.get(TRANSACTIONAL, "true")
    refuse_unknown_values(table.name, {TRANSACTIONAL: transactional}, place)
    if table.kind is TableKind.PLAIN:
        if TRANSACTIONAL not in given:
            raise AnalysisError(
                "Cannot change 'transactional_properties' without 'transactional'", **place
            )
        return
    if transactional.lower() == "false":
        if TRANSACTIONAL_PROPERTIES not in given:
            raise AnalysisError(
                "Cannot change 'transactional' without 'transactional_properties'", **place
            )
        raise _cannot_be_unset(table, place)
    current = table.parameters.get(TRANSACTIONAL_PROPERTIES, "default")
    if given.get(TRANSACTIONAL_PROPERTIES, current).lower() != current.lower():
        raise AnalysisError(
            "TBLPROPERTIES with 'transactional_properties' cannot be altered after the table is"
            " created",
            hint="CREATE TABLE … AS SELECT makes a table of another kind with the rows.",
            **place,
        )


def _refuse_properties(table: Table, given: Mapping[str, str], place: dict[str, Any]) -> None:
    external = next((v for k, v in given.items() if k.lower() == "external"), "false")
    if external.lower() == "true" and table.kind is not TableKind.PLAIN:
        raise AnalysisError(
            f"{table.name} cannot be converted to external table as it is transactional table.",
            **place,
        )
    refuse_properties(given, place)
    refuse_columns(replace(table, parameters={**table.parameters, **given}), place)
    reserved = next((key for key in RESERVED if key in given), None)
    if reserved is not None:
        raise AnalysisError(f"the property '{reserved}' is reserved", **place)
    version = table.parameters.get("bucketing_version", "2")
    if given.get("bucketing_version", version) != version:
        raise UnsupportedStatementError(
            f"'bucketing_version' of {table.name} stays {version}: its rows are hashed by it",
            **place,
        )
    positional = given.get(POSITIONAL_EVOLUTION)
    if (
        positional is not None
        and table.parameters.get(POSITIONAL_EVOLUTION, positional) != positional
    ):
        raise _unchangeable(POSITIONAL_EVOLUTION, table, place)


def _unchangeable(key: str, table: Table, place: dict[str, Any]) -> UnsupportedStatementError:
    return UnsupportedStatementError(
        f"'{key}' says how the files of {table.name} are to be understood", **place
    )


def _cannot_be_unset(table: Table, place: dict[str, Any]) -> AnalysisError:
    return AnalysisError(
        f"TBLPROPERTIES with 'transactional'='true' cannot be unset: {table.name}", **place
    )


def _place(target: TableRef) -> dict[str, Any]:
    return {"line": target.line, "column": target.column}
