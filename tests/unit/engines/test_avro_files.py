"""Avro files: fastavro reads what we write, and we read what fastavro writes, value for value."""

from __future__ import annotations

import datetime as dt
import io
import random
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given, settings

from acidsql.engines.avro_reader import field_names, read_avro, row_count
from acidsql.engines.row_files import RowFormat, RowWriter, read_rows
from acidsql.errors import AcidSqlError, CorruptFileError, InvalidValueError
from acidsql.model.avro import avro_obstacle
from acidsql.model.table import Column, FileFormat
from acidsql.model.types import (
    ArrayType,
    CharType,
    ColumnType,
    MapType,
    PrimitiveType,
    StructType,
    parse_type,
)
from acidsql.orc.schema import arrow_type, row_schema
from tests.property.test_types import kinds, values
from tests.unit.engines.tables import columns

SWITCH = dt.date(1582, 10, 15)
HELD = kinds.filter(lambda kind: avro_obstacle(Column("c", kind)) is None)


def written(path: Path, of: tuple[Column, ...], rows: list[dict[str, Any]]) -> str:
    """A file of these rows."""
    arrays = [pa.array([r.get(c.name) for r in rows], arrow_type(c.type)) for c in of]
    batch = pa.RecordBatch.from_arrays(arrays, names=[c.name for c in of])
    writer = RowWriter(str(path), RowFormat(of, FileFormat.AVRO, "none"))
    writer.write_rows(batch)
    writer.close()
    return str(path)


def made(schema: Any, rows: list[Any], codec: str = "null", **metadata: str) -> io.BytesIO:
    """A file of another program."""
    file = io.BytesIO()
    fields = [{"name": name, "type": kind} for name, kind in schema.items()]
    record = {"type": "record", "name": "r", "fields": fields}
    fastavro.writer(file, fastavro.parse_schema(record), rows, codec, metadata=metadata)
    file.seek(0)
    return file


def read(source: Any, of: tuple[Column, ...]) -> list[dict[str, Any]]:
    return [row for batch in read_avro(source, "f", of) for row in batch.to_pylist()]


def is_held(value: Any) -> bool:
    """Whether the file can hold the value: no day of before 1582."""
    match value:
        case dt.datetime():
            return value.date() >= SWITCH and value.microsecond % 1000 == 0
        case dt.date():
            return value >= SWITCH
        case dict():
            return all(map(is_held, value.values()))
        case list() | tuple():
            return all(map(is_held, value))
    return True


def as_avro(value: Any, kind: ColumnType) -> Any:
    """What fastavro makes of the value."""
    match kind:
        case _ if value is None:
            return None
        case CharType("char"):
            return value.rstrip(" ")
        case ArrayType(element):
            return [as_avro(v, element) for v in value]
        case MapType(_, inner):
            return {k: as_avro(v, inner) for k, v in value}
        case StructType(fields):
            return {name: as_avro(value[name], inner) for name, inner in fields}
        case PrimitiveType("float" | "double"):
            return repr(value)
        case PrimitiveType("timestamp"):
            return value.replace(tzinfo=dt.timezone.utc)
    return value


def with_texts(value: Any) -> Any:
    """The value with floats as texts, because NaN is not NaN."""
    match value:
        case float():
            return repr(value)
        case dict():
            return {key: with_texts(v) for key, v in value.items()}
        case list():
            return [with_texts(v) for v in value]
        case tuple():
            return tuple(map(with_texts, value))
    return value


@settings(max_examples=60)
@given(st.data())
def test_another_program_reads_what_we_write(tmp_path_factory: Any, data: st.DataObject) -> None:
    kind = data.draw(HELD, "type")
    given_values = data.draw(st.lists(values(kind).filter(is_held), min_size=1, max_size=5))
    of = (Column("c", kind),)
    path = written(tmp_path_factory.mktemp("f") / "f", of, [{"c": v} for v in given_values])
    with open(path, "rb") as file:
        theirs = [row["c"] for row in fastavro.reader(file)]
    stored = pa.array(given_values, arrow_type(kind)).to_pylist()
    assert with_texts(theirs) == [as_avro(v, kind) for v in stored]
    ours = [row for batch in read_rows(path, path, RowFormat(of, FileFormat.AVRO, "none"))
            for row in batch.to_pylist()]  # fmt: skip
    again = [as_avro(row["c"], kind) for row in ours]
    assert again == [as_avro(v, kind) for v in stored]


