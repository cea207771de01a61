"""What comes of what a hostile metastore answers: a right answer or an error of ours, soon.

Valid answers are changed: by bytes, and by what stands in their structs. The seeds are the test's.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from thriftpy2.protocol.exc import TProtocolException
from thriftpy2.thrift import TType
from thriftpy2.transport import TMemoryBuffer

from acidsql.backends.metastore import MetastoreStore
from acidsql.backends.metastore.decoder import Decoder
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.sense import NonsenseError
from acidsql.backends.metastore.tables import table_to
from acidsql.backends.metastore.unknown_fields import KeepingProtocol
from acidsql.errors import AcidSqlError, InternalError, StorageError
from acidsql.model.ids import CompactionId, LockId, TxnId, WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.ports.catalog import Partition
from acidsql.txn.entities import CompactionType, LockComponent, LockType, WriteOperation
from tests.component.backends.metastore.server import FakeMetastore
from tests.component.backends.metastore.test_catalog import TABLE, T, Tables

K0, K9 = PartitionName.of({"k": "0"}), PartitionName.of({"k": "9"})
UPDATE = LockComponent(LockType.EXCL_WRITE, "default", "t", None, WriteOperation.UPDATE)
SEEDS = range(12)
LONG = range(400)


def handlers() -> dict[str, Callable[..., Any]]:
    table, partitions = table_to(TABLE), list(Tables(count=3).partitions.values())
    ids = hms.TableValidWriteIds(
        fullTableName="default.t", writeIdHighWaterMark=3, invalidWriteIds=[2], abortedBits=b"\0",
        minOpenWriteId=2,
    )  # fmt: skip
    txn = hms.TxnInfo(id=4, state=hms.TxnState.OPEN, user="ann", hostname="h", agentInfo="a",
                      heartbeatCount=0, startedTime=1, lastHeartbeatTime=2)  # fmt: skip
    lock = hms.ShowLocksResponseElement(
        lockid=1, dbname="default", tablename="t", state=hms.LockState.ACQUIRED,
        type=hms.LockType.SHARED_READ, txnid=4, lastheartbeat=0, user="ann", hostname="h",
    )  # fmt: skip
    compaction = hms.ShowCompactResponseElement(
        dbname="default", tablename="t", type=hms.CompactionType.MAJOR, state="initiated", id=7,
    )  # fmt: skip
    return {
        "get_all_databases": lambda *_: ["default", "sales"],
        "get_all_tables": lambda *_: ["t", "u"],
        "get_database": lambda *_: hms.Database(name="default", locationUri="file:/w"),
        "get_config_value": lambda key, *_: "/w" if "dir" in key else "300s",
        "get_table_req": lambda *_: hms.GetTableResult(table=table),
        "get_table_objects_by_name_req": lambda *_: hms.GetTablesResult(tables=[table]),
        "get_partition_names": lambda *_: ["k=0", "k=1", "k=2"],
        "get_partitions": lambda *_: partitions,
        "get_partitions_by_names": lambda *_: partitions,
        "get_partitions_by_filter": lambda *_: partitions,
        "get_open_txns": lambda *_: hms.GetOpenTxnsResponse(
            txn_high_water_mark=9, open_txns=[4], min_open_txn=4, abortedBits=b"\0"
        ),
        "get_open_txns_info": lambda *_: hms.GetOpenTxnsInfoResponse(
            txn_high_water_mark=9, open_txns=[txn]
        ),
        "get_valid_write_ids": lambda *_: hms.GetValidWriteIdsResponse(tblValidWriteIds=[ids]),
        "open_txns": lambda *_: hms.OpenTxnsResponse(txn_ids=[5]),
        "allocate_table_write_ids": lambda *_: hms.AllocateTableWriteIdsResponse(
            txnToWriteIds=[hms.TxnToWriteId(txnId=5, writeId=3)]
        ),
        "lock": lambda *_: hms.LockResponse(lockid=1, state=hms.LockState.ACQUIRED),
        "check_lock": lambda *_: hms.LockResponse(lockid=1, state=hms.LockState.WAITING),
        "unlock": lambda *_: None,
        "heartbeat": lambda *_: None,
        "commit_txn": lambda *_: None,
        "abort_txn": lambda *_: None,
        "show_locks": lambda *_: hms.ShowLocksResponse(locks=[lock]),
        "show_compact": lambda *_: hms.ShowCompactResponse(compacts=[compaction]),
        "abort_Compactions": lambda _: hms.AbortCompactResponse(
            {7: hms.AbortCompactionResponseElement(7, "Success", "Successfully aborted")}
        ),
        "find_next_compact2": lambda *_: hms.OptionalCompactionInfoStruct(
            ci=hms.CompactionInfoStruct(
                id=7, dbname="default", tablename="t", type=hms.CompactionType.MAJOR
            )
        ),
        "mark_refused": lambda *_: None,
        "alter_table_req": lambda *_: hms.AlterTableResponse(),
        "alter_partitions_req": lambda *_: hms.AlterPartitionsResponse(),
        "rename_partition_req": lambda *_: hms.RenamePartitionResponse(),
        "add_partitions_req": lambda *_: hms.AddPartitionsResult(),
        "drop_partitions_req": lambda *_: hms.DropPartitionsResult(),
        "compact2": lambda *_: hms.CompactionResponse(
            id=7, state="initiated", accepted=True
        ),
    }  # fmt: skip


VERBS: dict[str, Callable[[MetastoreStore], object]] = {
    "databases": lambda s: s.databases(),
    "database": lambda s: s.database("default"),
    "tables": lambda s: s.tables("default"),
    "find_table": lambda s: s.find_table(T),
    "places": lambda s: list(s.places("/w/t")),
    "partitions": lambda s: s.partitions(T),
    "partition_names": lambda s: s.partition_names(T),
    "partitions_for": lambda s: s.partitions_for(TABLE, ()),
    "valid_txns": lambda s: s.valid_txns(),
    "valid_write_ids": lambda s: s.valid_write_ids([T], s.valid_txns()),
    "alter_table": lambda s: s.alter_table(TABLE),
    "rename_table": lambda s: s.rename_table(T, replace(TABLE, name=TableName("default", "v")), ()),
    "rename_partition": lambda s: s.rename_partition(T, K0, Partition(K9, "/w/t/k=9")),
    "drop_partitions": lambda s: s.drop_partitions(T, [K0]),
    "add_partitions": lambda s: s.add_partitions(T, [Partition(K9, "/w/t/k=9")]),
    "forget_statistics": lambda s: s.forget_statistics(T, [K0]),
    "open_txn": lambda s: s.open_txn("ann", "h"),
    "allocate_write_id": lambda s: s.allocate_write_id(TxnId(5), TableName("default", "t")),
    "allocate_write_ids": lambda s: s.allocate_write_ids(
        [TxnId(5), TxnId(6)], TableName("default", "t")
    ),
    "lock": lambda s: s.lock(TxnId(5), [UPDATE], "ann", "h", "a"),
    "check_lock": lambda s: s.check_lock(LockId(1)),
    "heartbeat": lambda s: s.heartbeat(TxnId(5)),
    "abort_txn": lambda s: s.abort_txn(TxnId(5)),
    "show_txns": lambda s: s.show_txns(),
    "show_locks": lambda s: s.show_locks(),
    "show_compactions": lambda s: s.show_compactions(),
    "ready_to_clean": lambda s: s.ready_to_clean(),
    "compact": lambda s: s.compact(T, None, CompactionType.MAJOR),
    "next_compaction": lambda s: s.next_compaction("w"),
    "abort_compactions": lambda s: s.abort_compactions([CompactionId(7), CompactionId(8)]),
    "seed_write_id": lambda s: s.seed_write_id(T, WriteId(5)),
    "mark_failed": lambda s: s.mark_failed(CompactionId(7), "why"),
    "setting": lambda s: s.setting("hive.txn.timeout"),
}


class HostileMetastore(FakeMetastore):
    """Changes its answers by ``change`` before they are sent."""

    change: Callable[[str, Any], Any] = staticmethod(lambda name, result: result)

    def _answer(self, name: str, protocol: KeepingProtocol) -> tuple[int, Any]:
        kind, result = super()._answer(name, protocol)
        return kind, result if name == "set_ugi" else self.change(name, result)


@pytest.fixture
def hostile() -> Iterator[tuple[HostileMetastore, MetastoreStore]]:
    server = HostileMetastore(**handlers())
    store = MetastoreStore(server.url + "?timeout=30", user="ann", sleep=lambda _: None)
    yield server, store
    store.close()
    with server:
        pass


ODD: dict[int, list[Any]] = {
    TType.STRING: ["", "..", "/", "k=", "a\0b", "\n", "é" * 300, "9" * 40, "struct<", "k=1/k=2",
                   "relative/path", "file:", "array<" * 100],
    TType.I64: [0, -1, 1, 2**63 - 1, -(2**63)],
    TType.I32: [0, -1, 1, 2**31 - 1, -(2**31), 77],
    TType.BOOL: [True, False],
    TType.BINARY: [b"", b"\xff" * 100],
}  # fmt: skip


def change_struct(value: Any, chance: random.Random) -> None:
    """One field somewhere in a struct becomes None, empty, or odd."""
    fields = [f for f in value.thrift_spec.values() if getattr(value, f[1], None) is not None]
    if not fields:
        return
    ttype, name, *_ = chance.choice(fields)
    now = getattr(value, name)
    inner = list(now.values()) if isinstance(now, dict) else now if isinstance(now, list) else [now]
    inner = [i for i in inner if hasattr(i, "thrift_spec")]
    if inner and chance.random() < 0.75:
        change_struct(chance.choice(inner), chance)
    elif isinstance(now, list) and now:
        setattr(value, name, chance.choice([None, [], now[:-1], now * 3, now[::-1]]))
    elif isinstance(now, dict):
        odd = [] if inner else [{"": ""}, dict.fromkeys(now, "")]
        setattr(value, name, chance.choice([None, {}, *odd]))
    else:
        setattr(value, name, chance.choice([None, *ODD.get(ttype, [])]))


def outcomes(
    hostile: tuple[HostileMetastore, MetastoreStore], seeds: range, change: Callable[..., Any]
) -> dict[str, int]:
    """How many of the calls were answered, and how many were errors of ours."""
    server, store = hostile
    seen = {"answered": 0, "refused": 0}
    for name, verb in VERBS.items():
        for seed in seeds:
            chance = random.Random(f"{name} {seed}")
            server.handlers.update(handlers())
            server.change = lambda method, result, c=chance: change(result, c)
            try:
                verb(store)
            except InternalError:
                raise  # what comes of an answer is checked
            except AcidSqlError:
                seen["refused"] += 1
            else:
                seen["answered"] += 1
    server.change = lambda name, result: result
    assert store.databases() == ["default", "sales"], "it goes on with a server that is well"
    return seen


def structs_changed(result: Any, chance: random.Random) -> Any:
    change_struct(result, chance)
    return result


@pytest.mark.parametrize(
    "seeds", [SEEDS, pytest.param(LONG, marks=pytest.mark.thorough)], ids=["short", "long"]
)
def test_structs_that_make_no_sense(hostile, seeds) -> None:
    seen = outcomes(hostile, seeds, structs_changed)
    assert min(seen.values()) > 0


def encoded(value: Any) -> bytes:
    buffer = TMemoryBuffer()
    KeepingProtocol(buffer).write_struct(value)
    return bytes(buffer.getvalue())


SIZES = [struct.pack("!i", size) for size in (-1, -(2**31), 2**31 - 1, 2**20, 0, 1)]
DEEP = (b"\x0c\x00\x63" * 100_000, b"\x0f\x00\x63" + b"\x0f\x00\x00\x00\x01" * 100_000)
EMPTY_ELEMENTS = b"\x0f\x00\x63\x01\x7f\xff\xff\xff"
"""A list of 2^31 - 1 values of a type that takes no byte."""


def bytes_changed(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return chance.choice(
        [
            data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :],
            data[:at] + chance.choice(SIZES) + data[at + 4 :],
            data[:at] + chance.choice(SIZES) + data[at:],
            data[:at] + bytes(chance.randrange(256) for _ in range(20)) + data[at:],
            data[:at] + chance.choice(DEEP) + data[at:],
            data[:at] + b"\xff\xfe" + data[at + 2 :],
            EMPTY_ELEMENTS + data,
            data[:at],
        ]
    )


def answers() -> list[Any]:
    made = []
    for name, handler in handlers().items():
        result = getattr(hms.ThriftHiveMetastore, f"{name}_result")()
        if "success" in [field[1] for field in result.thrift_spec.values()]:
            result.success = handler("dir")
            made.append(result)
    return made


class Bytes:
    """As much of a channel's transport as a decoder needs; what is missing is the end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def read(self, size: int) -> bytes:
        piece = self.data[self.at : self.at + size]
        self.at += size
        if len(piece) < size:
            raise EOFError
        return piece


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(
    "seeds", [SEEDS, pytest.param(LONG, marks=pytest.mark.thorough)], ids=["short", "long"]
)
def test_bytes_that_make_no_sense(keep: bool, seeds: range) -> None:
    """The decoder ends, with a struct or an error that `Connection.call` knows."""
    for result in answers():
        data = encoded(result)
        for seed in seeds:
            chance = random.Random(f"{type(result).__name__} {seed}")
            read = Bytes(bytes_changed(data, chance)).read
            # What `Connection.call` takes for an answer that is none; nothing of the machine's.
            with suppress(EOFError, TProtocolException, UnicodeDecodeError, NonsenseError):
                Decoder(read, keep_unknown=keep).read_into(type(result)())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (DEEP[0], "structs more than 64 deep"),
        (DEEP[1], "structs more than 64 deep"),
        (EMPTY_ELEMENTS, "a value of type 1"),
        (b"\x0b\x00\x63\x7f\xff\xff\xff", "a text of 2147483647 bytes"),
        (b"\x0b\x00\x63\xff\xff\xff\xff", "a text of -1 bytes"),
        (b"\x0f\x00\x00\x0b\x80\x00\x00\x00", "-2147483648 elements"),
        (b"\x0f\x00\x00\x08\x00\x00\x00\x01", "elements of other types"),
        (b"\x0f\x00\x00\x0b\x00\x00\x00\x01\x00\x00\x00\x01\xff", "codec can't decode"),
    ],
)
def test_why_an_answer_is_refused(monkeypatch, data, why) -> None:
    """Over the whole way: the connection is given up, the next call has another."""
    with FakeMetastore(**handlers()) as server:
        store = MetastoreStore(server.url, user="ann", sleep=lambda _: None)
        write = KeepingProtocol.write_struct

        def write_struct(self: KeepingProtocol, obj: Any) -> None:
            if type(obj).__name__ == "get_all_databases_result":
                self.trans.write(data)
            else:
                write(self, obj)

        with monkeypatch.context() as patched:
            patched.setattr(KeepingProtocol, "write_struct", write_struct)
            with pytest.raises(StorageError) as caught:
                store.databases()
        assert why in str(caught.value)
        assert store.databases() == ["default", "sales"]
        store.close()


@pytest.mark.parametrize("location", ["", "relative/path", "../up", "file:", "/a\0b", "."])
def test_a_table_without_a_full_location(location: str) -> None:
    table = table_to(TABLE)
    table.sd.location = location
    with FakeMetastore(get_table_req=lambda _: hms.GetTableResult(table=table)) as server:
        store = MetastoreStore(server.url, user="ann", sleep=lambda _: None)
        with pytest.raises(AcidSqlError, match=r"location|without a directory"):
            store.find_table(T)
        store.close()
