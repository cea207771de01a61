"""Conversations about tables and partitions, as Hive 3.1 and 4.x hold them.

Built from what is known of servers of versions and vendors that cannot all be run here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import pytest

from acidsql.backends.metastore import MetastoreStore
from acidsql.backends.metastore.capabilities import CAPABILITIES
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.tables import partition_to, table_to
from acidsql.errors import (
    AnalysisError,
    DatabaseExistsError,
    DatabaseNotFoundError,
    PartitionExistsError,
    PartitionNotFoundError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    TxnAbortedError,
    UnsupportedStatementError,
)
from acidsql.model.ids import TxnId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.predicate import Predicate
from acidsql.model.table import Column, Table, TableKind
from acidsql.model.types import parse_type
from acidsql.ports.catalog import Database, Partition, Place
from tests.component.backends.metastore.server import FakeMetastore, HangUpError

T = TableName("default", "t")
TABLE = Table(
    T,
    (Column("id", parse_type("int")),),
    "/w/t",
    (Column("k", parse_type("int")),),
    parameters={"transactional": "true"},
)
Open = Callable[..., tuple[FakeMetastore, MetastoreStore]]
NO_CONSTRAINTS = hms.AllTableConstraintsResponse(hms.SQLAllTableConstraints())
NOTED = {"COLUMN_STATS_ACCURATE": "{}", "numRows": "1"}


def partition(number: int) -> Partition:
    return Partition(PartitionName.of({"k": str(number)}), f"/w/t/k={number}")


class Tables:
    """A few handlers over a table and its partitions, kept as the server would."""

    def __init__(self, table: Table | None = TABLE, count: int = 2) -> None:
        self.table = None if table is None else table_to(table)
        self.partitions = {
            f"k={n}": partition_to(partition(n), table_to(table or TABLE)) for n in range(count)
        }
        self.asked: list[Any] = []
        self.alone: list[str] = []
        """The locks that were asked for."""
        self.opened = 1

    def open_txns(self, request: Any) -> Any:
        self.opened += 1
        return hms.OpenTxnsResponse(txn_ids=[self.opened])

    def lock(self, request: Any) -> Any:
        (component,) = request.component
        self.alone.append(f"{component.dbname} {component.tablename} {component.partitionname}")
        return hms.LockResponse(lockid=1, state=hms.LockState.ACQUIRED)

    def commit_txn(self, request: Any) -> None:
        assert request.txnid <= self.opened

    def get_table_req(self, request: Any) -> Any:
        self.asked.append(request)
        if self.table is None or request.tblName != self.table.tableName:
            raise hms.NoSuchObjectException(message=f"no {request.tblName}")
        return hms.GetTableResult(table=self.table)

    def get_database(self, name: str) -> Any:
        if name != "default":
            raise hms.NoSuchObjectException(message=f"no {name}")
        return hms.Database(name=name, locationUri="file:/w")

    def get_partition_names(self, database: str, table: str, most: int) -> list[str]:
        return sorted(self.partitions)

    def get_partitions_by_names(self, database: str, table: str, names: list[str]) -> list[Any]:
        self.asked.append(names)
        return [self.partitions[name] for name in names if name in self.partitions]

    @property
    def handlers(self) -> dict[str, Callable[..., Any]]:
        names = (
            "get_table_req", "get_database", "get_partition_names", "get_partitions_by_names",
            "open_txns", "lock", "commit_txn",
        )  # fmt: skip
        return {
            "get_config_value": lambda name, default: default,
            "get_all_table_constraints": lambda _: NO_CONSTRAINTS,
            **{name: getattr(self, name) for name in names},
        }


@pytest.fixture
def metastore() -> Iterator[Open]:
    """Makes a server of the given methods, and a store over it."""
    servers, stores = [], []

    def make(**handlers: Callable[..., Any]) -> tuple[FakeMetastore, MetastoreStore]:
        servers.append(FakeMetastore(**handlers))
        stores.append(MetastoreStore(servers[-1].url, user="ann", sleep=lambda _: None))
        return servers[-1], stores[-1]

    yield make
    for store in stores:
        store.close()
    for server in servers:
        server.__exit__(None, None, None)


def test_we_say_what_we_can_do(metastore: Open) -> None:
    tables = Tables()
    _, store = metastore(**tables.handlers)
    assert store.table(TableName("DEFAULT", "T")) == TABLE
    (request,) = tables.asked
    assert request.processorCapabilities == CAPABILITIES
    assert request.capabilities.values == [hms.ClientCapability.INSERT_ONLY_TABLES]


def test_what_is_not_there(metastore: Open) -> None:
    def missing(*_: Any) -> None:
        raise hms.NoSuchObjectException(message="gone")

    _, store = metastore(
        **Tables(None).handlers, drop_table=missing, create_table_with_environment_context=missing
    )
    assert store.find_table(T) is None
    for verb in (store.table, store.drop_table, store.partitions, store.partition_names):
        with pytest.raises(TableNotFoundError, match=r"default\.t"):
            verb(T)
    for change in (
        lambda: store.alter_table(TABLE),
        lambda: store.add_partitions(T, []),
        lambda: store.forget_statistics(T, []),
    ):
        with pytest.raises(TableNotFoundError, match=r"default\.t"):
            change()
    with pytest.raises(DatabaseNotFoundError, match="nowhere"):
        store.tables("nowhere")
    with pytest.raises(DatabaseNotFoundError, match="default"):
        store.create_table(TABLE)


def test_what_is_there_already(metastore: Open) -> None:
    def there(*_: Any) -> None:
        raise hms.AlreadyExistsException(message="there")

    tables = Tables()
    _, store = metastore(**tables.handlers, create_table_req=there, create_database=there)
    with pytest.raises(TableExistsError, match=r"default\.t"):
        store.create_table(TABLE)
    with pytest.raises(DatabaseExistsError, match="default"):
        store.create_database(store.database("default"))
    with pytest.raises(PartitionExistsError, match="k=1"):
        store.rename_partition(T, partition(0).name, partition(1))
    with pytest.raises(PartitionNotFoundError, match="k=7"):
        store.rename_partition(T, partition(7).name, partition(8))


def test_a_partition_that_keeps_its_name_is_altered(metastore: Open) -> None:
    altered: list[Any] = []

    def alter(request: Any) -> Any:
        altered.append(request)
        return hms.AlterPartitionsResponse()

    server, store = metastore(**Tables().handlers, alter_partitions_req=alter)
    name = partition(0).name
    store.rename_partition(T, name, Partition(name, "/elsewhere/x"))
    [struct] = altered[0].partitions
    assert (struct.values, struct.sd.location) == (["0"], "file:/elsewhere/x")
    assert "rename_partition_req" not in server.names


def test_a_new_place_that_was_noted_and_called_a_failure_is_taken_back(metastore: Open) -> None:
    altered: list[str] = []

    def alter(request: Any) -> Any:
        altered.append(request.partitions[0].sd.location)
        if len(altered) == 1:
            raise hms.MetaException(message="a listener failed")
        return hms.AlterPartitionsResponse()

    handlers = {**Tables().handlers, "alter_partitions_req": alter, "heartbeat": lambda _: None}
    _, store = metastore(**handlers)
    name = partition(0).name
    with pytest.raises(StorageError, match="failed in alter_part"), store.committing(TxnId(1)):
        store.rename_partition(T, name, Partition(name, "/elsewhere/x"))
    assert altered == ["file:/elsewhere/x", "file:/w/t/k=0"]


def test_a_server_that_tells_nothing_of_its_settings(metastore: Open) -> None:
    def refused(*_: Any) -> None:
        raise hms.ConfigValSecurityException(message="not for you")

    for more in ({"get_config_value": refused}, {}):
        handlers = {k: v for k, v in Tables().handlers.items() if k != "get_config_value"}
        _, store = metastore(**handlers, **more)
        assert store.database("default") == Database("default", "/w", managed_location="/w")


def test_parameters_of_a_database_are_set_beside_the_others(metastore: Open) -> None:
    """Whatever else the server says of the database stays. Other acidsql clients are kept out."""
    there = hms.Database(
        name="sales", locationUri="file:/s", description="ours", parameters={"a": "1", "b": "1"},
        ownerName="ann", managedLocationUri="file:/m", createTime=7,
    )  # fmt: skip
    altered: list[tuple[str, Any]] = []
    server, store = metastore(
        **{
            **Tables().handlers,
            "get_database": lambda name: there,
            "alter_database": lambda name, database: altered.append((name, database)),
        }
    )
    store.set_database_parameters("Sales", {"b": "2", "c": "3"})
    [(name, database)] = altered
    assert name == "sales"
    assert database.parameters == {"a": "1", "b": "2", "c": "3"}
    expected = copy(there)
    expected.parameters = database.parameters
    assert database == expected
    assert server.names.index("alter_database") < server.names.index("commit_txn")


def test_databases_that_stay(metastore: Open) -> None:
    server, store = metastore(**Tables().handlers, get_all_tables=lambda name: ["t"])
    with pytest.raises(AnalysisError, match="cannot be dropped"):
        store.drop_database("default")
    assert "drop_database" not in server.names


def test_a_server_of_hive_3(metastore: Open) -> None:
    """It has none of the requests of 4.x, but for partitions."""
    tables = Tables()
    server, store = metastore(
        **tables.handlers,
        create_table_with_environment_context=lambda *_: None,
        alter_table_with_environment_context=lambda *_: None,
        alter_partitions_with_environment_context=lambda *_: None,
        rename_partition=lambda *_: None,
        drop_partitions_req=lambda _: hms.DropPartitionsResult(),
        add_partitions_req=lambda _: hms.AddPartitionsResult(),
    )
    store.create_table(replace(TABLE, name=TableName("default", "u")))
    store.alter_table(TABLE)
    assert [p.name for p in store.partitions(T)] == [partition(0).name, partition(1).name]
    store.add_partitions(T, [partition(7)])
    store.drop_partitions(T, [partition(0).name])
    store.rename_partition(T, partition(0).name, partition(9))
    first = server.names.count("get_partitions_by_names_req")
    assert first == 1  # asked once, then remembered
    assert {"create_table_with_environment_context", "rename_partition"} <= set(server.names)


def test_a_changed_table_keeps_what_we_do_not_know(metastore: Open) -> None:
    tables = Tables()
    assert tables.table is not None
    tables.table.unknown_fields = {27: (11, b"\0\0\0\1x")}
    tables.table.sd.unknown_fields = {11: (12, b"\0")}
    tables.table.parameters.update(NOTED)
    sent: list[Any] = []
    _, store = metastore(
        **tables.handlers,
        alter_table_req=lambda r: sent.append(r) or hms.AlterTableResponse(),
    )
    columns = (*TABLE.columns, Column("n", parse_type("int")))
    store.alter_table(replace(TABLE, columns=columns))
    (request,) = sent
    assert request.table.unknown_fields == tables.table.unknown_fields
    assert request.table.sd.unknown_fields == tables.table.sd.unknown_fields
    assert request.table.parameters == {"transactional": "true"}
    assert request.environmentContext.properties["CASCADE"] == "true"
    store.alter_table(replace(TABLE, comment="x"))
    assert "CASCADE" not in sent[1].environmentContext.properties


def test_partitions_come_in_batches(metastore: Open) -> None:
    tables = Tables(count=650)
    _, store = metastore(**tables.handlers)
    assert {p.name for p in store.partitions(T)} == {partition(n).name for n in range(650)}
    assert [len(names) for names in tables.asked if isinstance(names, list)] == [300, 300, 50]


def test_names_come_alone(metastore: Open) -> None:
    tables = Tables(count=650)
    server, store = metastore(**tables.handlers)
    names = sorted((partition(n).name for n in range(650)), key=str)
    assert store.partition_names(T) == names
    assert server.names == ["get_table_req", "get_partition_names"]
    assert tables.table is not None
    tables.table.partitionKeys = []
    assert store.partition_names(T) == []


def test_partitions_are_filtered_by_the_server(metastore: Open) -> None:
    tables, filters = Tables(count=3), []

    def by_filter(database: str, table: str, text: str, most: int) -> list[Any]:
        filters.append((text, most))
        return [tables.partitions["k=1"], tables.partitions["k=2"]]  # more than we asked for

    _, store = metastore(**tables.handlers, get_partitions_by_filter=by_filter)
    assert store.partitions_for(TABLE, [Predicate("k", "=", ("2",))]) == [partition(2)]
    assert filters == [("k = 2", 301)]
    assert len(tables.asked) == 1, "nothing but the table is asked for beside it"


@pytest.mark.parametrize("answer", ["many", "MetaException"])
def test_partitions_that_the_server_does_not_filter(metastore: Open, answer: str) -> None:
    tables = Tables(count=650)

    def by_filter(*_: Any) -> list[Any]:
        if answer == "many":
            return list(tables.partitions.values())[:301]
        raise hms.MetaException(message="Filtering is supported only on string partition keys")

    _, store = metastore(**tables.handlers, get_partitions_by_filter=by_filter)
    found = store.partitions_for(TABLE, [Predicate("k", ">=", ("340",))])
    assert {p.name for p in found} == {partition(n).name for n in range(340, 650)}
    assert [len(names) for names in tables.asked if isinstance(names, list)] == [300, 10]


def test_a_partition_that_is_stored_otherwise(metastore: Open) -> None:
    tables = Tables()
    tables.partitions["k=1"].sd.inputFormat = "org.apache.hadoop.mapred.SequenceFileInputFormat"
    _, store = metastore(**tables.handlers)
    with pytest.raises(UnsupportedStatementError, match=r"partition k=1 of table default\.t"):
        store.partitions(T)


def test_statistics_go_where_there_are_any(metastore: Open) -> None:
    tables = Tables()
    tables.partitions["k=1"].parameters = dict(NOTED)
    altered: list[str] = []
    changed: list[Any] = []
    _, store = metastore(
        **tables.handlers,
        alter_table_req=lambda r: altered.append("table") or hms.AlterTableResponse(),
        alter_partitions_req=lambda r: (
            changed.extend(r.partitions) or hms.AlterPartitionsResponse()
        ),
    )
    store.forget_statistics(T, [partition(n).name for n in (0, 1, 5)])
    assert [(p.values, p.parameters) for p in changed] == [(["1"], {})]
    assert (altered, tables.alone) == ([], [])
    assert tables.table is not None
    tables.table.parameters.update(NOTED)
    store.forget_statistics(T, [])
    assert altered == ["table"]
    assert tables.alone == ["acidsql.definitions default table=t"]


def test_places_are_those_of_tables_near_by(metastore: Open) -> None:
    view = hms.Table(tableName="v", dbName="default", sd=hms.StorageDescriptor())
    names = {"default": ["t", "v"], "sales": ["s"]}
    sold = table_to(replace(TABLE, name=TableName("sales", "s"), location="/w/sales.db/s"))

    def objects(request: Any) -> Any:
        found = [table_to(TABLE), view] if request.dbName == "default" else [sold]
        return hms.GetTablesResult(tables=found)

    _, store = metastore(
        get_config_value=lambda name, default: default,
        get_all_databases=lambda: list(names),
        get_database=lambda name: hms.Database(
            name=name, locationUri="file:/w" if name == "default" else "file:/w/sales.db"
        ),
        get_all_tables=names.get,
        get_table_objects_by_name_req=objects,
    )
    own = Place(T, TableKind.FULL_ACID, "/w/t")
    other = Place(TableName("sales", "s"), TableKind.FULL_ACID, "/w/sales.db/s")
    assert list(store.places("/w/new")) == [own]
    assert list(store.places("/elsewhere/new")) == [own, other]


def test_places_of_a_database_that_is_dropped_meanwhile(metastore: Open) -> None:
    """Before it is looked at, before its tables are, or before one of them is."""
    looked: dict[str, int] = {}

    def get_database(name: str) -> Any:
        looked[name] = looked.get(name, 0) + 1
        if name == "one" or (name == "two" and looked[name] > 1):
            raise hms.NoSuchObjectException(message=f"no {name}")
        return hms.Database(name=name, locationUri=f"file:/w/{name}.db")

    def objects(request: Any) -> Any:
        if request.dbName == "three":
            raise hms.UnknownDBException(message="no three")
        return hms.GetTablesResult(tables=[table_to(TABLE)])

    _, store = metastore(
        get_config_value=lambda name, default: default,
        get_all_databases=lambda: ["one", "two", "three", "default"],
        get_database=get_database,
        get_all_tables=lambda _: ["t"],
        get_table_objects_by_name_req=objects,
    )
    assert list(store.places("/elsewhere/new")) == [Place(T, TableKind.FULL_ACID, "/w/t")]


def test_a_change_stands_though_the_end_of_its_lock_is_unknown(metastore: Open) -> None:
    """It is not the statement's own commit that nobody answers."""
    altered: list[Any] = []

    def commit(request: Any) -> None:
        raise HangUpError

    handlers = {
        **Tables().handlers,
        "alter_table_req": lambda r: altered.append(r.table) or hms.AlterTableResponse(),
        "commit_txn": commit,
    }
    server, store = metastore(**handlers)
    store.alter_table(replace(TABLE, comment="new"))
    assert [t.parameters["comment"] for t in altered] == ["new"]
    assert server.names.count("commit_txn") > 1


