"""UPDATE of many rows: Spark's own writer encodes the new versions, beside ids of the old ones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from acidsql.engines.spark.changed_rows import Changes
from acidsql.errors import (
    AnalysisError,
    CardinalityError,
    ColumnNotFoundError,
    ConstraintViolationError,
    InvalidValueError,
)
from acidsql.layout.bucketing import bucket_numbers
from acidsql.model.types import parse_type
from acidsql.orc.footer import read_tail
from acidsql.orc.reader import read_deletes, read_events
from acidsql.orc.stripe_copy import Form
from acidsql.session.session import Session
from tests.joining_tasks import let_tasks_join

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
ROWS = 4_000
COLUMNS = (
    "k bigint, `v.w` string, d date, x decimal(12,3), g double, z boolean, `leg` int, `bucket` int"
)
SELECT = (
    "SELECT id, if(id % 7 = 0, NULL, concat('v', id)), date'0001-01-01' + int(id * 160), id / 8,"
    " -id / 7, id % 2 = 0, int(id), -int(id)"
)
SELECT_AS = (
    "SELECT id AS k, if(id % 7 = 0, NULL, concat('v', id)) AS `v.w`,"
    " date'0001-01-01' + int(id * 160) AS d, id / 8 AS x, -id / 7 AS g, id % 2 = 0 AS z,"
    f" int(id) AS leg FROM range({ROWS - 100}, {ROWS + 100})"
)
Row = tuple[Any, ...]
WRITE_MOVED = Changes.write_moved


def row(k: int) -> Row:
    text = None if k % 7 == 0 else f"v{k}"
    day = dt.date(1, 1, 1) + dt.timedelta(k * 160)
    return k, text, day, Decimal(k * 125).scaleb(-3), -k / 7, k % 2 == 0, k, -k


@pytest.fixture(autouse=True)
def no_table_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.engines.spark.changed_rows.SMALL_BYTES", 0)


BUCKETS = pytest.param("CLUSTERED BY (k) INTO 3 BUCKETS", marks=pytest.mark.thorough, id="buckets")


@pytest.fixture(params=[pytest.param("", id="no buckets"), BUCKETS])
def table(
    session: Session, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Session:
    """A table of two writes, whose new versions Spark encodes: the other way fails."""
    session.execute(f"CREATE TABLE t ({COLUMNS}) {request.param} {ACID}")
    for first in (0, ROWS // 2):
        session.execute(f"INSERT INTO t {SELECT} FROM range({first}, {first + ROWS // 2})")

    def other_way(self: Changes, *rows: Any) -> Any:
        assert not any(leg.is_update and not leg.moves for leg in self.legs)
        return WRITE_MOVED(self, *rows)

    monkeypatch.setattr(Changes, "write_moved", other_way)
    return session


def rows_of(session: Session) -> list[Row]:
    assert session.execute("CHECK TABLE t").fetchall() == []
    return sorted(session.execute("SELECT * FROM t").fetchall())


def written(warehouse: Path, write_id: int) -> dict[str, list[Path]]:
    """The files of a write, by the beginning of their directory's name."""
    name = f"{write_id:07}_{write_id:07}_0000"
    return {
        kind: sorted((warehouse / "t" / f"{kind}_{name}").glob("bucket_*"))
        for kind in ("delta", "delete_delta")
    }


def test_new_versions_take_the_place_of_old_ones(table: Session, warehouse: Path) -> None:
    done = table.execute("UPDATE t SET `v.w` = concat('new ', k), x = x + 1 WHERE k % 4 = 3")
    assert done.rows_updated == ROWS // 4
    expected = []
    for k in range(ROWS):
        old = row(k)
        new = (k, f"new {k}", old[2], old[3] + 1, *old[4:])
        expected.append(new if k % 4 == 3 else old)
    assert rows_of(table) == expected
    assert list((warehouse / "t").rglob("*_attempt_*")) == []
    assert table.execute("UPDATE t SET leg = bucket WHERE k >= 0").rows_updated == ROWS
    expected = [(*r[:6], r[7], r[7]) for r in expected]
    assert rows_of(table) == expected
    table.execute("ALTER TABLE t COMPACT 'minor' AND WAIT")
    assert rows_of(table) == expected


