"""Files that others wrote, in Spark: originals, loaded ones, older schemas, and DML on top."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.backends.memory.store import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark import row_numbers
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import AcidSqlError, AnalysisError, ConfigError, MissingFileError, StorageError
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Bucketing, Column, Table
from acidsql.model.types import PrimitiveType, StructType, parse_type
from acidsql.orc.evolution import current_rows
from acidsql.orc.reader import open_orc
from acidsql.orc.schema import arrow_type
from acidsql.orc.types import file_columns
from acidsql.orc.writer import EventWriter
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.hive_written import STATES, hive_rows, snapshot_of

T = TableName("default", "t")


def write_plain(path: Path, columns: dict[str, pa.Array]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pa_orc.write_table(pa.table(columns), path)


def write_events(path: Path, columns: dict[str, tuple[Any, list[Any]]], write_id: int = 1) -> None:
    """A delta's file with these columns; a type is a text or a type."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kinds = tuple(
        Column(name, parse_type(kind) if isinstance(kind, str) else kind)
        for name, (kind, _) in columns.items()
    )
    with EventWriter(str(path), kinds) as writer:
        rows = pa.record_batch({name: pa.array(values) for name, (_, values) in columns.items()})
        writer.write_inserts(rows, WriteId(write_id), 1 << 29)


def tuples(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=str)


# -- read_acid -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"schema": ""}, AcidSqlError, "no column"),
        ({"schema": "id"}, AcidSqlError, "needs a type"),
        ({"schema": "id whatever"}, AcidSqlError, "unknown type"),
        ({"schema": "id int, ID string"}, AnalysisError, "twice"),
        ({"schema": "row__id int"}, AnalysisError, "reserved"),
        ({"partitioned_by": "id int"}, AnalysisError, "twice"),
        ({"partitioned_by": "p int"}, StorageError, "no|not a directory of partition"),
        ({"valid_write_ids": "5"}, ConfigError, "not a valid write id list"),
        ({"valid_write_ids": "t:a:b::"}, ConfigError, "not a valid write id list"),
        ({"valid_txns": "t:5:5::"}, ConfigError, "not a valid txn list"),
        ({"path": "/nowhere/at/all"}, MissingFileError, "does not exist"),
    ],
)
def test_bad_arguments(
    session: Session, arguments: dict[str, str], error: type[Exception], message: str
) -> None:
    path = str(STATES / "employee" / "hive4" / "1-insert")
    with pytest.raises(error, match=message):
        session.read_acid(**{"path": path, "schema": "id int", **arguments})


