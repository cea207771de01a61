"""Conversations about the constraints of a table, as Hive 3.1 and 4.x hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from acidsql.backends.metastore import MetastoreStore
from acidsql.backends.metastore.idl import hms
from acidsql.errors import StorageError, TxnAbortedError, UnsupportedStatementError
from acidsql.model.constraint import Constraint, ConstraintKind
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from tests.component.backends.metastore.server import FakeMetastore, HangUpError
from tests.component.backends.metastore.test_catalog import TABLE, T, Tables

STATE = (True, False, True)
PRIMARY = Constraint(ConstraintKind.PRIMARY_KEY, "pk", ("k", "id"), enabled=False)
FOREIGN = Constraint(
    ConstraintKind.FOREIGN_KEY,
    "fk",
    ("id", "k"),
    parent=TableName("sales", "p"),
    parent_columns=("x", "y"),
    enabled=False,
    rely=True,
)
UNIQUE = Constraint(ConstraintKind.UNIQUE, "uk", ("id",), enabled=False)
NOT_NULL = Constraint(ConstraintKind.NOT_NULL, "nn", ("id",), rely=True)
DEFAULT = Constraint(ConstraintKind.DEFAULT, "dc", ("id",), text="5", rely=True)
CHECK = Constraint(ConstraintKind.CHECK, "ck", ("id", "k"), text="id > 1 OR `K` = 2", rely=True)
ALL = (PRIMARY, FOREIGN, UNIQUE, NOT_NULL, DEFAULT, CHECK)


FIELDS = (
    "primaryKeys", "foreignKeys", "uniqueConstraints", "notNullConstraints",
    "defaultConstraints", "checkConstraints",
)  # fmt: skip
"""The fields of CreateTableRequest, in the order of create_table_with_constraints."""


class Constraints:
    """The handlers of a server that keeps the constraints of one table."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Any]] = {}
        self.dropped: list[str] = []

    def create_table_req(self, request: Any) -> None:
        for field in FIELDS:
            self.add(field, getattr(request, field))

    def create_table_with_constraints(self, table: Any, *lists: list[Any]) -> None:
        for field, structs in zip(FIELDS, lists, strict=True):
            self.add(field, structs)

    def add(self, field: str, structs: list[Any]) -> None:
        # In Hive the columns of a key come in any order.
        self.kept.setdefault(field, [])[:0] = structs[::-1]

    def adding(self, field: str, of_request: str) -> Callable[[Any], None]:
        return lambda request: self.add(field, getattr(request, of_request))

    def drop_constraint(self, request: Any) -> None:
        self.dropped.append(request.constraintname)
        for structs in self.kept.values():
            structs[:] = [s for s in structs if request.constraintname not in vars(s).values()]

    @property
    def changes(self) -> dict[str, Callable[..., Any]]:
        names = (
            "primary_key", "foreign_key", "unique_constraint", "not_null_constraint",
            "default_constraint", "check_constraint",
        )  # fmt: skip
        found: dict[str, Callable[..., Any]] = {"drop_constraint": self.drop_constraint}
        for name in names:
            words = name.split("_")
            field = words[0] + "".join(word.capitalize() for word in words[1:])
            found[f"add_{name}"] = self.adding(f"{field}s", f"{field}Cols")
        return found

    @property
    def of_hive4(self) -> dict[str, Callable[..., Any]]:
        def every(request: Any) -> Any:
            assert (request.dbName, request.tblName, request.catName) == ("default", "t", "hive")
            return hms.AllTableConstraintsResponse(hms.SQLAllTableConstraints(**self.kept))

        create = {"create_table_req": self.create_table_req}
        return {**self.changes, **create, "get_all_table_constraints": every}

    @property
    def of_hive3(self) -> dict[str, Callable[..., Any]]:
        responses = {
            "primaryKeys": hms.PrimaryKeysResponse,
            "foreignKeys": hms.ForeignKeysResponse,
            "uniqueConstraints": hms.UniqueConstraintsResponse,
            "notNullConstraints": hms.NotNullConstraintsResponse,
            "defaultConstraints": hms.DefaultConstraintsResponse,
            "checkConstraints": hms.CheckConstraintsResponse,
        }
        create = {"create_table_with_constraints": self.create_table_with_constraints}
        found = {**self.changes, **create}
        for field, response in responses.items():
            name = "".join(f"_{c.lower()}" if c.isupper() else c for c in field)
            found[f"get_{name}"] = lambda _, f=field, r=response: r(self.kept.get(f, []))
        return found


