"""Session.insert: random rows of random types, given in every form, are what is then in the files.

They are read by pyarrow alone (`tests.checks`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

import acidsql
from acidsql.engines import placed_rows
from acidsql.model.names import TableName
from acidsql.model.types import ArrayType, CharType, ColumnType, MapType, PrimitiveType, StructType
from acidsql.orc.schema import arrow_type
from acidsql.session.session import Session
from tests.checks import check_table
from tests.property.test_types import kinds, plain, values

ACID = "TBLPROPERTIES ('transactional' = 'true')"
FORMS = ("dicts", "columns", "table", "chunks", "reader", "pandas", "objects", "polars")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    warehouse = tmp_path_factory.mktemp("warehouse")
    with acidsql.connect(warehouse, metastore="memory:") as session:
        yield session


def given_as(form: str, columns: dict[str, list[Any]], types: dict[str, ColumnType]) -> Any:
    """The columns as an object of one form."""
    arrays = {name: pa.array(values, arrow_type(types[name])) for name, values in columns.items()}
    table = pa.table(arrays)
    count = table.num_rows
    match form:
        case "dicts":
            return [{name: v[at] for name, v in columns.items()} for at in range(count)]
        case "columns":
            return columns
        case "chunks":
            return pa.concat_tables([table.slice(0, count // 2), table.slice(count // 2)])
        case "reader":
            return table.to_reader(max_chunksize=2)
        case "pandas":
            return table.to_pandas(types_mapper=pd.ArrowDtype)
        case "objects":
            return pd.DataFrame({n: pd.Series(v, dtype=object) for n, v in columns.items()})
        case "polars":
            return pl.from_arrow(table)
    return table


def seen(value: Any, kind: ColumnType) -> Any:
    """A value as pyarrow reads it from a file; a float by its text."""
    match kind, value:
        case _, None:
            return None
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
        case _, dt.datetime():
            return value.replace(fold=0)
    return value


def works(form: str, kind: ColumnType) -> bool:
    """Whether the form's library holds such values at all."""
    if form == "objects":  # pandas takes NaN among objects for NULL
        return not any(name in str(kind) for name in ("float", "double"))
    return form != "polars" or "map" not in str(kind)


def is_readable(value: Any) -> bool:
    """Whether pyarrow alone can read the value: it knows timestamps of 1677 to 2262."""
    match value:
        case dt.datetime():
            return 1678 <= value.year < 2262
        case dict():
            return all(map(is_readable, value.values()))
        case list() | tuple():
            return all(map(is_readable, value))
    return True


@settings(max_examples=30)
@given(st.data())
def test_what_is_inserted_is_there(session: Session, data: st.DataObject) -> None:
    types = {"c0": data.draw(kinds, "type"), "c1": data.draw(kinds, "type")}
    count = data.draw(st.integers(1, 8))
    columns = {
        name: data.draw(st.lists(values(kind).filter(is_readable), min_size=count, max_size=count))
        for name, kind in types.items()
    }
    columns["p"] = data.draw(st.lists(st.sampled_from("ab"), min_size=count, max_size=count))
    form = data.draw(
        st.sampled_from(FORMS).filter(lambda f: all(works(f, k) for k in types.values()))
    )
    bucketed = data.draw(st.booleans())
    run_bytes, placed_rows.RUN_BYTES = (
        placed_rows.RUN_BYTES,
        data.draw(st.sampled_from([1, 1 << 20])),
    )
    session.execute("DROP TABLE IF EXISTS t")
    declared = ", ".join(f"{name} {kind}" for name, kind in types.items())
    clustered = "CLUSTERED BY (k) INTO 2 BUCKETS " if bucketed else ""
    session.execute(
        f"CREATE TABLE t (k int, {declared}) PARTITIONED BY (p string) {clustered}{ACID}"
    )
    types |= {"p": PrimitiveType("string"), "k": PrimitiveType("int")}
    columns["k"] = list(range(count))
    try:
        result = session.insert("t", given_as(form, columns, types))
    finally:
        placed_rows.RUN_BYTES = run_bytes
    assert result.rows_inserted == count
    found = check_table(session._store, TableName("default", "t"))
    expected = [
        (
            k,
            seen(columns["c0"][k], types["c0"]),
            seen(columns["c1"][k], types["c1"]),
            columns["p"][k],
        )
        for k in range(count)
    ]
    assert [plain(row) for row in sorted(found, key=lambda row: row[0])] == expected