def test_partitions_below_a_relative_path(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute(
        "CREATE TABLE t (k int) PARTITIONED BY (d int) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 2)")
    session.execute("DELETE FROM t WHERE k = 2")
    monkeypatch.chdir(tmp_path)
    given = {"schema": "k int", "partitioned_by": "d int"}
    for path in ("warehouse/t", "./warehouse/../warehouse/t/", Path("warehouse/t")):
        assert tuples(session.read_acid(path, **given)) == [(1, 1), (3, 2)]


def test_everything_is_committed_unless_said_otherwise(session: Session) -> None:
    directory = STATES / "employee" / "hive4" / "2-update"
    schema = "id int, name string, salary int"
    frame = session.read_acid(f"file://{directory}/", schema=schema)
    assert frame.columns == ["id", "name", "salary"]
    expected = [tuple(r.values())[1:] for r in hive_rows("employee", "hive4", "2-update")]
    assert tuples(frame) == sorted(expected, key=str)


# -- originals and loaded files --------------------------------------------------------------------

AWKWARD = (
    "bucket",
    "rowid",
    "operation",
    "row",
    "originaltransaction",
    "a.b",
    "two words",
    "Größe",
)


@pytest.fixture
def awkward(tmp_path: Path) -> Path:
    """Originals and a delta with column names that mean something else elsewhere."""
    lower = [name.lower() for name in AWKWARD]
    for number, name in enumerate(("000000_0", "000000_0_copy_1", "000001_0")):
        values = {c: pa.array([number * 10 + i, None], pa.int32()) for i, c in enumerate(lower)}
        write_plain(tmp_path / "t" / name, values)
    cells: dict[str, tuple[Any, list[Any]]] = {c: ("int", [90 + i]) for i, c in enumerate(lower)}
    write_events(tmp_path / "t" / "delta_0000001_0000001_0000" / "bucket_00000", cells)
    return tmp_path / "t"


def test_awkward_names(session: Session, awkward: Path) -> None:
    schema = ", ".join(f"`{name}` int" for name in AWKWARD)
    values = [tuple(n * 10 + i for i in range(8)) for n in (0, 1, 2, 9)]
    expected = sorted([*values, *[(None,) * 8] * 3], key=str)
    native = session.read_acid(str(awkward), schema=schema)
    assert native.columns == [name.lower() for name in AWKWARD]
    assert tuples(native) == expected
    assert tuples(native.select("`a.b`")) == sorted([(v[5],) for v in expected], key=str)
    numbered = session.read_acid(str(awkward), schema=schema, row_id=True).collect()
    assert sorted((tuple(row)[1:] for row in numbered), key=str) == expected
    ids = sorted(tuple(row[0]) for row in numbered)
    p0, p1 = 1 << 29, 1 << 29 | 1 << 16
    assert ids == [
        *((0, p0, number) for number in range(4)), (0, p1, 0), (0, p1, 1), (1, p0, 0)
    ]  # fmt: skip


def test_many_tasks_number_the_rows_of_one_file(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t" / "000000_0"
    path.parent.mkdir()
    with pa_orc.ORCWriter(str(path), stripe_size=1 << 16, compression="uncompressed") as writer:
        for start in range(0, 40_000, 1000):
            numbers = pa.array(range(start, start + 1000), pa.int64())
            writer.write(pa.table({"n": numbers, "text": numbers.cast(pa.string())}))
    with open_orc(str(path)) as opened:
        assert len(opened.tail.stripes) > 2
    for size in (0, 1 << 30):
        monkeypatch.setattr(row_numbers, "TASK_BYTES", 1 << 17)
        monkeypatch.setattr(row_numbers, "_SMALL_BYTES", size)
        frame = session.read_acid(str(path.parent), schema="n bigint, text string", row_id=True)
        right = "count_if(n = row__id.rowid and text = cast(n as string))"
        [found] = frame.selectExpr("count(*)", "count(distinct n)", right).collect()
        assert tuple(found) == (40_000, 40_000, 40_000)


# -- older schemas ---------------------------------------------------------------------------------


def test_names_in_another_case(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "t" / "delta_0000001_0000001_0000" / "bucket_00000"
    inner = StructType((("A", PrimitiveType("int")), ("Other", PrimitiveType("int"))))
    cells: dict[str, tuple[Any, list[Any]]]
    cells = {"ID": ("int", [7]), "S": (inner, [{"A": 1, "Other": 5}])}
    write_events(file, cells)
    schema = "id int, s struct<a:bigint,more:string,other:int>, later string"
    frame = session.read_acid(str(tmp_path / "t"), schema=schema)
    assert tuples(frame) == [(7, (1, None, 5), None)]
    assert tuples(frame.select("s.other").where("s.a = 1")) == [(5,)]


KINDS: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "tinyint": [-128, 127, 0],
    "smallint": [-32768, 300, None],
    "int": [-(2**31), 70000, 1],
    "bigint": [-(2**63), 2**40 + 1, 9007199254740993],
    "float": [1.5, -0.1, None],
    "double": [1.1, 1e300, -0.0],
    "decimal(10,2)": [None, Decimal("12345678.99"), Decimal("-0.05")],
    "decimal(38,18)": [
        Decimal("1.500000000000000000"),
        Decimal("12345678901234567890.123456789012345678"),
        Decimal("-0.005000000000000000"),
    ],
    "date": [None, 0, 19000],
    "string": ["longer than five", "ab", None],
    "varchar(9)": ["ninechars", " x ", ""],
    "char(7)": ["abc", "äöü€😀xy", None],
    "struct<a:int,b:string>": [{"a": 5, "b": "x"}, None, {"a": None, "b": ""}],
    "array<struct<x:int,y:float>>": [[{"x": 1, "y": 1.5}, None], [], None],
    "map<string,struct<p:int>>": [[("k", {"p": 7}), ("n", None)], [], None],
}
WIDER: dict[str, list[str]] = {
    "boolean": ["int", "string"],
    "tinyint": ["smallint", "int", "bigint", "float", "double", "decimal(20,4)", "string"],
    "smallint": ["tinyint", "bigint", "double", "varchar(3)", "char(9)"],
    "int": ["tinyint", "bigint", "float", "double", "decimal(20,4)", "decimal(6,2)", "string"],
    "bigint": ["int", "float", "double", "decimal(38,2)", "decimal(10,2)", "string"],
    "float": ["double"],
    "double": ["float"],
    "decimal(10,2)": [
        "decimal(12,2)",
        "decimal(20,5)",
        "decimal(8,1)",
        "float",
        "double",
        "string",
    ],
    "decimal(38,18)": [
        "decimal(20,4)",
        "decimal(10,2)",
        "float",
        "double",
        "varchar(5)",
        "char(40)",
    ],
    "date": ["string", "char(5)", "varchar(40)"],
    "string": ["varchar(5)", "varchar(50)", "char(4)"],
    "varchar(9)": ["string", "varchar(2)", "char(12)"],
    "char(7)": ["string", "char(5)", "char(9)", "varchar(5)"],
    # Fields are matched by name, also where columns are by position: ORC goes no deeper.
    "struct<a:int,b:string>": [
        "struct<a:bigint,b:string>",
        "struct<b:varchar(5),c:date,a:int>",
        "struct<b:string>",
        "struct<A:double,renamed:string>",
    ],
    "array<struct<x:int,y:float>>": [
        "array<struct<x:bigint,y:double>>",
        "array<struct<y:float,z:string>>",
    ],
    "map<string,struct<p:int>>": [
        "map<string,struct<p:bigint,q:array<int>>>",
        "map<string,struct<renamed:int>>",
    ],
}


def test_spark_and_pyarrow_convert_alike(session: Session, tmp_path: Path) -> None:
    """One rule for both: what is read before a compaction is read after it."""
    file = tmp_path / "t" / "delta_0000001_0000001_0000" / "bucket_00000"
    file.parent.mkdir(parents=True)
    pairs = [(old, new) for old, news in WIDER.items() for new in news]
    before = tuple(Column(f"c{i}", parse_type(old)) for i, (old, _) in enumerate(pairs))
    now = tuple(Column(f"n{i}", parse_type(new)) for i, (_, new) in enumerate(pairs))
    with EventWriter(str(file), before) as writer:
        arrays = {}
        for index, (old, _) in enumerate(pairs):
            arrays[f"c{index}"] = pa.array(KINDS[old], arrow_type(parse_type(old)))
        writer.write_inserts(pa.record_batch(arrays), WriteId(1), 1 << 29)
    schema = ", ".join(f"{c.name} {c.type}" for c in now)
    [*found] = session.read_acid(str(tmp_path / "t"), schema=schema).toArrow().to_pylist()
    with open_orc(str(file)) as opened:
        rows = opened.read().column("row").combine_chunks()
        columns = file_columns(opened.tail)
        expected = current_rows(rows, columns, now, "f").to_pylist()
    for row in expected:  # padded by whoever writes it
        for column in now:
            if str(column.type).startswith("char") and row[column.name] is not None:
                row[column.name] = row[column.name].ljust(column.type.length)
    different = {
        pair: ([r[f"n{i}"] for r in found], [r[f"n{i}"] for r in expected])
        for i, pair in enumerate(pairs)
        if repr([r[f"n{i}"] for r in found]) != repr([r[f"n{i}"] for r in expected])
    }
    assert different == {}


@pytest.mark.parametrize(
    ("old", "new"), [("date", "int"), ("string", "array<string>"), ("string", "date")]
)
def test_what_cannot_become_the_new_type_is_an_error(
    session: Session, tmp_path: Path, old: str, new: str
) -> None:
    file = tmp_path / "t" / "delta_0000001_0000001_0000" / "bucket_00000"
    write_events(file, {"c": (old, [None])})
    with pytest.raises(StorageError, match='column "c"'):
        session.read_acid(str(tmp_path / "t"), schema=f"c {new}")


def test_columns_over_files_of_every_age(session: Session, tmp_path: Path) -> None:
    """By position and by name, with a predicate, with one column, and with a name used again."""
    old, young = (tmp_path / "t" / f"delta_000000{n}_000000{n}_0000/bucket_00000" for n in (1, 2))
    write_events(old, {"id": ("int", [1]), "name": ("string", ["a"]), "n": ("int", [10])})
    write_events(
        young,
        {
            "id": ("int", [2]),
            "fullname": ("string", ["b"]),
            "n": ("bigint", [2**40]),
            "name": ("string", ["new"]),
        },
        2,
    )
    schema = "id int, fullname string, n bigint, name string"
    frame = session.read_acid(str(tmp_path / "t"), schema=schema)
    assert tuples(frame) == [(1, "a", 10, None), (2, "b", 2**40, "new")]
    assert tuples(frame.select("name")) == [("new",), (None,)]
    assert tuples(frame.select("fullname").where("n < 11")) == [("a",)]
    added = session.read_acid(str(old.parents[1]), schema="id int, x string, n bigint, extra int")
    assert tuples(added.select("extra")) == [(None,), (None,)]


# -- a file that is streamed into ------------------------------------------------------------------


def test_a_streamed_file_is_read_up_to_its_valid_length(session: Session, tmp_path: Path) -> None:
    shutil.copytree(STATES / "streaming" / "hive3" / "s-5-closed", tmp_path / "t")
    delta = tmp_path / "t" / "delta_0000002_0000005"
    size = (delta / "bucket_00000").stat().st_size
    with (delta / "bucket_00000").open("ab") as file:
        file.write(b"rows that nobody has committed")
    (delta / "bucket_00000_flush_length").write_bytes(size.to_bytes(8, "big"))
    frame = session.read_acid(
        str(tmp_path / "t"),
        schema="id int, v string",
        valid_write_ids=snapshot_of("streaming", "hive3", "s-6-read")["validWriteIds"],
        row_id=True,
    )
    found = [{"row__id": r[0].asDict(), "id": r[1], "v": r[2]} for r in frame.collect()]
    assert sorted(found, key=str) == sorted(hive_rows("streaming", "hive3", "s-6-read"), key=str)


# -- DML on top ------------------------------------------------------------------------------------


class Attached:
    """A session over a table whose directory is a copy of a state, and a model of its rows."""

    def __init__(
        self, spark: Any, tmp_path: Path, state: tuple[str, str, str], columns: str, buckets: int
    ) -> None:
        shutil.copytree(STATES.joinpath(*state), tmp_path / "w" / "t")
        store = MemoryStore(lambda: 1_000_000, TxnPolicy(), str(tmp_path / "w"))
        kinds = [part.split() for part in columns.split(", ")]
        table = Table(
            T,
            tuple(Column(name, parse_type(kind)) for name, kind in kinds),
            str(tmp_path / "w" / "t"),
            bucketing=Bucketing(("id",), buckets) if buckets else None,
            parameters={"transactional": "true", "bucketing_version": "2"},
        )
        store.create_table(table)
        seen = ValidWriteIdList.parse(snapshot_of(*state)["validWriteIds"])
        store.next_txn_id, store.next_write_ids[T] = TxnId(1000), seen.high_watermark
        txn_id = store.open_txn("u", "h")
        store.allocate_write_id(txn_id, T)
        store.commit_txn(txn_id)
        storage = LocalStorage()
        self.session = Session(
            store=store, engine=SparkEngine(storage, spark, {}), storage=storage,
            policy=TxnPolicy(), warehouse=str(tmp_path / "w"), user="u", host="h",
        )  # fmt: skip
        self.rows = {
            row["id"]: [v for k, v in row.items() if k != "row__id"] for row in hive_rows(*state)
        }

    def check(self) -> None:
        found = self.session.execute("SELECT row__id, * FROM t").fetchall()
        assert sorted(row[1:] for row in found) == sorted(map(tuple, self.rows.values()))
        assert len({tuple(row[0]) for row in found}) == len(found)


@pytest.fixture
def attached(request: Any, spark: Any, tmp_path: Path) -> Iterator[Attached]:
    made = Attached(spark, tmp_path, *request.param)
    with made.session:
        yield made


@pytest.mark.parametrize(
    "attached",
    [
        pytest.param(
            (("converted", "hive4", "2-dml"), "id int, v string", 0), marks=pytest.mark.thorough
        ),
        pytest.param(
            (("converted", "hive3", "b1-converted"), "id int, v string", 2),
            marks=pytest.mark.thorough,
        ),
        (("evolution", "hive4", "3-widened"), "id int, v string, n bigint, extra string", 0),
    ],
    indirect=True,
)
def test_dml_on_top(attached: Attached) -> None:
    session, rows = attached.session, attached.rows
    attached.check()
    keys = sorted(rows)
    first, second, third = keys[0], keys[1], keys[-1]
    session.execute(f"UPDATE t SET v = 'new' WHERE id = {second}")
    rows[second][1] = "new"
    session.execute(f"DELETE FROM t WHERE id = {first}")
    del rows[first]
    attached.check()
    session.execute(
        "MERGE INTO t USING (SELECT explode(array(:a, :b, 1000)) AS k) s ON t.id = s.k"
        " WHEN MATCHED AND t.v = 'new' THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET v = 'merged'"
        " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.k, 'inserted')",
        {"a": second, "b": third},
    )
    del rows[second]
    rows[third][1] = "merged"
    rows[1000] = [1000, "inserted", *[None] * (len(rows[third]) - 2)]
    attached.check()
    for kind in ("minor", "major"):
        session.execute(f"ALTER TABLE t COMPACT '{kind}'")
        assert session.run_worker() == 1
        attached.check()
        session.run_cleaner()
        attached.check()
    session.execute(f"UPDATE t SET v = 'last' WHERE id = {third}")
    rows[third][1] = "last"
    attached.check()
