"""MERGE whose matches the driver finds by the keys of a source that it holds.

What is expected is a Python model: rows of the target, and those that the source has for a key.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from acidsql.engines.spark import known_keys
from acidsql.engines.spark.changed_rows import Changes
from acidsql.engines.spark.key_bits import key_words, may_be_key
from acidsql.engines.spark.key_hash import can_hash, hash_of, row_hashes
from acidsql.engines.spark.merge_pairs import Pairs
from acidsql.errors import CardinalityError, InvalidValueError
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
Row = tuple[Any, ...]

KEYS: dict[str, Any] = {
    "tinyint": lambda n: n - 9,
    "smallint": lambda n: n * -300,
    "int": lambda n: n << 24,
    "bigint": lambda n: (n - 9) << 40,
    "boolean": lambda n: n % 2 == 0,
    "decimal(18,4)": lambda n: Decimal(n - 9).scaleb(-2),
    "date": lambda n: dt.date(1, 1, 1) + dt.timedelta(n * 40_000),
    "timestamp": lambda n: dt.datetime(1890, 1, 1) + dt.timedelta(n * 900, 0, n),
    "string": lambda n: "" if not n else "é" * n + chr(n),
    # Their hashes are unknown to the driver.
    "decimal(30,4)": lambda n: Decimal((n - 9) * 10**20),
    "double": lambda n: [0.0, -0.0, float("inf"), 0.1, 1e300][n % 5],
    "char(4)": lambda n: f"{n}",
}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the rows of target and source were brought together: "alone", or "joined" by Spark."""
    found: list[str] = []

    def noted(name: str, method: Any) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            found.append(name)
            return method(*given, **more)

        return call

    for name in ("alone", "joined"):
        monkeypatch.setattr(Pairs, name, noted(name, getattr(Pairs, name)))
    return found