def test_columns_are_found_by_name_and_may_be_missing() -> None:
    file = made({"B": ["null", "long"], "a": "string"}, [{"B": 5, "a": "x"}, {"B": None, "a": "y"}])
    assert field_names(file, "f") == ["b", "a"]
    file.seek(0)
    assert read(file, columns("a string, b bigint, z int")) == [
        {"a": "x", "b": 5, "z": None},
        {"a": "y", "b": None, "z": None},
    ]


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "bzip2", "xz"])
def test_every_codec_that_hive_writes(codec: str) -> None:
    rows = [{"a": number} for number in range(25_000)]
    assert read(made({"a": "int"}, rows, codec), columns("a bigint")) == rows


@pytest.mark.parametrize(
    ("schema", "value", "column", "expected"),
    [
        ("int", 5, "tinyint", 5),
        ("long", 5, "smallint", 5),
        ("int", 5, "decimal(12,2)", Decimal("5.00")),
        ("float", 0.5, "double", 0.5),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}, Decimal("-1.5"),
         "decimal(10,3)", Decimal("-1.500")),
        ({"type": "fixed", "name": "x", "size": 3, "logicalType": "decimal", "precision": 4,
          "scale": 1}, Decimal("1.5"), "decimal(4,1)", Decimal("1.5")),
        ({"type": "enum", "name": "x", "symbols": ["one", "two"]}, "two", "string", "two"),
        ({"type": "fixed", "name": "x", "size": 2}, b"ab", "binary", b"ab"),
        ("string", "äöüß", "varchar(2)", "äö"),
        ({"type": "int", "logicalType": "date"}, SWITCH, "date", SWITCH),
        ({"type": "map", "values": ["null", "int"]}, {"k": 1, "n": None}, "map<string,bigint>",
         [("k", 1), ("n", None)]),
        ({"type": "record", "name": "x", "fields": [{"name": "Q", "type": "int"},
                                                   {"name": "more", "type": "string"}]},
         {"Q": 3, "more": "y"}, "struct<q:int,z:string>", {"q": 3, "z": None}),
        (["int", "null"], None, "int", None),
    ],
)  # fmt: skip
def test_types_of_files_that_fit(schema: Any, value: Any, column: str, expected: Any) -> None:
    found = read(made({"a": schema}, [{"a": value}]), columns(f"a {column}"))
    assert found == [{"a": expected}]


