"""Random values of random types come back from a file as they went in, by pyarrow's reader.

Names of fields may have capital letters.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.model.table import Column
from acidsql.model.types import (
    INTEGER_BITS,
    ArrayType,
    CharType,
    ColumnType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
    as_spelled,
    parse_type,
)
from acidsql.orc.nested import renamed
from acidsql.orc.reader import read_events
from acidsql.orc.schema import arrow_type
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import P0

EPOCH = dt.datetime(1970, 1, 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "float": st.floats(width=32),
    "double": st.floats(),
    "string": TEXT,
    "binary": st.binary(max_size=6),
    "date": st.dates(),
    "timestamp": st.datetimes(),
}
kinds = st.recursive(
    st.sampled_from([*INTEGER_BITS, *VALUES]).map(PrimitiveType)
    | st.builds(CharType, st.sampled_from(["char", "varchar"]), st.integers(1, 6))
    | st.integers(1, 38).flatmap(lambda p: st.builds(DecimalType, st.just(p), st.integers(0, p))),
    lambda inner: (
        st.builds(ArrayType, inner)
        | st.builds(MapType, st.sampled_from(["int", "string"]).map(PrimitiveType), inner)
        | st.lists(inner, min_size=1, max_size=3).map(
            lambda fields: StructType(tuple((f"f{at}", kind) for at, kind in enumerate(fields)))
        )
    ),
    max_leaves=5,
)


def values(kind: ColumnType) -> st.SearchStrategy[Any]:
    """Values as pyarrow takes them, null among them."""
    match kind:
        case PrimitiveType(name) if name in INTEGER_BITS:
            half = 1 << INTEGER_BITS[name] - 1
            some = st.sampled_from([-half, half - 1]) | st.integers(-half, half - 1)
        case PrimitiveType("timestamp"):
            some = VALUES["timestamp"].filter(lambda v: not -1 < (v - EPOCH).total_seconds() < 0)
        case PrimitiveType(name):
            some = VALUES[name]
        case DecimalType(precision, scale):
            top = 10**precision - 1
            some = st.integers(-top, top).map(lambda n: Decimal(f"{n}E-{scale}"))
        case CharType(_, length):
            some = TEXT.map(lambda text: text[:length])
        case ArrayType(element):
            some = st.lists(values(element), max_size=3)
        case MapType(key, value):
            keys = values(key).filter(lambda k: k is not None)
            some = st.dictionaries(keys, values(value), max_size=3).map(lambda d: list(d.items()))
        case StructType(fields):
            some = st.fixed_dictionaries({name: values(inner) for name, inner in fields})
    return st.none() | some


def seen(value: Any, kind: ColumnType) -> Any:
    """What is to come back: padded, floats by their text, timestamps EXACT."""
    match kind, value:
        case _, None:
            return None
        case PrimitiveType("timestamp"), _:
            micros = (value - EPOCH) // dt.timedelta(microseconds=1)
            nanos = micros % 10**6 * 1000
            return {"__acidsql_seconds": micros // 10**6, "__acidsql_nanos": nanos}
        case CharType("char", length), _:
            return value.ljust(length)
        case ArrayType(element), _:
            return [seen(v, element) for v in value]
        case MapType(key, inner), _:
            return [(seen(k, key), seen(v, inner)) for k, v in value]
        case StructType(fields), _:
            return {name: seen(value[name], inner) for name, inner in fields}
        case _, float():
            return repr(value)
    return value


def plain(value: Any) -> Any:
    match value:
        case float():
            return repr(value)
        case dict():
            return {k: plain(v) for k, v in value.items()}
        case list() | tuple():
            return type(value)(plain(v) for v in value)
    return value


@settings(max_examples=settings().max_examples * 2)
@given(st.data())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = Path(tmp_path_factory.mktemp("types")) / "f"
    kind = data.draw(kinds)
    rows = data.draw(st.lists(values(kind), min_size=1, max_size=8))
    cut = data.draw(st.integers(0, len(rows)))
    column = pa.array(rows, arrow_type(kind))
    text = str(kind).upper() if data.draw(st.booleans()) else str(kind)
    wanted = parse_type(text, spelled=True)
    with EventWriter(str(path), [Column("v", wanted)]) as writer:
        for part in (column[:cut], column[cut:]):
            writer.write_inserts(pa.record_batch({"v": part}), 1, P0)
    found = read_events(str(path), exact=True).column("row").combine_chunks().field("v")
    assert found.type == arrow_type(as_spelled(wanted), "exact")
    found = renamed(found, arrow_type(kind, "exact"))
    assert plain(found.to_pylist()) == [seen(row, kind) for row in rows]
