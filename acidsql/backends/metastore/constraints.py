"""Constraints of tables, which the metastore keeps beside its Table structs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from acidsql.backends.metastore.client import MetastoreClient
from acidsql.backends.metastore.errors import NoSuchObjectError, UnknownMethodError
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.lost_answers import looked_at
from acidsql.backends.metastore.sense import given
from acidsql.errors import SqlError, UnsupportedStatementError
from acidsql.grammar.called import called
from acidsql.grammar.constraint import constraint_expression, mentioned_columns
from acidsql.grammar.hive_words import hive_words, spark_words
from acidsql.model.constraint import Constraint, ConstraintKind
from acidsql.model.names import TableName
from acidsql.model.table import Table

_CATALOG = "hive"
"""The catalog of every metastore that has no others. Requests about constraints must name it."""
_LENGTH_MAX = 400
"""Characters of a text in the metastore's KEY_CONSTRAINTS."""
_KINDS = (
    (ConstraintKind.PRIMARY_KEY, "primaryKeys", "pk_name"),
    (ConstraintKind.FOREIGN_KEY, "foreignKeys", "fk_name"),
    (ConstraintKind.UNIQUE, "uniqueConstraints", "uk_name"),
    (ConstraintKind.NOT_NULL, "notNullConstraints", "nn_name"),
    (ConstraintKind.DEFAULT, "defaultConstraints", "dc_name"),
    (ConstraintKind.CHECK, "checkConstraints", "dc_name"),
)
"""The kinds, each with the field of SQLAllTableConstraints and the field of the name."""


class ConstraintCalls:
    """The calls about constraints."""

    def __init__(self, client: MetastoreClient) -> None:
        self._client = client

    def of(self, name: TableName) -> tuple[Constraint, ...]:
        """The constraints of a table, sorted by kind and name.

        UnsupportedStatementError for an enabled one whose text we do not understand, or whose
        column is not known.
        """
        try:
            request = hms.AllTableConstraintsRequest(name.database, name.table, _CATALOG)
            answer = self._client.call("get_all_table_constraints", request)
            lists = [getattr(answer.allTableConstraints, field) for _, field, _ in _KINDS]
        except UnknownMethodError:
            lists = self._one_by_one(name)
        except NoSuchObjectError:
            return ()  # dropped meanwhile
        found: list[Constraint] = []
        for (kind, _, named), structs in zip(_KINDS, lists, strict=True):
            found += _constraints(kind, named, structs or (), name)
        return tuple(found)

    def _one_by_one(self, name: TableName) -> list[Any]:
        """What Hive 3.1 answers, in the order of `_KINDS`."""
        place = (name.database, name.table)
        others = (_CATALOG, *place)
        requests = (
            ("get_primary_keys", hms.PrimaryKeysRequest(*place, _CATALOG)),
            ("get_foreign_keys", hms.ForeignKeysRequest(None, None, *place, _CATALOG)),
            ("get_unique_constraints", hms.UniqueConstraintsRequest(*others)),
            ("get_not_null_constraints", hms.NotNullConstraintsRequest(*others)),
            ("get_default_constraints", hms.DefaultConstraintsRequest(*others)),
            ("get_check_constraints", hms.CheckConstraintsRequest(*others)),
        )
        found = []
        for (_, field, _), (method, request) in zip(_KINDS, requests, strict=True):
            try:
                found.append(getattr(self._client.call(method, request), field))
            except UnknownMethodError:
                found.append(None)  # a server that does not know constraints has none
        return found

    def set(self, name: TableName, wanted: Sequence[Constraint]) -> None:
        """Drop and add constraints, so that the table has those that are wanted."""
        before = self.of(name)
        for constraint in before:
            if constraint not in wanted:
                self._drop(name, constraint)
        for constraint in wanted:
            if constraint not in before:
                self._add(name, constraint)

    def _drop(self, name: TableName, constraint: Constraint) -> None:
        request = hms.DropConstraintRequest(name.database, name.table, constraint.name, _CATALOG)
        with looked_at(lambda: not self._has(name, constraint), NoSuchObjectError):
            self._client.call("drop_constraint", request)

    def _add(self, name: TableName, constraint: Constraint) -> None:
        method, request = _ADDED[constraint.kind](list(_structs(name, constraint)))
        with looked_at(lambda: self._has(name, constraint)):
            self._client.call(method, request)

    def _has(self, name: TableName, constraint: Constraint) -> bool:
        return any(there.name == constraint.name for there in self.of(name))


