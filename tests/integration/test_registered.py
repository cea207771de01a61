"""Rows of this process under a name: pandas and Arrow, as Spark's own frames."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from acidsql.errors import AnalysisError

ROWS = [(1, "a"), (2, None), (3, "c")]
TABLE = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "v": ["a", None, "c"]})


class Stream:
    """What another library's frame is to Arrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(lambda: TABLE, id="table"),
        pytest.param(lambda: TABLE.combine_chunks().to_batches()[0], id="batch"),
        pytest.param(lambda: TABLE.to_reader(max_chunksize=1), id="reader"),
        pytest.param(Stream, id="stream"),
        pytest.param(lambda: TABLE.to_pandas().set_index(pd.Index([7, 8, 9])), id="pandas"),
        pytest.param(
            lambda: TABLE.set_column(1, "v", TABLE["v"].dictionary_encode()), id="dictionary"
        ),
        pytest.param(lambda: pl.from_arrow(TABLE), id="polars"),
    ],
)
def test_a_source_of_rows(session, frame):
    session.register("Source", frame())
    result = session.execute("SELECT * FROM source ORDER BY id")
    assert result.columns == ["id", "v"]
    assert result.fetchall() == ROWS
    assert session.execute("SELECT count(*) FROM source").fetchall() == [(3,)], "more than once"


def test_merge_from_pandas(session):
    session.execute("CREATE TABLE t (id int, v string) TBLPROPERTIES ('transactional' = 'true')")
    session.execute("INSERT INTO t VALUES (1, 'old')")
    frame = pd.DataFrame({"id": [1, 2], "v": ["new", "b"]})
    session.register("news", frame)
    frame.loc[0, "id"] = 99  # what is registered is a copy
    merged = session.execute(
        "MERGE INTO t USING news s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED THEN INSERT *"
    )
    assert (merged.rows_updated, merged.rows_inserted) == (1, 1)
    assert sorted(session.execute("SELECT * FROM t").fetchall()) == [(1, "new"), (2, "b")]


def test_types_that_spark_has_not(session):
    values = {
        "u8": (pa.array([255], pa.uint8()), 255),
        "u32": (pa.array([2**32 - 1], pa.uint32()), 2**32 - 1),
        "u64": (pa.array([2**64 - 1], pa.uint64()), 2**64 - 1),
        "half": (pa.array([np.float16(0.5)], pa.float16()), 0.5),
        "day": (pa.array([86_400_000], pa.date64()), datetime.date(1970, 1, 2)),
        "runs": (pa.RunEndEncodedArray.from_arrays([1], ["a"]), "a"),
        "views": (pa.array([["a"]], pa.large_list(pa.string_view())), ["a"]),
        "fields": (pa.array([{"x": b"a"}], pa.struct({"x": pa.binary_view()})), (b"a",)),
        "at": (pa.array([1000], pa.timestamp("ns")), datetime.datetime(1970, 1, 1, 0, 0, 0, 1)),
    }
    session.register("odd", pa.table({name: array for name, (array, _) in values.items()}))
    assert session.execute("SELECT * FROM odd").fetchone() == tuple(v for _, v in values.values())
    words = pl.DataFrame({"x": pl.Series(["a"], dtype=pl.Categorical), "y": [["b"]], "z": [b"c"]})
    session.register("words", words)
    assert session.execute("SELECT * FROM words").fetchall() == [("a", ["b"], b"c")]


def test_types_of_pandas(session):
    moment = datetime.datetime(2020, 6, 1, 12, 30)
    session.register(
        "p",
        pd.DataFrame(
            {
                "f": [1.5, np.nan],
                "t": [moment, pd.NaT],
                "c": pd.Categorical(["x", None]),
                "n": pd.array([1, None], dtype="Int64"),
                "b": [True, False],
            }
        ),
    )
    session.execute(
        "CREATE TABLE t (f double, t timestamp, c string, n bigint, b boolean)"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO t SELECT * FROM p")
    rows = sorted(session.execute("SELECT * FROM t"), key=lambda row: not row[-1])
    assert rows == [(1.5, moment, "x", 1, True), (None, None, None, None, False)]


@pytest.mark.parametrize(
    "frame",
    [
        [1, 2],
        None,
        pd.DataFrame({"a": [1, "x"]}),
        pd.Series([1]),
        pd.DataFrame({"a": [2**70]}),
        pa.table({"a": pa.array([1], pa.timestamp("ns"))}),
        pa.table({"a": pa.array([1], pa.date64())}),
    ],
    ids=["list", "None", "mixed", "series", "huge", "nanoseconds", "date with time"],
)
def test_what_has_no_rows_for_spark_is_refused(session, frame):
    with pytest.raises(AnalysisError, match=f'cannot register a {type(frame).__name__} as "x"'):
        session.register("x", frame)
    with pytest.raises(AnalysisError, match="x"):
        session.execute("SELECT * FROM x").fetchall()
