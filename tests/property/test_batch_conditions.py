"""Scans that skip batches by their conditions, before they read other columns, lose no row."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acidsql
from acidsql import Session
from acidsql.model.ids import WriteId
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import P0, columns

ROWS = 24_000
"""More than two row groups."""
RUN = 900
BATCH = 128
TYPES = {
    "k": "int",
    "big": "bigint",
    "d": "decimal(9,3)",
    "wide": "decimal(30,2)",
    "da": "date",
    "s": "string",
    "w": "smallint",
    "p": "string",
    "q": "decimal(12,4)",
    "a": "array<decimal(5,1)>",
}
MIN, MAX = -(1 << 63), (1 << 63) - 1

STATEMENTS = """
CREATE TABLE {t} ({columns}) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')
"""


def rows() -> pa.Table:
    """Stretches of rows that are alike, so that some conditions hold in few batches."""
    chance = random.Random(20)

    def maybe(value: Any, at: int) -> Any:
        return None if at // RUN % 7 == 3 or chance.random() < 0.1 else value

    found: list[dict[str, Any]] = []
    for at in range(ROWS):
        run = at // RUN
        value = chance.randrange(run * 10, run * 10 + 30)
        found.append(
            {
                "k": at,
                "big": maybe(MIN if value == 17 else MAX if value == 40 else value, at),
                "d": maybe(Decimal(value).scaleb(-(value % 4)), at),
                "wide": maybe(Decimal(value * 10**20), at),
                "da": maybe(9000 + value * 3, at),
                "s": maybe(f"t{run % 10}{'é' if value % 5 == 0 else ''}", at),
                "w": maybe(value, at),
                "p": f"p{at}" * (at % 5),
                "q": Decimal(at).scaleb(-4),
                "a": [Decimal(at % 9), None] if at % 3 else None,
            }
        )
    types = {
        "k": pa.int32(), "big": pa.int64(), "d": pa.decimal128(9, 3), "wide": pa.decimal128(30, 2),
        "da": pa.date32(), "s": pa.string(), "w": pa.int16(), "p": pa.string(),
        "q": pa.decimal128(12, 4), "a": pa.list_(pa.decimal128(5, 1)),
    }  # fmt: skip
    return pa.table({n: pa.array([r[n] for r in found], t) for n, t in types.items()})


class Pair:
    """The same rows here and in DuckDB: ``t`` as pyarrow writes files, ``u`` as Spark does."""

    def __init__(self, session: Session, warehouse: Any) -> None:
        self.session = session
        self.duck = duckdb.connect()
        self.rows = rows()
        self.duck.register("given", self.rows)
        self.duck.execute("CREATE TABLE t AS SELECT * FROM given")
        declared = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
        for table in "tu":
            session.execute(STATEMENTS.format(t=table, columns=declared))
        session.insert("t", self.rows.slice(0, 1))
        [path] = warehouse.glob("t/delta_*/bucket_*")
        with EventWriter(str(path), columns(**TYPES), "zstd", stripe_bytes=1 << 18) as writer:
            for batch in self.rows.to_batches(max_chunksize=1000):
                writer.write_inserts(batch, WriteId(1), P0)
        session.execute("INSERT INTO u SELECT * FROM t")
        gone = "DELETE FROM {} WHERE k % 11 = 5"
        for table in "tu":
            session.execute(gone.format(table))
            session.execute(f"ALTER TABLE {table} CHANGE COLUMN w w bigint")
        self.duck.execute(gone.format("t"))

    def compare(self, where: str) -> None:
        query = "SELECT count(*), sum(k), max(p), sum(q), max(size(a)), sum(wide) FROM {} WHERE {}"
        duck = query.replace("size(", "len(").format("t", where)
        expected = self.duck.execute(duck).fetchall()
        for table in "tu":
            found = self.session.execute(query.format(table, where)).fetchall()
            assert [tuple(row) for row in found] == expected, (table, where)


@pytest.fixture(scope="module")
def pair(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    path = tmp_path_factory.mktemp("warehouse")
    spark.conf.set("spark.sql.orc.columnarReaderBatchSize", BATCH)
    try:
        with acidsql.connect(str(path), spark=spark) as session:
            yield Pair(session, path)
    finally:
        spark.conf.unset("spark.sql.orc.columnarReaderBatchSize")


@pytest.fixture(autouse=True)
def reader_of_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark reads all files here, and event files flat."""
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    monkeypatch.setattr("acidsql.engines.spark.event_format.FLAT_BYTES_MIN", 0)


numbers = st.integers(-5, 300)
literals = {
    "k": st.integers(-3, ROWS + 3).map(str),
    "big": st.one_of(numbers, st.sampled_from((MIN, MAX, MIN + 1, MAX - 1))).map(str),
    "d": st.builds(lambda n, s: str(Decimal(n).scaleb(-s)), numbers, st.integers(0, 5)),
    "wide": numbers.map(lambda n: f"{n}{'0' * 20}.00"),
    "da": numbers.map(lambda n: f"DATE '{1990 + n % 20}-0{n % 9 + 1}-11'"),
    "w": st.one_of(numbers, st.just(1 << 40)).map(str),
    "s": st.sampled_from(("'t1'", "'t5'", "'t5é'", "'t'", "''", "'t9'", "'u'", "'t55'")),
}


@st.composite
def conditions(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from(sorted(literals)))
    values = literals[column]
    match draw(st.sampled_from(("compare", "in", "between", "null"))):
        case "compare":
            operator = draw(st.sampled_from(("=", "<", "<=", ">", ">=", "<>")))
            return f"{column} {operator} {draw(values)}"
        case "in":
            return f"{column} IN ({', '.join(draw(st.lists(values, min_size=1, max_size=4)))})"
        case "between":
            return f"{column} BETWEEN {draw(values)} AND {draw(values)}"
        case _:
            return f"{column} IS {draw(st.sampled_from(('', 'NOT ')))}NULL"


@given(st.lists(conditions(), min_size=1, max_size=3))
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_scan_answers_as_duckdb(pair: Pair, found: list[str]) -> None:
    pair.compare(" AND ".join(found))