def constraint_fields(table: Table) -> dict[str, list[Any]]:
    """The constraints of a new table: fields of CreateTableRequest, in the order of `_KINDS`.

    Without constraints there are no fields; otherwise there are all, since ObjectStore looks into
    the lists of one kind for those of another.
    UnsupportedStatementError for a text that is too long for the metastore.
    """
    if not table.constraints:
        return {}
    return {
        field: [
            struct
            for constraint in table.constraints
            if constraint.kind is kind
            for struct in _structs(table.name, constraint)
        ]
        for kind, field, _ in _KINDS
    }


def refuse_own_key(
    name: TableName, wanted: Sequence[Constraint], kept: Sequence[Constraint]
) -> None:
    """UnsupportedStatementError if a key that is wanted, and not kept, refers to its own table.

    The metastore adds such a key only while it makes the table (ObjectStore.addForeignKeys).
    Otherwise it fails.
    """
    for constraint in wanted:
        if constraint.parent == name and constraint not in kept:
            raise UnsupportedStatementError(
                f"a FOREIGN KEY of table {name} to itself cannot be added in a Hive Metastore",
                detail=f'Its name is "{constraint.name}".',
                hint="Leave it out, or drop it: it has no effect on what statements do.",
            )


def _constraints(
    kind: ConstraintKind, named: str, structs: Sequence[Any], table: TableName
) -> Iterator[Constraint]:
    """The constraints of one kind, sorted by name. A key has a struct for each column."""
    by_name: dict[str, list[Any]] = {}
    for struct in structs:
        by_name.setdefault(given(getattr(struct, named), f"a {kind.value}"), []).append(struct)
    for name, parts in sorted(by_name.items()):
        parts.sort(key=lambda part: getattr(part, "key_seq", 0) or 0)
        first = parts[0]
        enabled = bool(first.enable_cstr)
        text, columns = _expression(kind, parts)
        if columns is None and not enabled:
            continue  # It is only shown, and Hive 3.1 forgets the names of changed columns.
        if columns is None:
            raise UnsupportedStatementError(
                f'acidsql does not understand the constraint "{name}" of {table}'
                f" ({kind.value}{f' {text}' if text else ''})",
                hint="Drop it in Hive. Hive 3.1 forgets its column if a column is changed.",
            )
        is_foreign = kind is ConstraintKind.FOREIGN_KEY
        yield Constraint(
            kind=kind,
            name=name.lower(),
            columns=columns,
            text=text,
            parent=TableName.of(first.pktable_db, first.pktable_name) if is_foreign else None,
            parent_columns=tuple(p.pkcolumn_name.lower() for p in parts) if is_foreign else (),
            enabled=enabled,
            rely=bool(first.rely_cstr),
        )


def _named(kind: ConstraintKind, parts: Sequence[Any]) -> tuple[str, ...] | None:
    """The columns that the structs of a constraint name; None if a name is missing."""
    is_foreign = kind is ConstraintKind.FOREIGN_KEY
    columns = [part.fkcolumn_name if is_foreign else part.column_name for part in parts]
    names = list(columns)
    if is_foreign:
        names += [n for p in parts for n in (p.pktable_db, p.pktable_name, p.pkcolumn_name)]
    return None if None in names else tuple(column.lower() for column in columns)