def without_constraints() -> dict[str, Callable[..., Any]]:
    """The handlers of a server that does not know constraints."""
    handlers = Tables().handlers
    del handlers["get_all_table_constraints"]
    return handlers


Open = Callable[..., tuple[FakeMetastore, MetastoreStore]]


@pytest.fixture
def metastore() -> Iterator[Open]:
    opened = []

    def make(**handlers: Callable[..., Any]) -> tuple[FakeMetastore, MetastoreStore]:
        server = FakeMetastore(**{**without_constraints(), **handlers})
        store = MetastoreStore(server.url, user="ann", sleep=lambda _: None)
        opened.append((server, store))
        return opened[-1]

    yield make
    for server, store in opened:
        store.close()
        server.__exit__(None, None, None)


@pytest.mark.parametrize("hive", [3, 4])
def test_constraints_come_back_as_they_were_given(metastore: Open, hive: int) -> None:
    kept = Constraints()
    handlers = kept.of_hive4 if hive == 4 else kept.of_hive3
    _, store = metastore(**handlers)
    store.create_table(replace(TABLE, constraints=ALL))
    assert store.table(T).constraints == ALL
    (check,) = kept.kept["checkConstraints"]
    assert (check.column_name, check.check_expression) == (None, CHECK.text)


def test_a_metastore_keeps_hives_words_for_instants(metastore: Open) -> None:
    kept = Constraints()
    _, store = metastore(**kept.of_hive4)
    default = replace(DEFAULT, text="TIMESTAMP_LTZ '2005-01-03 02:01:00 GMT'")
    check = replace(CHECK, text="CAST(k AS TIMESTAMP_LTZ                  ) > id")
    store.create_table(replace(TABLE, constraints=(default, check)))
    (given,) = kept.kept["defaultConstraints"]
    assert given.default_value == "TIMESTAMPLOCALTZ '2005-01-03 02:01:00 GMT'"
    (given,) = kept.kept["checkConstraints"]
    assert given.check_expression == "CAST(k AS timestamp with local time zone) > id"
    texts = [" ".join(constraint.text.split()) for constraint in store.table(T).constraints]
    assert texts == [default.text, "CAST(k AS TIMESTAMP_LTZ ) > id"]


def test_a_cast_of_hives_cuts_the_text(metastore: Open) -> None:
    kept = Constraints()
    text = "cast(k as varchar(2)) = 'ab'"
    kept.kept["checkConstraints"] = [
        hms.SQLCheckConstraint("hive", "default", "t", None, text, "ck", *STATE)
    ]
    _, store = metastore(**kept.of_hive4)
    (constraint,) = store.table(T).constraints
    assert constraint.text == "substr(cast(k as string), 1, 2) = 'ab'"


def test_only_what_differs_is_dropped_and_added(metastore: Open) -> None:
    kept = Constraints()
    altered = {"alter_table_req": lambda _: hms.AlterTableResponse()}
    server, store = metastore(**kept.of_hive4, **altered)
    store.create_table(replace(TABLE, constraints=ALL))
    asked = len(server.names)
    other = replace(DEFAULT, text="6")
    store.alter_table(replace(store.table(T), constraints=(PRIMARY, NOT_NULL, other, CHECK)))
    assert sorted(kept.dropped) == ["dc", "fk", "uk"]
    assert [n for n in server.names[asked:] if n.startswith("add_")] == ["add_default_constraint"]
    assert store.table(T).constraints == (PRIMARY, NOT_NULL, other, CHECK)


def test_a_server_that_does_not_know_constraints_has_none(metastore: Open) -> None:
    _, store = metastore()
    assert store.table(T).constraints == ()