@pytest.mark.parametrize(
    ("schema", "value", "column"),
    [
        ("string", "5", "int"),
        ("double", 0.5, "float"),
        ("int", 5, "string"),
        ("int", 5, "date"),
        (["int", "string"], 5, "int"),
        ({"type": "long", "logicalType": "timestamp-millis"}, 5, "bigint"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}, Decimal("1.5"),
         "binary"),
        ({"type": "array", "items": "string"}, ["a"], "array<int>"),
        ({"type": "record", "name": "x", "fields": [{"name": "q", "type": "string"}]}, {"q": "a"},
         "struct<q:int>"),
        ("int", 300, "tinyint"),
        ("long", 2**31, "int"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 3},
         Decimal("1.125"), "decimal(6,2)"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_errors(schema: Any, value: Any, column: str) -> None:
    with pytest.raises(InvalidValueError):
        read(made({"a": schema}, [{"a": value}]), columns(f"a {column}"))


def test_old_days_need_a_calendar() -> None:
    day = {"type": "int", "logicalType": "date"}
    of = columns("a date")
    gregorian = dt.date(1500, 1, 1)
    rows: list[Any] = [{"a": gregorian}, {"a": SWITCH}]
    said = read(made({"a": day}, rows, **{"writer.proleptic": "true"}), of)
    assert [r["a"] for r in said] == [gregorian, SWITCH]
    # Hive 4: 1500-01-01 of the Julian calendar is ten days later.
    julian: list[Any] = [{"a": dt.date(1500, 1, 10)}, {"a": SWITCH}]
    said = read(made({"a": day}, julian, **{"writer.proleptic": "false"}), of)
    assert [r["a"] for r in said] == [gregorian, SWITCH]
    with pytest.raises(InvalidValueError, match="does not say in which calendar"):
        read(made({"a": day}, rows), of)
    assert read(made({"a": day}, rows[1:]), of) == [{"a": SWITCH}]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_times_beyond_what_a_column_holds(zone: str) -> None:
    schema = {"c": {"type": "long", "logicalType": "timestamp-millis"}}
    said = {"writer.proleptic": "true", "writer.time.zone": zone}
    with pytest.raises(InvalidValueError, match="does not fit its column"):
        read(made(schema, [{"c": 1 << 62}], **said), columns("c timestamp"))


@pytest.mark.parametrize(
    ("zone", "ahead_s"),
    [("America/New_York", -5 * 3600), ("Asia/Tokyo", 9 * 3600), ("GMT-03:30", -12_600)],
)
def test_the_last_time_of_all(zone: str, ahead_s: int) -> None:
    """Many tables have it for "never". Its instant may be one of the year 10000."""
    last = dt.datetime(9999, 12, 31, 23, 59, 59, 999_000)
    clock = (last - dt.datetime(1970, 1, 1)) // dt.timedelta(milliseconds=1)
    schema = {"c": {"type": "long", "logicalType": "timestamp-millis"}}
    rows = [{"c": clock - 1000 * ahead_s}]
    stored = made(schema, rows, **{"writer.time.zone": zone})
    assert read(stored, columns("c timestamp")) == [{"c": last}]


def test_times_need_a_zone() -> None:
    """Hive moves what the clock showed from the writer's zone to UTC."""
    kind = {"type": "long", "logicalType": "timestamp-millis"}
    of = columns("a timestamp")
    clock = dt.datetime(2024, 7, 1, 12, 30, 15, 250_000)
    stored: Any = [{"a": clock.replace(tzinfo=dt.timezone.utc)}]
    assert read(made({"a": kind}, stored, **{"writer.time.zone": "UTC"}), of) == [{"a": clock}]
    berlin = {"writer.time.zone": "Europe/Berlin"}
    moved: Any = [{"a": dt.datetime(2024, 7, 1, 10, 30, 15, 250_000, dt.timezone.utc)}]
    assert read(made({"a": kind}, moved, **berlin), of) == [{"a": clock}]
    old: Any = [{"a": dt.datetime(1899, 12, 31, tzinfo=dt.timezone.utc)}]
    unknown = [{"writer.time.zone": zone} for zone in ("", "Mars/One")]
    for rows, said in ((stored, {}), (old, berlin), *((stored, zone) for zone in unknown)):
        with pytest.raises(InvalidValueError, match="does not say in which"):
            read(made({"a": kind}, rows, **said), of)
    assert read(made({"a": ["null", kind]}, [{"a": None}]), of) == [{"a": None}]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (dt.datetime(2024, 1, 1, 0, 0, 0, 1), "a fraction of a millisecond"),
        (dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), "a fraction of a millisecond"),
        (dt.datetime(1582, 10, 14, 23), "a timestamp before 1582-10-15"),
    ],
)
def test_times_that_are_not_written(tmp_path: Path, value: dt.datetime, why: str) -> None:
    with pytest.raises(InvalidValueError, match=why):
        written(tmp_path / "f", columns("a array<timestamp>"), [{"a": [None, value]}])


@pytest.mark.parametrize("kind", ["date", "array<date>", "map<string,date>", "struct<d:date>"])
def test_old_days_are_not_written(tmp_path: Path, kind: str) -> None:
    day = dt.date(1582, 10, 14)
    value: Any = {"date": day, "array<date>": [SWITCH, day], "map<string,date>": [("k", day)]}.get(
        kind, {"d": day}
    )
    of = columns(f"a {kind}")
    with pytest.raises(InvalidValueError, match="before 1582-10-15"):
        written(tmp_path / "f", of, [{"a": value}])


def test_a_file_without_rows_has_its_schema(tmp_path: Path) -> None:
    of = columns("a int, b array<struct<c:string>>")
    path = written(tmp_path / "f", of, [])
    with open(path, "rb") as file:
        assert list(fastavro.reader(file)) == []
    assert pa.Table.from_batches(read_avro(path, path, of)).schema == row_schema(of)


def test_damage_is_an_error_of_ours(tmp_path: Path) -> None:
    of = columns("a int, b string, d decimal(10,2)")
    rows = [{"a": n, "b": "x" * n, "d": Decimal(n)} for n in range(50)]
    whole = Path(written(tmp_path / "f", of, rows)).read_bytes()
    chosen = random.Random(5)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(chosen.randint(1, 3)):
            damaged[chosen.randrange(len(whole))] = chosen.randrange(256)
        if chosen.random() < 0.3:
            del damaged[chosen.randrange(len(whole)) :]
        with suppress(AcidSqlError):  # and nothing else
            assert len(read(io.BytesIO(bytes(damaged)), of)) <= len(rows)


@pytest.mark.parametrize("content", [b"", b"Obj\x01", b"PAR1" * 100, b"Obj\x01" + b"\xff" * 100])
def test_what_is_no_avro_file(content: bytes) -> None:
    with pytest.raises(CorruptFileError, match="is not a whole Avro file"):
        row_count(io.BytesIO(content), "f", columns("a int"))