def define_two(store: MetastoreStore) -> None:
    with store.committing(TxnId(1)):
        store.alter_table(replace(TABLE, comment="new"))
        store.create_table(TABLE)


def test_what_was_done_is_taken_back_if_the_commit_fails(metastore: Open) -> None:
    tables = Tables()
    assert tables.table is not None
    tables.table.parameters.update(NOTED)
    altered: list[Any] = []

    def commit(request: Any) -> None:
        if request.txnid == 1:
            raise hms.TxnAbortedException(message="Transaction txnid:1 already aborted")

    handlers = {
        **tables.handlers,
        "heartbeat": lambda _: None,
        "create_table_req": lambda _: None,
        "drop_table": lambda *_: None,
        "alter_table_req": lambda r: altered.append(r.table) or hms.AlterTableResponse(),
        "commit_txn": commit,
    }
    server, store = metastore(**handlers)
    with pytest.raises(TxnAbortedError, match="already aborted"):
        define_two(store)
    asked = (
        "get_table_req", "get_config_value", "get_latest_txnid_in_conflict",
        "get_all_table_constraints",
    )  # fmt: skip
    alone = ["open_txns", "lock", "alter_table_req", "commit_txn"]
    done = [n for n in server.names if n not in asked]
    assert done[1:] == [*alone, "create_table_req", "commit_txn", "drop_table", *alone]
    # What was counted before may not be right any more.
    assert [t.parameters for t in altered] == [
        {"transactional": "true", "comment": "new"},
        {"transactional": "true"},
    ]


def test_a_change_that_nobody_can_look_at_may_have_been_made(metastore: Open) -> None:
    def hang_up(*_: Any) -> Any:
        raise HangUpError

    handlers = {"create_table_req": hang_up, "get_table_req": hang_up}
    _, store = metastore(**{**Tables().handlers, **handlers})
    with pytest.raises(StorageError, match="did not answer to create_table_req") as caught:
        store.create_table(TABLE)
    assert caught.value.hint == "It may have carried it out all the same: see what is there."