@pytest.mark.parametrize("text", ["id > (select 1)", "id <> 'it''s' OR 'open"])
def test_a_check_that_is_not_understood_keeps_the_table_from_being_written(
    metastore: Open, text: str
) -> None:
    kept = Constraints()
    kept.kept["checkConstraints"] = [
        hms.SQLCheckConstraint("hive", "default", "t", None, text, "ck", *STATE)
    ]
    _, store = metastore(**kept.of_hive4)
    table = store.table(T)
    assert table.constraints == ()
    assert table.read_only is not None
    assert 'does not understand the constraint "ck" of default.t' in table.read_only
    assert f"CHECK {text}" in table.read_only


def test_a_constraint_whose_column_is_lost(metastore: Open) -> None:
    kept = Constraints()
    key = ("default", "t", None, 1, "uk", False, False, False)
    kept.kept["uniqueConstraints"] = [hms.SQLUniqueConstraint("hive", *key)]
    _, store = metastore(**kept.of_hive4)
    assert (store.table(T).constraints, store.table(T).read_only) == ((), None)
    kept.kept["notNullConstraints"] = [
        hms.SQLNotNullConstraint("hive", "default", "t", None, "nn", *STATE)
    ]
    read_only = store.table(T).read_only
    assert read_only is not None
    assert 'does not understand the constraint "nn" of default.t (NOT NULL)' in read_only


@pytest.mark.parametrize(
    "text",
    ["5), (SELECT 1", "id", "(SELECT max(id) FROM t)", "reflect('java.lang.System', 'x')", ""],
)
def test_a_default_that_no_statement_could_define_goes_to_no_spark(
    metastore: Open, text: str
) -> None:
    kept = Constraints()
    place = ("hive", "default", "t", "id", text, "dc")
    kept.kept["defaultConstraints"] = [hms.SQLDefaultConstraint(*place, *STATE)]
    _, store = metastore(**kept.of_hive4)
    assert store.table(T).constraints == ()
    assert 'the constraint "dc"' in (store.table(T).read_only or "")


def test_what_is_not_enabled_keeps_nobody_from_writing(metastore: Open) -> None:
    kept = Constraints()
    off = (False, False, True)
    check = ("hive", "default", "t", None, "id > (select 1)", "ck")
    kept.kept["checkConstraints"] = [hms.SQLCheckConstraint(*check, *off)]
    kept.kept["notNullConstraints"] = [
        hms.SQLNotNullConstraint("hive", "default", "t", None, "nn", *off)
    ]
    # Hive 3.1 forgets the column of the other table if one of that table is changed.
    parent = ("sales", "p", None)
    kept.kept["foreignKeys"] = [
        hms.SQLForeignKey(*parent, "default", "t", "id", 1, 0, 0, "fk", None, *off, "hive")
    ]
    _, store = metastore(**kept.of_hive4)
    assert (store.table(T).constraints, store.table(T).read_only) == ((), None)


def test_constraints_of_a_renamed_column_are_dropped_before_and_added_after(
    metastore: Open,
) -> None:
    kept = Constraints()
    handlers = {"alter_table_req": lambda _: hms.AlterTableResponse(), **kept.of_hive4}
    server, store = metastore(**handlers)
    store.create_table(replace(TABLE, constraints=(UNIQUE, NOT_NULL)))
    asked = len(server.names)
    new = replace(TABLE.columns[0], name="key")
    renamed = tuple(replace(c, columns=("key",)) for c in (UNIQUE, NOT_NULL))
    store.alter_table(replace(store.table(T), columns=(new,), constraints=renamed))
    changes = [n for n in server.names[asked:] if n.startswith(("add_", "drop_", "alter_"))]
    assert changes == [
        "alter_table_req", "drop_constraint", "drop_constraint", "alter_table_req",
        "add_unique_constraint", "add_not_null_constraint", "alter_table_req",
    ]  # fmt: skip
    assert store.table(T).constraints == renamed