def test_files_are_those_of_every_write(table: Session, warehouse: Path) -> None:
    """A row stays in its bucket, ids are sorted, and a compaction can copy the stripes."""
    table.execute("UPDATE t SET x = 0 WHERE k % 4 = 3")
    files = written(warehouse, 3)
    buckets = 3 if len(files["delete_delta"]) == 3 else 1
    assert len(files["delta"]) == buckets
    form = Form.of(read_tail(str(written(warehouse, 1)["delta"][0])))
    for number, path in enumerate(files["delta"]):
        events = read_events(str(path))
        assert events.column("rowId").to_pylist() == list(range(events.num_rows))
        keys = events.column("row").combine_chunks().field("k")
        found = bucket_numbers([keys], [parse_type("bigint")], buckets, 2)
        assert set(found.tolist()) == {number}
        assert Form.of(read_tail(str(path))) == form
    for path in files["delete_delta"]:
        ids = read_deletes(str(path)).select([0, 1, 2]).to_pylist()
        keys = [tuple(each.values()) for each in ids]
        assert keys == sorted(keys)


@pytest.mark.thorough
def test_rows_that_are_too_many_for_the_driver(
    table: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks write the delete events, of ids that a shuffle has moved."""
    monkeypatch.undo()
    monkeypatch.setattr("acidsql.engines.spark.changed_rows.SMALL_BYTES", 0)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_ROWS_MIN", 0)
    monkeypatch.setattr("acidsql.engines.spark.encoded_changes.STRIPE_BYTES", 1)
    let_tasks_join(monkeypatch)
    assert table.execute("UPDATE t SET leg = 7 WHERE k % 2 = 0").rows_updated == ROWS // 2
    expected = [(*row(k)[:6], 7, -k) if k % 2 == 0 else row(k) for k in range(ROWS)]
    assert rows_of(table) == expected


def test_no_rows(table: Session, warehouse: Path) -> None:
    before = sorted((warehouse / "t").iterdir())
    assert table.execute("UPDATE t SET leg = 7 WHERE k < 0").rows_updated == 0
    assert sorted((warehouse / "t").iterdir()) == before


def test_random_values_are_computed_once(table: Session) -> None:
    table.execute("UPDATE t SET g = rand(), leg = NULL WHERE rand() < 0.5")
    query = "SELECT count(*), count(DISTINCT k), count_if(leg IS NULL) FROM t"
    [(count, keys, changed)] = table.execute(query).fetchall()
    assert (count, keys) == (ROWS, ROWS)
    assert table.execute("SELECT count(*) FROM t WHERE g >= 0 AND k > 0").fetchall()[0][0] in (
        changed - 1,
        changed,
    )
    assert table.execute("CHECK TABLE t").fetchall() == []


@pytest.mark.thorough
def test_rows_of_a_block(table: Session) -> None:
    """Rows that the block itself has written and updated before."""
    table.execute("BEGIN")
    table.execute(f"INSERT INTO t {SELECT} FROM range({ROWS}, {ROWS + 100})")
    table.execute("UPDATE t SET leg = 1 WHERE k % 2 = 0")
    table.execute("DELETE FROM t WHERE k % 3 = 0")
    table.execute("UPDATE t SET leg = leg + 1 WHERE k % 5 = 0")
    table.execute("COMMIT")
    expected = []
    for k in range(ROWS + 100):
        leg = 1 if k % 2 == 0 else k
        leg += k % 5 == 0
        if k % 3:
            expected.append((*row(k)[:6], leg, -k))
    assert rows_of(table) == expected


@pytest.mark.thorough
def test_update_from(table: Session) -> None:
    joined = "FROM (SELECT id * 2 AS i FROM range(100)) s WHERE t.k = s.i"
    assert table.execute(f"UPDATE t SET leg = -1 {joined}").rows_updated == 100
    assert rows_of(table)[:3] == [(*row(0)[:6], -1, 0), row(1), (*row(2)[:6], -1, -2)]
    several = "FROM (SELECT id % 50 AS i FROM range(100)) s WHERE t.k = s.i"
    with pytest.raises(CardinalityError, match="several source rows"):
        table.execute(f"UPDATE t SET leg = -2 {several}")
    assert table.execute("SELECT count(*) FROM t WHERE leg = -2").fetchall() == [(0,)]


def test_a_row_that_fails_leaves_nothing(table: Session, warehouse: Path) -> None:
    before = sorted((warehouse / "t").iterdir())
    with pytest.raises(InvalidValueError):
        table.execute("UPDATE t SET leg = if(k = 2900, raise_error('no'), 1) WHERE k >= 0")
    assert rows_of(table) == [row(k) for k in range(ROWS)]
    assert sorted((warehouse / "t").iterdir()) == before


# -- MERGE of a large source ---------------------------------------------------------------------


@pytest.fixture
def large(table: Session, spark: Any, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Sources are large. The columns of one have names that the table has, too, but for `o`."""
    monkeypatch.setattr("acidsql.engines.spark.merge.collect_source", lambda _: None)
    rows = spark.range(ROWS - 100, ROWS + 100)
    rows = rows.selectExpr("id AS k", "concat('s', id) AS `v.w`", "int(id % 4) AS o")
    table.register("s", rows)
    return table


def merged(session: Session, clauses: str, source: str = "s") -> tuple[int, ...]:
    """How many rows a MERGE has updated, deleted and inserted."""
    done = session.execute(f"MERGE INTO t USING {source} ON t.k = s.k {clauses}")
    return done.rows_updated or 0, done.rows_deleted or 0, done.rows_inserted or 0


def test_every_leg_of_a_merge(large: Session, warehouse: Path) -> None:
    """An unqualified name in a clause that inserts is of the source, though the table has it."""
    clauses = (
        "WHEN MATCHED AND o = 0 THEN DELETE"
        " WHEN MATCHED AND o = 1 THEN UPDATE SET `v.w` = s.`v.w`, x = x + 1"
        " WHEN MATCHED AND o = 2 THEN UPDATE SET leg = -1"
        " WHEN NOT MATCHED AND o = 3 THEN INSERT (k, `v.w`, g) VALUES (k, `v.w`, k / 2)"
        " WHEN NOT MATCHED AND o < 2 THEN INSERT (k, x) VALUES (-k, o)"
    )
    assert merged(large, clauses) == (50, 25, 75)
    expected = [row(k) for k in range(ROWS - 100)]
    for k in range(ROWS - 100, ROWS):
        old = row(k)
        if k % 4 == 1:
            expected.append((k, f"s{k}", old[2], old[3] + 1, *old[4:]))
        elif k % 4 == 2:
            expected.append((*old[:6], -1, old[7]))
        elif k % 4 == 3:
            expected.append(old)
    for k in range(ROWS, ROWS + 100):
        if k % 4 == 3:
            expected.append((k, f"s{k}", None, None, k / 2, None, None, None))
        elif k % 4 < 2:
            expected.append((-k, None, None, Decimal(k % 4), None, None, None, None))
    assert rows_of(large) == sorted(expected)
    assert list((warehouse / "t").rglob("*_attempt_*")) == []
    large.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert rows_of(large) == sorted(expected)


def test_an_upsert_of_whole_rows(large: Session) -> None:
    """Old values are not read. A row that is deleted has no new ones."""
    new = f"(SELECT k, `v.w`, d, x + 1 AS x, g, z, leg, -9 AS `bucket` FROM ({SELECT_AS}))"
    clauses = (
        "WHEN MATCHED AND s.k % 4 = 0 THEN DELETE WHEN MATCHED AND s.k % 4 = 1 THEN UPDATE SET *"
        " WHEN NOT MATCHED THEN INSERT *"
    )
    assert merged(large, clauses, f"{new} AS s") == (25, 25, 100)
    expected = [row(k) for k in range(ROWS - 100)]
    for k in range(ROWS - 100, ROWS + 100):
        old = row(k)
        if k >= ROWS or k % 4 == 1:
            expected.append((*old[:3], old[3] + 1, *old[4:7], -9))
        elif k % 4:
            expected.append(old)
    assert rows_of(large) == sorted(expected)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("clauses", "counts"),
    [
        ("WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)", (0, 0, 100)),
        ("WHEN MATCHED THEN DELETE", (0, 100, 0)),
        ("WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)",
         (0, 100, 100)),
        ("WHEN MATCHED THEN UPDATE SET leg = s.o", (100, 0, 0)),
        ("WHEN MATCHED AND s.k < 0 THEN UPDATE SET leg = 0"
         " WHEN NOT MATCHED AND s.k < 0 THEN INSERT (k) VALUES (s.k)", (0, 0, 0)),
    ],
    ids=["inserts", "deletes", "deletes and inserts", "updates", "nothing"],
)  # fmt: skip
def test_some_legs_of_a_merge(
    large: Session, warehouse: Path, clauses: str, counts: tuple[int, ...]
) -> None:
    before = sorted((warehouse / "t").iterdir())
    assert merged(large, clauses) == counts
    updated, deleted, inserted = counts
    found = rows_of(large)
    assert len(found) == ROWS - deleted + inserted
    changed = [r[0] for r in found if r[0] is None or r[0] >= ROWS or r != row(r[0])]
    assert len(changed) == updated + inserted
    if not any(counts):
        assert sorted((warehouse / "t").iterdir()) == before