def _expression(kind: ConstraintKind, parts: Sequence[Any]) -> tuple[str, tuple[str, ...] | None]:
    """The text of a constraint in Spark's words, "" of a key, and its columns.

    The columns are None if a name is missing, or if CREATE TABLE would not accept the text: another
    program may have written it, and statements carry it to Spark.
    """
    text = _text(kind, parts[0])
    if text is None:
        return "", _named(kind, parts)
    try:
        value = constraint_expression(kind, text)
    except SqlError:
        return text, None
    is_check = kind is ConstraintKind.CHECK
    return value.row_text, mentioned_columns(value) if is_check else _named(kind, parts)


def _text(kind: ConstraintKind, struct: Any) -> str | None:
    match kind:
        case ConstraintKind.DEFAULT:
            return called(spark_words(given(struct.default_value, "the value of a DEFAULT")))
        case ConstraintKind.CHECK:
            text = given(struct.check_expression, "the expression of a CHECK")
            return called(spark_words(text))
        case _:
            return None


def _structs(table: TableName, constraint: Constraint) -> Iterator[Any]:
    """The structs of a constraint: one for each column of a key, else one.

    UnsupportedStatementError if its text is too long for the metastore.
    """
    name, text = constraint.name, _short_text(constraint)
    state = (constraint.enabled, False, constraint.rely)
    place = (_CATALOG, table.database, table.table)
    match constraint.kind:
        case ConstraintKind.PRIMARY_KEY:
            for number, column in enumerate(constraint.columns, 1):
                yield hms.SQLPrimaryKey(*place[1:], column, number, name, *state, _CATALOG)
        case ConstraintKind.UNIQUE:
            for number, column in enumerate(constraint.columns, 1):
                yield hms.SQLUniqueConstraint(*place, column, number, name, *state)
        case ConstraintKind.FOREIGN_KEY:
            parent = given(constraint.parent, "the table of a FOREIGN KEY")
            pairs = zip(constraint.parent_columns, constraint.columns, strict=True)
            for number, (of_parent, column) in enumerate(pairs, 1):
                yield hms.SQLForeignKey(
                    parent.database, parent.table, of_parent, *place[1:], column, number,
                    0, 0, name, None, *state, _CATALOG,
                )  # fmt: skip
        case ConstraintKind.NOT_NULL:
            yield hms.SQLNotNullConstraint(*place, constraint.columns[0], name, *state)
        case ConstraintKind.DEFAULT:
            yield hms.SQLDefaultConstraint(*place, constraint.columns[0], text, name, *state)
        case ConstraintKind.CHECK:
            # One column is all that Hive notes of a CHECK; of the table's it notes none.
            only = constraint.columns[0] if len(constraint.columns) == 1 else None
            yield hms.SQLCheckConstraint(*place, only, text, name, *state)


def _short_text(constraint: Constraint) -> str:
    """The text of a constraint in Hive's words.

    UnsupportedStatementError if it is too long for the metastore.
    """
    text = hive_words(constraint.text)
    if len(text) > _LENGTH_MAX:
        raise UnsupportedStatementError(
            f'the text of the constraint "{constraint.name}" is longer than {_LENGTH_MAX}'
            " characters, which the metastore does not keep"
        )
    return text


_ADDED: dict[ConstraintKind, Callable[[list[Any]], tuple[str, Any]]] = {
    ConstraintKind.PRIMARY_KEY: lambda s: ("add_primary_key", hms.AddPrimaryKeyRequest(s)),
    ConstraintKind.FOREIGN_KEY: lambda s: ("add_foreign_key", hms.AddForeignKeyRequest(s)),
    ConstraintKind.UNIQUE: lambda s: (
        "add_unique_constraint", hms.AddUniqueConstraintRequest(s),
    ),
    ConstraintKind.NOT_NULL: lambda s: (
        "add_not_null_constraint", hms.AddNotNullConstraintRequest(s),
    ),
    ConstraintKind.DEFAULT: lambda s: (
        "add_default_constraint", hms.AddDefaultConstraintRequest(s),
    ),
    ConstraintKind.CHECK: lambda s: ("add_check_constraint", hms.AddCheckConstraintRequest(s)),
}  # fmt: skip
