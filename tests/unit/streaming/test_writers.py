"""acidsql/streaming/writers.py, columns.py"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import SerializationError, StreamingConnectionError
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.streaming.columns import python_converted, texts_converted
from acidsql.streaming.values import from_text
from acidsql.streaming.writers import (
    ArrowRecordWriter,
    Encoded,
    RecordWriter,
    StrictDelimitedInputWriter,
    StrictJsonWriter,
    StrictRegexWriter,
)
from tests.unit.engines.tables import columns

TWO = columns("id int, v varchar(3)")


def encoded(writer: RecordWriter, records: Any, of: Any = TWO) -> Encoded:
    return writer.encode(records, of)


def rows(found: Encoded) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found.rows.to_pylist()]


class TestDelimited:
    def test_lines_are_records(self) -> None:
        found = encoded(StrictDelimitedInputWriter(), b"1,a\n2,\\N\n3,\xc3\xa4")
        assert (rows(found), found.rejected) == ([(1, "a"), (2, None), (3, "ä")], ())

    def test_other_delimiters(self) -> None:
        found = encoded(StrictDelimitedInputWriter("|", ";"), "1|a;2|b;")
        assert rows(found) == [(1, "a"), (2, "b")]

    def test_there_are_no_quotes(self) -> None:
        found = encoded(StrictDelimitedInputWriter(), '1,"a"\n2,"b,c"\n')
        assert rows(found) == [(1, '"a"')]
        assert found.rejected == [(2, None, "it has 3 fields, and the table has 2 columns")]

    def test_records_that_do_not_fit(self) -> None:
        found = encoded(StrictDelimitedInputWriter(), b"x,a\n2,abcd\n\n4\n5,\xff\n6,f")
        assert rows(found) == [(6, "f")]
        assert [(n, c) for n, c, _ in found.rejected] == [
            (1, "id"), (2, "v"), (3, None), (4, None), (5, None),
        ]  # fmt: skip

    def test_lenient(self) -> None:
        found = encoded(StrictDelimitedInputWriter(lenient=True), b"x,a\n2,abcd\n4\n5,\xff\n6,f,g")
        assert rows(found) == [(None, "a"), (2, None), (4, None), (None, None), (6, "f")]
        assert (found.rejected, found.nulled, found.dropped) == ((), 5, 1)

    def test_a_key_that_comes_twice(self) -> None:
        text = "a\x031\x02a\x032\na\x031\x02b\x032"
        found = encoded(StrictDelimitedInputWriter(), text, columns("c map<string,int>"))
        assert rows(found) == [([("a", 1), ("b", 2)],)]
        assert found.rejected == [(1, "c", "A key comes twice in the map")]

    def test_nothing(self) -> None:
        assert rows(encoded(StrictDelimitedInputWriter(), b"")) == []

    def test_one_column_may_be_empty(self) -> None:
        found = encoded(StrictDelimitedInputWriter(), "a\n\nb\n\n", columns("v string"))
        assert rows(found) == [("a",), ("",), ("b",), ("",)]

    @pytest.mark.parametrize("delimiter", ["", "ab", "\n"])
    def test_delimiters_that_cannot_be(self, delimiter: str) -> None:
        with pytest.raises(StreamingConnectionError):
            StrictDelimitedInputWriter(delimiter)

    def test_what_is_no_text(self) -> None:
        with pytest.raises(SerializationError, match="takes no list"):
            encoded(StrictDelimitedInputWriter(), [{"id": 1}])


class TestJson:
    def test_objects(self) -> None:
        text = '{"id": 1, "v": "a"}\n{"V": null, "ID": "2"}'
        assert rows(encoded(StrictJsonWriter(), text)) == [(1, "a"), (2, None)]

    def test_records_that_do_not_fit(self) -> None:
        text = (
            '{"id":1}\n[]\n{\n{"id":1,"v":"a","w":2}\n{"id":1,"ID":2,"v":""}\nNaN\n{"id":9,"v":"z"}'
        )
        found = encoded(StrictJsonWriter(), text)
        assert rows(found) == [(9, "z")]
        assert [(n, c) for n, c, _ in found.rejected] == [
            (1, "v"), (2, None), (3, None), (4, None), (5, None), (6, None),
        ]  # fmt: skip

    def test_lenient(self) -> None:
        found = encoded(StrictJsonWriter(lenient=True), '{"id":"x","v":"abcd","w":1}\n{}\nno')
        assert rows(found) == [(None, None)] * 3
        assert (found.rejected, found.dropped) == ((), 1)

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("map<string,int>", '{"a":1,"a":2}'),
            ("map<int,int>", '{"1":1,"01":2}'),
            ("struct<a:int>", '{"a":1,"a":2}'),
            ("struct<a:int>", '{"a":1,"A":2}'),
            ("array<map<string,int>>", '[{"a":1,"a":2}]'),
            ("int", '1,"c":2'),
        ],
    )
    def test_a_name_that_comes_twice(self, kind: str, value: str) -> None:
        text = f'{{"c":{value}}}\n{{"c":null}}'
        found = encoded(StrictJsonWriter(), text, columns(f"c {kind}"))
        assert rows(found) == [(None,)]
        assert [n for n, _, _ in found.rejected] == [1]
        lenient = encoded(StrictJsonWriter(lenient=True), text, columns(f"c {kind}"))
        assert (rows(lenient), lenient.nulled) == ([(None,), (None,)], 1)

    def test_deep_nesting_is_no_crash(self) -> None:
        found = encoded(StrictJsonWriter(), "[" * 100_000 + '\n{"id":1,"v":"a"}')
        assert (rows(found), len(found.rejected)) == ([(1, "a")], 1)


class TestRegex:
    def test_groups_are_columns(self) -> None:
        writer = StrictRegexWriter(r"(\d+) (?:(\w+)|-)")
        found = encoded(writer, "1 a\n2 -\nx\n3 b c")
        assert rows(found) == [(1, "a"), (2, None)]
        assert [n for n, _, _ in found.rejected] == [3, 4]

    def test_lenient(self) -> None:
        found = encoded(StrictRegexWriter(r"(\d+)", lenient=True), "1\nx")
        assert rows(found) == [(1, None), (None, None)]

    def test_what_is_no_expression(self) -> None:
        with pytest.raises(StreamingConnectionError):
            StrictRegexWriter("(")


class TestArrow:
    def test_dicts(self) -> None:
        found = encoded(ArrowRecordWriter(), [{"id": 1, "v": "a"}, {"V": None, "Id": 2}])
        assert rows(found) == [(1, "a"), (2, None)]
        assert rows(encoded(ArrowRecordWriter(), {"id": 1, "v": "a"})) == [(1, "a")]
        assert rows(encoded(ArrowRecordWriter(), [])) == []

    @pytest.mark.parametrize(
        ("record", "column"),
        [
            ({"id": 1}, "v"), ({"id": 1, "v": "a", "w": 1}, None), ({"id": 1.5, "v": "a"}, "id"),
            ({"id": True, "v": "a"}, "id"), ({"id": "1", "v": "a"}, "id"), (5, None), (None, None),
            ({"id": 2**40, "v": "a"}, "id"), ({"id": 1, "v": "abcd"}, "v"),
            ({"id": 1, "v": 5}, "v"),
            ({"id": 1, "v": "\ud800"}, "v"),
        ],
    )  # fmt: skip
    def test_dicts_that_do_not_fit(self, record: Any, column: str | None) -> None:
        found = encoded(ArrowRecordWriter(), [{"id": 0, "v": ""}, record, {"id": 2, "v": "z"}])
        assert rows(found) == [(0, ""), (2, "z")]
        assert [(n, c) for n, c, _ in found.rejected] == [(2, column)]

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("struct<a:int>", {"a": 1, "A": 2}),
            ("map<string,int>", [("a", 1), ("a", 2)]),
            ("array<map<double,int>>", [[(1, 1), (1.0, 2)]]),
        ],
    )
    def test_dicts_with_a_name_twice(self, kind: str, value: Any) -> None:
        found = encoded(ArrowRecordWriter(), [{"c": value}, {"c": None}], columns(f"c {kind}"))
        assert (rows(found), [n for n, _, _ in found.rejected]) == ([(None,)], [1])

    def test_tables(self) -> None:
        table = pa.table(
            {"V": pa.array(["a", "abcd", None]).dictionary_encode(), "id": pa.array([1, 2, 2**40])}
        )
        found = encoded(ArrowRecordWriter(), table)
        assert rows(found) == [(1, "a")]
        assert [(n, c) for n, c, _ in found.rejected] == [(2, "v"), (3, "id")]
        lenient = encoded(ArrowRecordWriter(lenient=True), table)
        assert (rows(lenient), lenient.nulled) == ([(1, "a"), (2, None), (None, None)], 2)

    @pytest.mark.parametrize(
        "table",
        [
            pa.table({"id": [1]}),
            pa.table({"id": [1], "v": ["a"], "w": [1]}),
            pa.Table.from_arrays([pa.array([1])] * 3, names=["id", "v", "ID"]),
        ],
    )
    def test_tables_of_other_columns(self, table: pa.Table) -> None:
        with pytest.raises(SerializationError, match="Nothing of this write"):
            encoded(ArrowRecordWriter(), table)

    def test_missing_and_other_columns_of_a_lenient_one(self) -> None:
        found = encoded(ArrowRecordWriter(lenient=True), pa.table({"id": [1, 2], "w": [3, 4]}))
        assert (rows(found), found.nulled, found.dropped) == ([(1, None), (2, None)], 2, 2)

    def test_types_that_cannot_be_cast(self) -> None:
        found = encoded(ArrowRecordWriter(), pa.table({"id": [[1], None], "v": ["a", "b"]}))
        why = 'column "id" of type int takes no values of Arrow type list<item: int64>'
        assert (rows(found), found.rejected) == ([(None, "b")], [(1, "id", why)])

    @pytest.mark.parametrize(
        ("array", "kind", "stored"),
        [
            (pa.array([{"B": 2, "A": 1}]), "struct<a:int,b:int>", {"a": 1, "b": 2}),
            (pa.array([{"b": 2}]), "struct<a:int,b:int>", {"a": None, "b": 2}),
            (pa.array([[{"A": 1}]]), "array<struct<a:int>>", [{"a": 1}]),
            (pa.array([0.5]), "decimal(5,2)", Decimal("0.50")),
            (pa.array([[{"key": "k", "value": 1}]]), "map<string,int>", [("k", 1)]),
            (pa.array(["abc"], pa.string_view()), "char(4)", "abc "),
        ],
    )
    def test_values_keep_their_kind(self, array: Any, kind: str, stored: Any) -> None:
        found = encoded(ArrowRecordWriter(), pa.table({"c": array}), columns(f"c {kind}"))
        assert (rows(found), found.rejected) == ([(stored,)], ())

    @pytest.mark.parametrize(
        ("array", "kind"),
        [
            (pa.array([{"x": 1, "y": 2}]), "struct<a:int,b:int>"),
            (pa.array([{"a": 1, "zz": 3}]), "struct<a:int>"),
            (pa.array([{"a": 1, "A": 3}]), "struct<a:int>"),
            (pa.array([dt.datetime(2020, 1, 1, 23)]), "date"),
            (pa.array([1.005]), "decimal(5,2)"),
            (pa.array([1e300]), "float"),
            (pa.array([7]), "timestamp"),
            (pa.array([7]), "date"),
            (pa.array([1]), "boolean"),
            (pa.array([True]), "int"),
            (pa.array([dt.datetime(2020, 1, 1)]), "bigint"),
            (pa.array([1.5]), "string"),
            (pa.array(["12"]), "int"),
            (pa.array([["12"]]), "array<int>"),
            (pa.array(["x"]), "binary"),
            (pa.array([b"x"]), "string"),
            (pa.array(["a", "a"]).dictionary_encode(), "int"),
            (pa.array([4_000_000, -719_528, -800_000], pa.date32()), "date"),
            (pa.array([10**12, -62_167_219_200], pa.timestamp("s")), "timestamp"),
            (pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int8())), "map<string,int>"),
        ],
    )
    def test_values_of_another_kind_do_not_fit(self, array: Any, kind: str) -> None:
        both = pa.table({"c": pa.concat_arrays([array, pa.nulls(1, array.type)])})
        found = encoded(ArrowRecordWriter(), both, columns(f"c {kind}"))
        assert rows(found) == [(None,)]
        assert [n for n, _, _ in found.rejected] == list(range(1, len(array) + 1))

    @pytest.mark.parametrize("shape", ["array<{}>", "struct<a:{}>", "map<int,{}>"])
    @pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
    def test_zones_must_agree_at_any_depth(self, shape: str, zone: str | None) -> None:
        other = "timestamp" if zone else "timestamp with local time zone"
        time = pa.timestamp("us", zone)
        inside = {
            "a": pa.array([[0]], pa.list_(time)),
            "s": pa.array([{"a": 0}], pa.struct([("a", time)])),
            "m": pa.array([[(1, 0)]], pa.map_(pa.int8(), time)),
        }
        of = Column("c", parse_type(shape.format(other)))
        found = encoded(ArrowRecordWriter(), pa.table({"c": inside[shape[0]]}), [of])
        assert [(n, "zone" in why) for n, _, why in found.rejected] == [(1, True)]

    def test_zones_must_agree(self) -> None:
        of = columns("t timestamp")
        aware = pa.table(
            {"t": pa.array([dt.datetime(2026, 1, 1), None], pa.timestamp("us", "UTC"))}
        )
        found = encoded(ArrowRecordWriter(), aware, of)
        assert (rows(found), [n for n, _, _ in found.rejected]) == ([(None,)], [1])

    def test_nanoseconds_are_not_cut(self) -> None:
        of = columns("t timestamp")
        ticks = pa.array([1_000, 1_001], pa.int64()).cast(pa.timestamp("ns"))
        found = encoded(ArrowRecordWriter(), pa.table({"t": ticks}), of)
        assert [n for n, _, _ in found.rejected] == [2]

    @pytest.mark.parametrize("records", ["text", b"bytes", 5, None])
    def test_what_is_no_records(self, records: Any) -> None:
        with pytest.raises(SerializationError, match="takes no"):
            encoded(ArrowRecordWriter(), records)


def test_the_error_names_the_first_records() -> None:
    found = encoded(StrictDelimitedInputWriter(), "x,a\n" * 9 + "1,b")
    with pytest.raises(SerializationError) as caught:
        found.require_all()
    text = str(caught.value)
    assert 'record 1, column "id": it is not a whole number' in text
    assert "record 4, column id" in text
    assert "and 5 more" in text
    assert "1 other record is in the transaction" in text
    assert len(caught.value.rejected) == 9


TEXTS = st.sampled_from(
    ["1", "-1", "+1", "1.5", "128", "2147483648", "99999999999999999999", "", " 1", "1e3", "NaN",
     "2026-01-02", "2026-02-30", "2026-01-02 03:04:05", "2026-01-02 03:04:05.123456",
     "2026-01-02 24:00:00", "true", "a", "abcd", "-0", "1e400", "0001-01-01", "1.", "007"]
)  # fmt: skip
KINDS = st.sampled_from(
    ["tinyint", "int", "bigint", "float", "double", "boolean", "date", "timestamp", "decimal(5,2)",
     "varchar(3)", "string"]
)  # fmt: skip


@given(KINDS, st.lists(st.none() | TEXTS, max_size=6))
def test_the_fast_way_converts_as_the_slow_one(kind: str, texts: list[str | None]) -> None:
    [column] = columns(f"c {kind}".replace(", ", ","))
    found = texts_converted(texts, column)
    for at, text in enumerate(texts):
        alone = texts_converted([text], column)
        assert (at in found.faults) == (0 in alone.faults)
        assert found.array[at].as_py() == alone.array[0].as_py() or found.array[at].as_py() != (
            found.array[at].as_py()
        )
        if text is not None and 0 not in alone.faults and kind not in ("float", "varchar(3)"):
            slow = from_text(text, column.type)
            assert found.array[at].as_py() == slow or slow != slow  # noqa: PLR0124 - NaN


@given(st.lists(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)))
def test_any_python_value_is_taken_whole_or_refused(values: list[Any]) -> None:
    [column] = columns("c bigint")
    found = python_converted(values, column)
    for at, value in enumerate(values):
        if at in found.faults:
            assert found.array[at].as_py() is None
        else:
            assert found.array[at].as_py() == value
            assert not isinstance(value, bool | str)


def test_decimals_of_texts_round_as_in_hive() -> None:
    [column] = columns("c decimal(5,2)")
    found = texts_converted(["1.005", "-1.005", "2"], column)
    assert found.array.to_pylist() == [Decimal("1.01"), Decimal("-1.01"), Decimal("2.00")]


def test_decimals_of_python_are_taken_whole_or_refused() -> None:
    [column] = columns("c decimal(5,2)")
    found = python_converted([Decimal("1.005"), Decimal("1.500"), 2], column)
    assert found.array.to_pylist() == [None, Decimal("1.50"), Decimal("2.00")]
    assert found.faults == {0: "it has more than 2 digits after the point"}


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview, bytes.decode])
def test_much_delimited_text_is_the_same_rows_in_every_form(form: Callable[[bytes], Any]) -> None:
    text = b"".join(b"%d,\xc3\xa9 %d,\\N\n" % (n, n) for n in range(1000))
    table = columns("a int, b string, c date")
    encoded = StrictDelimitedInputWriter().encode(form(text), table)
    assert not encoded.rejected
    assert encoded.rows.to_pylist() == [{"a": n, "b": f"é {n}", "c": None} for n in range(1000)]


def test_a_fault_in_much_text_names_its_record() -> None:
    lines = [b"%d,x" % n for n in range(2000)]
    table = columns("a int, b string")
    for bad, column in ((b"x,y", "a"), (b"1", None), (b"\xff,y", None)):
        lines[1500] = bad
        encoded = StrictDelimitedInputWriter().encode(b"\n".join(lines), table)
        assert [(number, name) for number, name, _ in encoded.rejected] == [(1501, column)]
        assert encoded.rows.num_rows == 1999


@pytest.mark.parametrize("beside", [[], ["2020-1-1"]])
@pytest.mark.parametrize(
    ("kind", "text"), [("date", "0000-01-01"), ("timestamp", "0000-12-31 00:00:00")]
)
def test_there_is_no_year_0(kind: str, text: str, beside: list[str]) -> None:
    found = encoded(StrictDelimitedInputWriter(), "\n".join([text, *beside]), columns(f"c {kind}"))
    assert [n for n, _, _ in found.rejected] == [1]
    assert found.rows.num_rows == len(beside)