@pytest.mark.thorough
def test_rows_of_a_merge_that_are_too_many_for_the_driver(
    large: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_BYTES_MAX", 1)
    monkeypatch.setattr("acidsql.engines.spark.job.DRIVER_ROWS_MIN", 0)
    monkeypatch.setattr("acidsql.engines.spark.encoded_changes.STRIPE_BYTES", 1)
    let_tasks_join(monkeypatch)
    clauses = (
        "WHEN MATCHED AND o = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET leg = 7"
        " WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)"
    )
    assert merged(large, clauses) == (75, 25, 100)
    found = rows_of(large)
    assert len(found) == ROWS + 75
    assert [r[0] for r in found if r[6] == 7] == [7, *(k for k in range(3900, 4000) if k % 4)]


def test_several_matches_of_a_row(
    large: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that no MERGE may update are moved, too: that way describes them."""
    monkeypatch.setattr(Changes, "write_moved", WRITE_MOVED)
    twice = "(SELECT * FROM s UNION ALL SELECT * FROM s WHERE o = 3) s"
    with pytest.raises(CardinalityError, match="several source rows") as caught:
        merged(large, "WHEN MATCHED THEN UPDATE SET leg = 0", twice)
    assert "k = 39" in str(caught.value)
    assert rows_of(large) == [row(k) for k in range(ROWS)]
    assert merged(large, "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)",
                  twice) == (0, 100, 125)  # fmt: skip
    assert len(rows_of(large)) == ROWS + 25
    assert list((warehouse / "t").rglob("*_attempt_*")) == []


def test_a_value_that_only_some_rows_have(large: Session) -> None:
    """What a clause computes is computed for its rows alone."""
    clauses = (
        "WHEN MATCHED THEN UPDATE SET leg = if(s.k >= 4000, raise_error('inserted'), 1)"
        " WHEN NOT MATCHED THEN INSERT (k, leg)"
        " VALUES (s.k, if(s.k < 4000, raise_error('updated'), 2))"
    )
    assert merged(large, clauses) == (100, 0, 100)
    fails = "WHEN MATCHED THEN UPDATE SET leg = if(s.k = 4050, raise_error('no such row'), 1)"
    with pytest.raises(InvalidValueError, match="no such row"):
        merged(large, fails)


ONE_KEY = "(SELECT bigint(k) AS k, v FROM VALUES (1, 'x'), (3, 'y'), (NULL, 'z') AS q(k, v)) s"
UPDATES = "WHEN MATCHED THEN UPDATE SET v = s.v"


@pytest.fixture
def small(session: Session, spark: Any, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A table of three rows. Sources are large."""
    monkeypatch.setattr("acidsql.engines.spark.merge.collect_source", lambda _: None)
    session.execute(f"CREATE TABLE t (k bigint, v string) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (NULL, 'n')")
    spark.udf.register("pyf", lambda x: str(x + 1), "string")
    return session


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("values", "inserted"),
    [
        ("to_json(struct(s.*))", ['{"k":3,"v":"y"}', '{"v":"z"}']),
        ("concat_ws('-', s.*)", ["3-y", "z"]),
        ("coalesce(pyf(coalesce(s.k, -9)), 'none')", ["4", "-8"]),
        ("s.k * 2", ["6", None]),
    ],
)
def test_what_a_clause_inserts_is_made_of_the_rows_that_it_inserts(
    small: Session, values: str, inserted: list[str | None]
) -> None:
    """Not of others, nor of columns that the joined rows have besides."""
    clauses = f"{UPDATES} WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, {values})"
    assert merged(small, clauses, ONE_KEY) == (1, 0, 2)
    rows = {(r[0], r[1]) for r in small.execute("SELECT * FROM t").fetchall()}
    found = [v for k, v in rows if k not in (1, 2) and v != "n"]
    assert sorted(map(str, found)) == sorted(map(str, inserted))
    assert small.execute("CHECK TABLE t").fetchall() == []


def test_mistakes_in_clauses_are_those_of_every_merge(small: Session) -> None:
    """A clause that inserts knows no column of the table, nor the value of another one."""
    source = "(SELECT bigint(k) AS k, v AS w FROM VALUES (1, 'x'), (3, 'y') AS q(k, v)) s"
    insert = "WHEN MATCHED THEN UPDATE SET v = s.w WHEN NOT MATCHED{} THEN INSERT (k, v) VALUES {}"
    with pytest.raises(ColumnNotFoundError, match="v"):
        merged(small, insert.format("", "(s.k, v)"), source)
    with pytest.raises(AnalysisError):
        merged(small, insert.format(" AND 'true'", "(s.k, s.w)"), source)
    assert sorted(small.execute("SELECT v FROM t").fetchall()) == [("a",), ("b",), ("n",)]


def test_char_keys_are_compared_padded(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acidsql.engines.spark.merge.collect_source", lambda _: None)
    session.execute(f"CREATE TABLE t (k char(5), v string) {ACID}")
    session.execute("INSERT INTO t VALUES ('ab', '1'), ('q', '2'), ('r', '3')")
    session.execute(f"CREATE TABLE s (k char(3)) {ACID}")
    session.execute("INSERT INTO s VALUES ('ab'), ('q')")
    clauses = "WHEN MATCHED THEN UPDATE SET v = 'new' WHEN NOT MATCHED THEN INSERT VALUES (k, '')"
    assert merged(session, clauses) == (2, 0, 0)


def test_a_merge_that_only_inserts_rows_of_a_small_source(session: Session) -> None:
    session.execute(f"CREATE TABLE t (k bigint, v string) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    insert = "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
    done = session.execute(f"MERGE INTO t USING {ONE_KEY} ON t.k < s.k {insert}")
    assert done.rows_inserted == 2
    assert session.execute("SELECT count(*) FROM t").fetchall() == [(4,)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["timestamp", "array<int>"])
def test_other_rows_are_moved(session: Session, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    session.execute(f"CREATE TABLE t (k bigint, o {kind}) {ACID}")
    value = {"timestamp": "timestamp'2020-01-01 00:00:00'", "array<int>": "array(1)"}[kind]
    session.execute(f"INSERT INTO t SELECT id, {value} FROM range(100)")
    calls: list[object] = []
    as_before: Callable[..., Any] = Changes.write_moved
    monkeypatch.setattr(Changes, "write_moved", lambda *a: calls.append(a) or as_before(*a))
    assert session.execute("UPDATE t SET k = -k WHERE k > 50").rows_updated == 49
    assert len(calls) == 1
    assert sorted(k for (k,) in session.execute("SELECT k FROM t").fetchall())[0] == -99
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_a_null_that_may_not_be(session: Session, warehouse: Path) -> None:
    """Rows that a MERGE deletes have no values, which is no mistake."""
    session.execute(f"CREATE TABLE t (k bigint NOT NULL, v string NOT NULL, n int) {ACID}")
    session.execute("INSERT INTO t SELECT id, 'v', NULL FROM range(100)")
    before = sorted((warehouse / "t").rglob("*_0*/*"))
    rows = session.execute("SELECT * FROM t").fetchall()
    merge = (
        "MERGE INTO t USING (SELECT id, if(id = 150, NULL, 's') AS v FROM range(50, 200)) s"
        " ON t.k = s.id WHEN MATCHED AND k < 60 THEN DELETE WHEN MATCHED THEN UPDATE SET v = {}"
        " WHEN NOT MATCHED THEN INSERT (k, v) VALUES (id, {})"
    )
    for statement in (
        "UPDATE t SET v = if(k = 77, NULL, 'w') WHERE k > 50",
        "UPDATE t SET v = if(k = 77, NULL, 'w')",
        merge.format("nullif(k, 70)", "'i'"),
        merge.format("'u'", "s.v"),
    ):
        with pytest.raises(ConstraintViolationError, match=r'"v" of default\.t cannot be null'):
            session.execute(statement)
        assert sorted((warehouse / "t").rglob("*_0*/*")) == before
        assert session.execute("SELECT * FROM t").fetchall() == rows
    session.execute(merge.format("'u'", "'i'"))
    assert session.execute("UPDATE t SET n = 1").rows_updated == 190
    counts = "SELECT count(*), count(v), count(k), sum(n), count_if(v = 'u') FROM t"
    assert session.execute(counts).fetchall() == [(190, 190, 190, 190, 40)]
    assert session.execute("CHECK TABLE t").fetchall() == []


@pytest.mark.thorough
def test_a_text_that_java_cannot_encode_is_moved(session: Session, warehouse: Path) -> None:
    session.execute(f"CREATE TABLE t (k int, s string) {ACID}")
    session.execute("INSERT INTO t SELECT id, 'a' FROM range(50)")
    text = "CAST(unhex(concat(repeat('61', 1020), repeat('f0', 50))) AS string)"
    assert session.execute(f"UPDATE t SET s = {text} WHERE k >= 10").rows_updated == 40
    assert session.execute(f"SELECT count(*) FROM t WHERE s = {text}").fetchall() == [(40,)]
    assert session.execute("CHECK TABLE t").fetchall() == []
    assert list((warehouse / "t").rglob("*_attempt_*")) == []