class LosesAnswers(Constraints):
    """Hangs up when a constraint is dropped or added for the first time: before the change or after
    it. A call that is made again fails if the first one was carried out.
    """

    def __init__(self, *, after: bool) -> None:
        super().__init__()
        self.after = after
        self.lost: set[str] = set()

    def _lose(self, what: str, change: Callable[[], None]) -> None:
        if what in self.lost:
            change()
            return
        self.lost.add(what)
        if self.after:
            change()
        raise HangUpError

    def drop_constraint(self, request: Any) -> None:
        def drop() -> None:
            if request.constraintname in self.dropped:
                raise hms.NoSuchObjectException(message="gone")
            super(LosesAnswers, self).drop_constraint(request)

        self._lose(f"drop {request.constraintname}", drop)

    def adding(self, field: str, of_request: str) -> Callable[[Any], None]:
        def add(structs: list[Any]) -> None:
            if self.kept.get(field):
                raise hms.MetaException(message="Constraint name already exists")
            self.add(field, structs)

        return lambda request: self._lose(f"add {field}", lambda: add(getattr(request, of_request)))


@pytest.mark.parametrize("after", [True, False])
def test_a_lost_answer_loses_no_constraint(metastore: Open, after: bool) -> None:
    kept = LosesAnswers(after=after)
    handlers = {"alter_table_req": lambda _: hms.AlterTableResponse(), **kept.of_hive4}
    _, store = metastore(**handlers)
    store.create_table(replace(TABLE, constraints=(UNIQUE, NOT_NULL)))
    renamed = tuple(replace(c, columns=("key",)) for c in (UNIQUE, NOT_NULL))
    new = replace(TABLE.columns[0], name="key")
    store.alter_table(replace(store.table(T), columns=(new,), constraints=renamed))
    assert store.table(T).constraints == renamed
    assert len(kept.lost) == 4


def test_what_cannot_be_taken_back_keeps_its_constraints(metastore: Open) -> None:
    """Hive makes no type narrower (hive.metastore.disallow.incompatible.col.type.changes)."""
    kept = Constraints()
    tables = Tables()

    def alter(request: Any) -> Any:
        if (request.table.sd.cols[0].type, tables.table.sd.cols[0].type) == ("int", "bigint"):
            raise hms.InvalidOperationException(message="incompatible types")
        tables.table = request.table
        return hms.AlterTableResponse()

    def commit(request: Any) -> None:
        if request.txnid == 1:
            raise hms.TxnAbortedException(message="Transaction txnid:1 already aborted")

    handlers = {**tables.handlers, **kept.of_hive4, "heartbeat": lambda _: None}
    _, store = metastore(**{**handlers, "alter_table_req": alter, "commit_txn": commit})
    store.create_table(replace(TABLE, constraints=(UNIQUE, NOT_NULL)))
    renamed = tuple(replace(c, columns=("key",)) for c in (UNIQUE, NOT_NULL))
    wider = Column("key", parse_type("bigint"))
    with pytest.raises(TxnAbortedError) as raised, store.committing(TxnId(1)):
        store.alter_table(replace(store.table(T), columns=(wider,), constraints=renamed))
    assert "Not all that may have been changed" in (raised.value.detail or "")
    assert store.table(T).columns == (wider,)
    assert store.table(T).constraints == renamed


def test_a_text_that_the_metastore_would_cut(metastore: Open) -> None:
    server, store = metastore(**Constraints().of_hive4)
    long = replace(CHECK, text="id > 1" + " OR id > 1" * 40)
    table: Table = replace(TABLE, constraints=(long,))
    with pytest.raises(UnsupportedStatementError, match="longer than 400 characters"):
        store.create_table(table)
    assert "create_table_req" not in server.names


