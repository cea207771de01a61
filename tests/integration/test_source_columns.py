"""MERGE: columns of the source that go into rows as they are, without Spark.

What is expected is a Python model: a dict of rows by their keys.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from acidsql.engines.spark.merge_pairs import Pairs
from acidsql.errors import (
    CardinalityError,
    ColumnNotFoundError,
    ConstraintViolationError,
    InvalidValueError,
)
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
TYPES = {
    "k": "int", "z": "boolean", "a": "tinyint", "b": "smallint", "l": "bigint", "f": "float",
    "g": "double", "x": "decimal(20,3)", "d": "date", "ts": "timestamp", "text": "string",
    "bin": "binary",
}  # fmt: skip
UPSERT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
Row = tuple[Any, ...]


def row(k: int, version: int) -> Row:
    """A row with this key. Every third column is null, another one for each key."""
    n = k * 10 + version
    values = (
        k, n % 2 == 0, n % 100, -n, n << 33, n / 4, -n / 7, Decimal(n).scaleb(-3),
        dt.date(1, 1, 1) + dt.timedelta(n * 50), dt.datetime(1900, 1, 1) + dt.timedelta(n, 0, n),
        f"é{n}" * (n % 5), bytes([n % 256, 0]),
    )  # fmt: skip
    return (k, *(None if (i + n) % 3 == 0 else v for i, v in enumerate(values[1:])))


@pytest.fixture(
    params=["", pytest.param("CLUSTERED BY (k) INTO 3 BUCKETS", marks=pytest.mark.thorough)]
)
def typed(session: Session, request: pytest.FixtureRequest) -> Session:
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    session.execute(f"CREATE TABLE t ({columns}) {request.param} {ACID}")
    return session


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> list[tuple[set[str], set[str]]]:
    """The columns that each join was not asked to compute, and those it got of the source.

    Also of queries of the target alone, whose rows are joined without Spark.
    """
    seen: list[tuple[set[str], set[str]]] = []
    joined, alone = Pairs.joined, Pairs.alone

    def noted(self: Pairs, target: Any, source: Any, *rest: Any, **more: Any) -> Any:
        seen.append((set(self.given), set(source.columns) - {"__acidsql_source"}))
        return joined(self, target, source, *rest, **more)

    def noted_alone(self: Pairs, target: Any) -> Any:
        seen.append((set(self.given), set()))
        return alone(self, target)

    monkeypatch.setattr(Pairs, "joined", noted)
    monkeypatch.setattr(Pairs, "alone", noted_alone)
    return seen


def rows_of(session: Session, table: str = "t") -> list[Row]:
    assert session.execute(f"CHECK TABLE {table}").fetchall() == []
    return sorted(session.execute(f"SELECT * FROM {table}").fetchall(), key=repr)


def test_an_upsert_of_all_types(
    typed: Session, spark: Any, joins: list[tuple[set[str], set[str]]]
) -> None:
    model: dict[int, Row] = {}
    kinds = ", ".join(
        f"{name} {'timestamp_ntz' if kind == 'timestamp' else kind}" for name, kind in TYPES.items()
    )
    for version, keys in enumerate([range(30), range(20, 50), range(0, 60, 7)]):
        new = {k: row(k, version) for k in keys}
        typed.register("s", spark.createDataFrame(list(new.values()), kinds))
        result = typed.execute(f"MERGE INTO t USING s ON t.k = s.k {UPSERT}")
        both = len(new.keys() & model.keys())
        assert (result.rows_updated, result.rows_inserted) == (both, len(new) - both)
        model |= new
        assert rows_of(typed) == sorted(model.values(), key=repr)
        if not version:
            joins.clear()  # of the table without rows
    others = {*TYPES} - {"k"}
    is_bucketed = "k" not in joins[0][0]
    assert joins == [(others if is_bucketed else {*TYPES}, set())] * 2


def test_only_what_fits_as_it_is_goes_without_spark(
    session: Session, joins: list[tuple[set[str], set[str]]]
) -> None:
    session.execute(
        "CREATE TABLE t (k int, same int, wider bigint, narrower int, c char(3), v varchar(3),"
        f" n struct<x: int>, computed int, old int) {ACID}"
    )
    session.execute(
        "INSERT INTO t VALUES (1, 0, 0, 0, 'a', 'b', named_struct('x', 0), 0, 5),"
        " (2, 0, 0, 0, 'a', 'b', NULL, 0, 6)"
    )
    source = (
        "(SELECT 1 AS k, 7 AS same, 8 AS wider, 9L AS narrower, 'xy' AS c, 'zz' AS v,"
        " named_struct('x', 3) AS n, 4 AS computed)"
    )
    names = ("same", "wider", "narrower", "c", "v", "n")
    sets = ", ".join(f"{name} = s.{name}" for name in names)
    session.execute(
        f"MERGE INTO t USING {source} AS s ON t.k = s.k"
        f" WHEN MATCHED THEN UPDATE SET {sets}, computed = s.computed + t.old"
    )
    assert session.execute("SELECT * FROM t ORDER BY k").fetchall() == [
        (1, 7, 8, 9, "xy ", "zz", (3,), 9, 5),
        (2, 0, 0, 0, "a  ", "b", None, 0, 6),
    ]
    assert joins[0][0] == {"same"}
    with pytest.raises(InvalidValueError, match=r"narrower|overflow|range"):
        session.execute(
            "MERGE INTO t USING (SELECT 1 AS k, 1L << 40 AS n) AS s ON t.k = s.k"
            " WHEN MATCHED THEN UPDATE SET narrower = s.n"
        )


def test_constraints_hold_for_values_of_the_source(session: Session) -> None:
    session.execute(
        f"CREATE TABLE t (k int, v int NOT NULL, w int CONSTRAINT few CHECK (w < 9)) {ACID}"
    )
    session.execute("INSERT INTO t VALUES (1, 1, 1)")
    for values in ("(1, NULL, 1)", "(2, 1, 10)"):
        with pytest.raises(ConstraintViolationError):
            session.execute(
                f"MERGE INTO t USING (SELECT * FROM VALUES {values} AS s(k, v, w)) AS s"
                f" ON t.k = s.k {UPSERT}"
            )
    assert rows_of(session) == [(1, 1, 1)]


@pytest.fixture
def pairs(session: Session) -> Session:
    session.execute(f"CREATE TABLE t (k int, v string, w string) {ACID}")
    session.insert("t", [{"k": k, "v": f"v{k}", "w": f"w{k}"} for k in range(8)])
    session.insert("t", [{"k": k, "v": f"V{k}", "w": f"W{k}"} for k in range(6, 12)])
    return session


def merge(session: Session, source: str, clauses: str, on: str = "t.k = s.k") -> Any:
    return session.execute(f"MERGE INTO t USING ({source}) AS s ON {on} {clauses}")


def test_each_match_gets_the_values_of_its_own_source_row(
    pairs: Session, joins: list[tuple[set[str], set[str]]]
) -> None:
    """A source row may match several rows of the target. Clauses may set different columns."""
    source = "SELECT * FROM VALUES (1, 'a', 'x'), (7, 'b', 'y'), (20, 'c', 'z') AS s(k, p, q)"
    result = merge(
        pairs,
        source,
        "WHEN MATCHED AND t.k = 1 THEN UPDATE SET v = s.p, w = `S`.`Q`"
        " WHEN MATCHED AND t.w = 'W7' THEN UPDATE SET v = s.p, w = s.p WHEN MATCHED THEN DELETE"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.q, s.p)",
    )
    assert joins[0][0] == {"v"}
    assert (result.rows_updated, result.rows_deleted, result.rows_inserted) == (2, 1, 1)
    expected = [(k, f"v{k}", f"w{k}") for k in (0, 2, 3, 4, 5, 6)]
    expected += [(k, f"V{k}", f"W{k}") for k in (6, 8, 9, 10, 11)]
    expected += [(1, "a", "x"), (7, "b", "b"), (20, "z", "c")]
    assert rows_of(pairs) == sorted(expected, key=repr)


def test_a_row_with_several_matches_is_an_error_unless_all_delete_it(pairs: Session) -> None:
    twice = "SELECT * FROM VALUES (3, 'a'), (3, 'b') AS s(k, v)"
    before = rows_of(pairs)
    with pytest.raises(CardinalityError, match="k = 3 \\(2 source rows\\)"):
        merge(pairs, twice, "WHEN MATCHED THEN UPDATE SET v = s.v")
    assert rows_of(pairs) == before
    clauses = "WHEN MATCHED AND t.k = 99 THEN UPDATE SET v = s.v WHEN MATCHED THEN DELETE"
    assert merge(pairs, twice, clauses).rows_deleted == 1


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("more", "condition"),
    [
        ("5 AS `od.d ``name`", "s.`od.d ``name` = t.k"),
        ("5 AS `schlüssel`", "s.`SCHLÜSSEL` = t.k"),
        ("5 AS other", "OTHER = t.k"),
        ("named_struct('f', 5) AS r", "s.r.f = t.k"),
        ("5 AS j", "EXISTS (SELECT * FROM VALUES (5) AS i(n) WHERE i.n = s.j)"),
    ],
)
def test_a_join_gets_every_column_of_the_source_that_it_names(
    pairs: Session, more: str, condition: str
) -> None:
    clause = f"WHEN MATCHED AND {condition} THEN UPDATE SET v = s.v"
    assert merge(pairs, f"SELECT 5 AS k, 'n' AS v, {more}", clause).rows_updated == 1
    assert (5, "n", "w5") in rows_of(pairs)


def test_an_insert_clause_may_have_a_star_for_the_source(pairs: Session) -> None:
    clause = "WHEN NOT MATCHED THEN INSERT VALUES (s.k, to_json(struct(s./**/*)), 'new')"
    update = "WHEN MATCHED THEN UPDATE SET v = s.v"
    source = "SELECT * FROM VALUES (5, 'a'), (50, 'b') AS s(k, v)"
    assert merge(pairs, source, f"{update} {clause}").rows_inserted == 1
    assert {(5, "a", "w5"), (50, '{"k":50,"v":"b"}', "new")} <= set(rows_of(pairs))


def test_a_wrong_name_is_told_with_the_names_of_all_columns(pairs: Session) -> None:
    source = "SELECT 1 AS k, 'x' AS v, 1 AS price"
    with pytest.raises(ColumnNotFoundError, match='Did you mean "price"'):
        merge(pairs, source, "WHEN MATCHED AND s.pric > 0 THEN UPDATE SET v = s.v")


def test_a_source_row_without_a_match_may_have_a_null_key(pairs: Session) -> None:
    source = "SELECT * FROM VALUES (NULL, 'a', 'b'), (5, NULL, 'c') AS s(k, v, w)"
    assert merge(pairs, source, UPSERT).rows_inserted == 1
    assert {(None, "a", "b"), (5, None, "c")} <= set(rows_of(pairs))


def test_values_too_large_for_the_driver_are_written_by_tasks(
    pairs: Session,
    joins: list[tuple[set[str], set[str]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One long text goes into many rows: their ids fit, the rows do not."""
    pairs.execute("UPDATE t SET w = 'w'")
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 20_000)
    source = "SELECT 'w' AS w, repeat('x', 3000) AS v"
    result = merge(pairs, source, "WHEN MATCHED THEN UPDATE SET v = s.v", "t.w = s.w")
    assert result.rows_updated == 14
    assert {v for _, v, _ in rows_of(pairs)} == {"x" * 3000}
    assert [given for given, _ in joins] == [{"v"}, set()]


def test_a_merge_whose_rows_all_match_leaves_no_insert(pairs: Session, warehouse: Any) -> None:
    assert merge(pairs, "SELECT 5 AS k, 'a' AS v, 'b' AS w", UPSERT).rows_inserted == 0
    assert len(list((warehouse / "t").glob("delta_*"))) == 3