def test_a_block_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    """Its count could say less than there is, and rows would be lost unnoticed."""
    of = columns("a int")
    whole = made({"a": ["null", "int"]}, [{"a": n} for n in range(5)]).getvalue()
    at = len(whole) - 16 - 10 - 2  # before the sync marker, the values, and the block's size
    assert whole[at] == 0x0A  # 5 records
    for count in (0x02, 0x08, 0x0B, 0x01, 0x00):
        damaged = whole[:at] + bytes([count]) + whole[at + 1 :]
        with pytest.raises(CorruptFileError, match="is not a whole Avro file"):
            read(io.BytesIO(damaged), of)


def test_wide_decimals_keep_every_digit(tmp_path: Path) -> None:
    """Python's own context rounds after 28 digits."""
    of = columns("a decimal(38,0), b decimal(38,38), c array<decimal(38,2)>")
    nines = int("9" * 38)
    row = {
        "a": Decimal(-nines),
        "b": Decimal(f"0.{nines}"),
        "c": [Decimal("123456789012345678901234567890123456.78")],
    }
    path = written(tmp_path / "f", of, [row])
    assert read(path, of) == [row]


def test_long_values_make_several_batches() -> None:
    """Arrow's texts hold two GiB at the most."""
    rows = [{"a": "x" * (8 << 20)} for _ in range(10)]
    file = made({"a": "string"}, rows, "deflate")
    batches = list(read_avro(file, "f", columns("a string")))
    assert [batch.num_rows for batch in batches if batch.num_rows] == [8, 2]


def test_types_that_are_meant_by_their_name() -> None:
    """The second column of the same record, enum or fixed type has its name alone."""
    record = {"type": "record", "name": "x.In", "fields": [{"name": "q", "type": "int"}]}
    colour = {"type": "enum", "name": "Colour", "symbols": ["red", "blue"]}
    schema = {
        "a": record,
        "b": ["null", "x.In"],
        "c": colour,
        "d": {"type": "array", "items": "Colour"},
        "e": [{"type": "null"}, {"type": "int"}],
        "f": "null",
    }
    row = {"a": {"q": 1}, "b": {"q": 2}, "c": "red", "d": ["blue"], "e": 5, "f": None}
    of = columns("a struct<q:int>, b struct<q:int>, c string, d array<string>, e int, f string")
    assert read(made(schema, [row]), of) == [row]


def test_names_that_differ_in_case_only() -> None:
    file = made({"ID": "int", "id": "string"}, [{"ID": 1, "id": "x"}])
    assert read(file, columns("id string")) == [{"id": "x"}]


def test_a_codec_without_its_package_is_no_damage(tmp_path: Path) -> None:
    content = made({"a": "int"}, [{"a": 1}], "deflate").getvalue()
    assert content.count(b"deflate") == 1
    with pytest.raises(AcidSqlError) as caught:
        read(io.BytesIO(content.replace(b"\x0edeflate", b"\x06lz4")), columns("a int"))
    assert "install" in str(caught.value)
    assert not isinstance(caught.value, CorruptFileError)


def test_records_without_a_byte_are_refused() -> None:
    """A file of a few bytes could have any number of them."""
    with pytest.raises(CorruptFileError, match="is not a whole Avro file"):
        read(made({"a": "null"}, [{"a": None}] * 5), columns("b int"))


def test_a_file_of_other_things_than_records() -> None:
    file = io.BytesIO()
    fastavro.writer(file, "int", [1, 2])
    file.seek(0)
    with pytest.raises(CorruptFileError, match="has no records"):
        read(file, columns("a int"))


def test_fields_have_the_names_by_which_hive_finds_them(tmp_path: Path) -> None:
    text = "struct<Aa:int,b:array<struct<Cc:date>>,M:map<string,struct<Dd:int>>>"
    of = (Column("s", parse_type(text, spelled=True)),)
    value = {"aa": 1, "b": [{"cc": dt.date(1999, 1, 1)}, None], "m": [("k", {"dd": 2})]}
    rows = [{"s": value}, {"s": None}]
    path = written(tmp_path / "f", of, rows)
    with open(path, "rb") as file:
        first, second = fastavro.reader(file)
    inner = [{"Cc": dt.date(1999, 1, 1)}, None]
    assert first == {"s": {"Aa": 1, "b": inner, "M": {"k": {"Dd": 2}}}}
    assert second == {"s": None}
    assert read(path, of) == rows