class Dying(Constraints):
    """A server that takes no further change once it has taken as many as are ``left``."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None
        self.tables = Tables()

    def counted(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def carry_out(*arguments: Any) -> Any:
            if self.left is not None:
                if self.left == 0:
                    raise HangUpError
                self.left -= 1
            return change(*arguments)

        return carry_out

    def alter(self, request: Any) -> Any:
        self.tables.table = request.table
        return hms.AlterTableResponse()

    @property
    def handlers(self) -> dict[str, Callable[..., Any]]:
        of_constraints = {**self.of_hive4, "alter_table_req": self.alter}
        return {
            **self.tables.handlers,
            **{
                name: self.counted(f) if name.startswith(("alter", "drop", "add")) else f
                for name, f in of_constraints.items()
            },
        }


@pytest.mark.parametrize("repaired_by", ["rows", "a definition"])
@pytest.mark.parametrize("changes", range(10))
def test_a_process_that_dies_while_it_changes_a_column_leaves_a_note(
    metastore: Open, changes: int, repaired_by: str
) -> None:
    server = Dying()
    _, store = metastore(**server.handlers)
    store.create_table(replace(TABLE, constraints=(UNIQUE, CHECK, FOREIGN)))
    before = store.table(T)
    check = replace(CHECK, columns=("key", "k"), text="key > 1 OR k = 2")
    named = (replace(UNIQUE, columns=("key",)), replace(FOREIGN, columns=("key", "k")), check)
    key = replace(TABLE.columns[0], name="key")
    new = replace(before, columns=(key,), constraints=named)
    server.left = changes
    with suppress(StorageError):
        store.alter_table(new)
    server.left = None
    _, other = metastore(**server.handlers)
    found = other.table(T)
    assert found.read_only is None
    assert found.columns in (before.columns, new.columns)
    wanted = before if found.columns == before.columns else new
    assert set(found.constraints) == set(wanted.constraints)
    assert "acidsql.constraints" not in found.parameters
    if repaired_by == "rows":
        other.forget_statistics(T, ())
    else:
        other.alter_table(replace(found, comment="new"))
    assert "acidsql.constraints" not in (server.tables.table.parameters or {})
    assert set(other.table(T).constraints) == set(wanted.constraints)


@pytest.mark.parametrize("changes", range(10))
def test_a_process_that_dies_while_it_takes_a_change_back_leaves_a_note(
    metastore: Open, changes: int
) -> None:
    server = Dying()

    def commit(request: Any) -> None:
        if request.txnid == 1:
            server.left = changes
            raise hms.TxnAbortedException(message="Transaction txnid:1 already aborted")

    handlers = {**server.handlers, "heartbeat": lambda _: None, "commit_txn": commit}
    _, store = metastore(**handlers)
    store.create_table(replace(TABLE, constraints=(UNIQUE, CHECK)))
    before = store.table(T)
    check = replace(CHECK, columns=("key", "k"), text="key > 1 OR k = 2")
    key = replace(TABLE.columns[0], name="key")
    named = (replace(UNIQUE, columns=("key",)), check)
    new = replace(before, columns=(key,), constraints=named)
    with pytest.raises(TxnAbortedError), store.committing(TxnId(1)):
        store.alter_table(new)
    server.left = None
    _, other = metastore(**handlers)
    found = other.table(T)
    wanted = before if found.columns == before.columns else new
    assert set(found.constraints) == set(wanted.constraints)
    other.forget_statistics(T, ())
    assert "acidsql.constraints" not in (server.tables.table.parameters or {})
    assert set(other.table(T).constraints) == set(wanted.constraints)


def test_a_constraint_that_a_hive_adds_to_what_was_left_undone_stays(metastore: Open) -> None:
    server = Dying()
    _, store = metastore(**server.handlers)
    store.create_table(replace(TABLE, constraints=(UNIQUE,)))
    named = replace(UNIQUE, columns=("key",))
    key = replace(TABLE.columns[0], name="key")
    server.left = 3
    with suppress(StorageError):
        store.alter_table(replace(store.table(T), columns=(key,), constraints=(named,)))
    server.left = None
    _, other = metastore(**server.handlers)
    theirs = replace(CHECK, columns=("key",), text="key > 1")
    other._constraints.set(T, (theirs,))
    assert set(other.table(T).constraints) == {named, theirs}
    other.forget_statistics(T, ())
    assert "acidsql.constraints" not in (server.tables.table.parameters or {})
    assert set(other.table(T).constraints) == {named, theirs}


@pytest.mark.parametrize(
    "text",
    ["", "1", "[1]", "{}", '[{"kind": "CHECK"}]', "[" * 100_000,
     '[{"kind": "CHECK", "name": "c", "columns": [], "text": "1) UNION (SELECT 1", "parent": null,'
     ' "parent_columns": [], "enabled": true, "rely": false}]'],
)  # fmt: skip
def test_a_note_of_somebody_else_keeps_the_table_from_being_written(
    metastore: Open, text: str
) -> None:
    server = Dying()
    _, store = metastore(**server.handlers)
    server.tables.table.parameters["acidsql.constraints"] = text
    reason = store.table(T).read_only
    assert reason is not None
    assert "acidsql.constraints" in reason