@pytest.fixture(params=["hashes", "hashes that tell nothing"])
def hashes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With bits that are all set, each row of the target may have a key of the source."""
    if request.param != "hashes":
        every = np.full(1 << 4, -1, np.int64).view(np.uint64)
        monkeypatch.setattr(known_keys, "key_words", lambda _: every)


def test_the_driver_hashes_keys_as_spark_does(spark: Any) -> None:
    frame = spark.sql(
        "SELECT cast(id % 250 - 125 AS tinyint) a, cast(id * 31 - 9000 AS smallint) b,"
        " cast(id * 7919 - 10000 AS int) c, (id - 3) * 123456789012345 d, id % 3 = 0 e,"
        " date_sub(DATE '2000-01-01', cast(id * 900 AS int)) f,"
        " cast((id - 5) * 1.25BD AS decimal(18, 2)) g,"
        " cast(id - 500 AS decimal(18, 0)) h, timestamp_micros((id - 500) * 123456789012) i,"
        " cast(timestamp_micros((id - 500) * 98765432101) AS timestamp_ntz) j,"
        " concat('é', id, repeat('x', cast(id % 50 AS int))) k, '' l FROM range(1000)"
    )
    assert all(map(can_hash, frame.schema))
    rows = frame.toArrow()
    for fields in [[field] for field in frame.schema] + [[*frame.schema]]:
        expected = frame.selectExpr(hash_of(fields)).toArrow().column(0).to_numpy()
        columns = [rows.column(field.name) for field in fields]
        assert row_hashes([c.combine_chunks() for c in columns]).tolist() == expected.tolist()
        some = [c.combine_chunks().slice(300, 200) for c in columns]
        assert row_hashes(some).tolist() == expected[300:500].tolist()


def test_keys_whose_equal_values_differ_are_left_to_spark(spark: Any) -> None:
    frame = spark.sql(
        "SELECT 1d a, 1f b, 'x' COLLATE UTF8_LCASE c, array(1) d, named_struct('x', 1) e,"
        " binary('x') f, cast(1 AS decimal(19)) g, INTERVAL '1' DAY h"
    )
    assert not any(map(can_hash, frame.schema))


@pytest.mark.one_in(3)
@pytest.mark.usefixtures("hashes")
@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_all_types(session: Session, spark: Any, seen: list[str], kind: str) -> None:
    session.execute(f"CREATE TABLE t (k {kind}, v string, old int) {ACID}")
    value = KEYS[kind]
    target = [(None if n % 7 == 6 else value(n), f"old {n}", n) for n in range(20)]
    for part in (target[:11], target[11:]):
        session.insert("t", [dict(zip(("k", "v", "old"), row, strict=True)) for row in part])
    keys = list(dict.fromkeys([None, *(value(n) for n in (0, 3, 4, 19, 21))]))
    columns = f"k {kind.replace('timestamp', 'timestamp_ntz')}, v string"
    frame = spark.createDataFrame([(k, f"new {k}") for k in keys], columns)
    session.register("s", frame)
    seen.clear()
    session.execute(
        "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v"
        " WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
    )
    assert (seen[0] == "alone") == (kind not in ("decimal(30,4)", "double", "char(4)"))
    there = {k for k, _, _ in target} - {None}
    expected = [(k, f"new {k}" if k in {*keys} - {None} else v, n) for k, v, n in target]
    expected += [(k, f"new {k}", None) for k in keys if k is None or k not in there]
    rows = session.execute("SELECT k, v, old FROM t").fetchall()
    if kind == "char(4)":
        rows = [(k and k.rstrip(), v, n) for k, v, n in rows]
    assert sorted(rows, key=repr) == sorted(expected, key=repr)


@pytest.mark.usefixtures("hashes")
@pytest.mark.parametrize("seed", range(2))
def test_several_keys_and_clauses(session: Session, spark: Any, seen: list[str], seed: int) -> None:
    """In partitions and buckets, with nulls, matches that no clause acts on, and further MERGEs."""
    random = Random(seed)
    session.execute(
        "CREATE TABLE t (a bigint, b string, v int, w string) PARTITIONED BY (p date)"
        f" CLUSTERED BY (b) INTO 2 BUCKETS {ACID}"
    )
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]

    def some() -> Row:
        return (random.choice([0, 1, 2, 3, None]), random.choice("xyz"), random.choice(days))

    model: dict[Row, Row] = {}
    for _ in range(4):
        source = {
            key: (random.randrange(9), random.choice("pq")) for key in (some() for _ in "k" * 9)
        }
        rows = [(a, b, p, v, w) for (a, b, p), (v, w) in source.items()]
        session.register(
            "s", spark.createDataFrame(rows, "a bigint, b string, p date, v int, w string")
        )
        seen.clear()
        session.execute(
            "MERGE INTO t USING s ON s.a = t.a AND t.b = s.b AND (t.p = s.p)"
            " WHEN MATCHED AND t.v > 6 THEN DELETE"
            " WHEN MATCHED AND t.w = 'p' AND t.v IN (1, 2) THEN UPDATE SET v = s.v, w = s.w"
            " WHEN MATCHED AND t.v < 5 THEN UPDATE SET w = s.w, v = s.v"
            " WHEN NOT MATCHED THEN INSERT (a, b, v, w, p) VALUES (s.a, s.b, s.v, s.w, s.p)"
        )
        assert not model or seen == ["alone"]
        for key, new in source.items():
            old = model.get(key) if key[0] is not None else None
            if old is None:
                # A key with a null never matches: it is there once for each MERGE.
                name = key if key[0] is not None else (*key, len(model))
                model[name] = new
            elif old[0] > 6:
                del model[key]
            elif old[0] < 5:
                model[key] = new
        expected = [(a, b, v, w, p) for (a, b, p, *_), (v, w) in model.items()]
        assert sorted(session.execute("SELECT * FROM t").fetchall(), key=repr) == sorted(
            expected, key=repr
        )
    assert session.execute("CHECK TABLE t").fetchall() == []


@pytest.fixture
def table(session: Session) -> Session:
    session.execute(f"CREATE TABLE t (k int, v int) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 10), (2, 20), (3, 0), (4, 40)")
    return session


def rows_of(session: Session) -> list[Row]:
    return session.execute("SELECT * FROM t ORDER BY k, v").fetchall()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM t USING s WHERE t.k = s.k", [(2, 20), (4, 40)]),
        ("UPDATE t SET v = s.v FROM s WHERE t.k = s.k", [(1, 7), (2, 20), (3, 8), (4, 40)]),
        (
            "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *",
            [(1, 10), (2, 20), (3, 0), (4, 40), (9, 9)],
        ),
        ("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND t.v >= 10 THEN DELETE",
            [(2, 20), (3, 0), (4, 40)]),
    ],
)  # fmt: skip
def test_statements_of_all_kinds(
    table: Session, seen: list[str], statement: str, expected: list[Row]
) -> None:
    table.execute("CREATE TEMPORARY VIEW s AS SELECT * FROM VALUES (1, 7), (3, 8), (9, 9) s(k, v)")
    table.execute(statement)
    assert rows_of(table) == expected
    assert seen == ["alone"]


SOURCE = "(SELECT * FROM VALUES (1, 7), (3, 8), (9, 9) s(k, v)) AS s"


@pytest.mark.parametrize("keys", ["t.k = s.k", "t.k = s.k AND t.k + 0 = s.k"])
def test_a_scan_leaves_out_rows_on_which_no_clause_acts(
    table: Session, keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[str] = []
    execution = Changes.collected

    def noted(self: Changes, rows: Any) -> Any:
        plans.append(rows._jdf.queryExecution().executedPlan().toString())
        return execution(self, rows)

    monkeypatch.setattr(Changes, "collected", noted)
    matched = "WHEN MATCHED AND t.v = 10 THEN DELETE WHEN MATCHED AND t.v IN (3, 20) THEN DELETE"
    table.execute(f"MERGE INTO t USING {SOURCE} ON {keys} {matched}")
    assert rows_of(table) == [(2, 20), (3, 0), (4, 40)]
    assert re.search(r"\bv(#\d+)? (IN|=) \(?\d+", plans[0])
    table.execute(f"MERGE INTO t USING {SOURCE} ON {keys} {matched} WHEN NOT MATCHED THEN INSERT *")
    assert rows_of(table) == [(1, 7), (2, 20), (3, 0), (4, 40), (9, 9)]


@pytest.mark.usefixtures("hashes")
@pytest.mark.parametrize(
    ("on", "clause", "expected"),
    [
        # More than keys decides about a match.
        ("t.k = s.k AND t.v = 0", "UPDATE SET v = s.v", [(1, 10), (3, 8)]),
        ("t.k = s.k AND t.v < s.v", "UPDATE SET v = s.v", [(1, 10), (3, 8)]),
        ("t.k = s.k OR t.k = s.k", "UPDATE SET v = s.v", [(1, 7), (3, 8)]),
        # A clause asks for both, or may fail for a row without a match.
        ("t.k = s.k", "AND s.v - t.k = 5 THEN UPDATE SET v = s.v", [(1, 10), (3, 8)]),
        ("t.k = s.k", "AND 10 / t.k > 4 THEN UPDATE SET v = s.v", [(1, 7), (3, 0)]),
        ("t.k = s.k", "AND 10 / t.k > 4 THEN DELETE", [(3, 0)]),
        ("t.k = s.k", "UPDATE SET v = 100 DIV t.k", [(1, 100), (3, 33)]),
        ("t.k = s.k", "UPDATE SET v = DEFAULT", [(1, None), (3, None)]),
    ],
)
def test_what_the_keys_do_not_tell_is_left_to_spark(
    table: Session, seen: list[str], on: str, clause: str, expected: list[Row]
) -> None:
    """The row whose key is 0 has no match: nothing may be computed for it."""
    table.execute("INSERT INTO t VALUES (0, 1)")
    when = clause if clause.startswith("AND") else f"THEN {clause}"
    table.execute(f"MERGE INTO t USING {SOURCE} ON {on} WHEN MATCHED {when}")
    assert rows_of(table) == sorted([(0, 1), (2, 20), (4, 40), *expected])
    assert "alone" not in seen


def test_rows_that_only_seem_to_match_are_few(spark: Any) -> None:
    """Of 2,000 keys and 200,000 other rows: all keys, and not one row in a thousand."""
    keys = row_hashes([pa.array(range(2000))])
    rows = spark.range(202_000).toDF("k")
    found = may_be_key(spark, key_words(keys), hash_of(rows.schema))
    there = {row.k for row in rows.where(found).collect()}
    assert there >= set(range(2000))
    assert len(there) < 2200


def test_keys_that_several_rows_have_are_left_to_spark(table: Session, seen: list[str]) -> None:
    """Their pairs could be too many for the driver."""
    source = "(SELECT * FROM VALUES (1, 7), (3, 8), (1, 7) s(k, v)) AS s"
    table.execute(f"MERGE INTO t USING {source} ON t.k = s.k WHEN MATCHED THEN DELETE")
    assert rows_of(table) == [(2, 20), (4, 40)]
    assert set(seen) == {"joined"}


def test_a_value_that_cannot_be_computed_for_a_match_is_an_error(table: Session) -> None:
    before = rows_of(table)
    with pytest.raises(InvalidValueError, match=r"(?i)zero"):
        table.execute(
            f"MERGE INTO t USING {SOURCE} ON t.k = s.k WHEN MATCHED AND 10 / t.v > 1 THEN DELETE"
        )
    assert rows_of(table) == before


def test_without_sparks_classes_spark_joins(
    table: Session, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_keys, "may_be_key", lambda *_: None)
    table.execute(f"MERGE INTO t USING {SOURCE} ON t.k = s.k WHEN MATCHED THEN UPDATE SET *")
    assert rows_of(table) == [(1, 7), (2, 20), (3, 8), (4, 40)]
    assert set(seen) == {"joined"}


def test_keys_beyond_pythons_years(session: Session) -> None:
    session.execute(f"CREATE TABLE t (k date, v int) {ACID}")
    session.execute("INSERT INTO t VALUES (DATE '+12000-01-01', 1), (DATE '2000-01-01', 2)")
    later = "SELECT DATE '+12000-01-01' AS k, 9 AS v"
    for source, on in ((later, "t.k = s.k"), (later, "t.k >= s.k AND t.k = s.k")):
        session.execute(
            f"MERGE INTO t USING ({source}) s ON {on} WHEN MATCHED THEN UPDATE SET v = s.v + t.v"
        )
    assert session.execute("SELECT v FROM t ORDER BY v").fetchall() == [(2,), (19,)]
    with pytest.raises(CardinalityError, match="12000-01-01"):
        session.execute(
            f"MERGE INTO t USING ({later} UNION ALL {later}) s ON t.k = s.k"
            " WHEN MATCHED THEN UPDATE SET v = s.v"
        )
