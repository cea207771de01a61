"""MERGE whose clauses ask for the source alone: the driver, which has its rows, knows which acts.

What is expected is a Python model: rows of the target, and those that the source has for a key.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

import acidsql
from acidsql.engines.spark.merge_inserts import Inserts
from acidsql.engines.spark.merge_pairs import Pairs
from acidsql.errors import AnalysisError, InvalidValueError
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
Row = tuple[Any, ...]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a MERGE took: the rows of the target "alone", a join, or a query of rows to insert."""
    found: list[str] = []

    def noted(owner: type, name: str) -> None:
        method = getattr(owner, name)

        def call(*given: Any, **more: Any) -> Any:
            found.append(name)
            return method(*given, **more)

        monkeypatch.setattr(owner, name, call)

    noted(Pairs, "alone")
    noted(Pairs, "joined")
    noted(Inserts, "write")
    return found


@pytest.mark.parametrize("buckets", ["", pytest.param("CLUSTERED BY (k) INTO 2 BUCKETS", id="2")])
def test_a_feed_of_changes(session: Session, spark: Any, seen: list[str], buckets: str) -> None:
    """A condition that would fail for other rows is asked only where no clause before it acts."""
    random = Random(len(buckets))
    session.execute(f"CREATE TABLE t (k int, v int, w string) {buckets} {ACID}")
    model: dict[int, Row] = {}
    for number in range(5):
        source = {}
        for k in random.sample(range(30), 20):
            op = random.choice(["I", "U", "D", None])
            source[k] = op, (0 if op == "D" else random.randrange(1, 10)), f"w{number}"
        rows = [(op, k, v, w) for k, (op, v, w) in source.items()]
        session.register("s", spark.createDataFrame(rows, "op string, k int, v int, w string"))
        done = session.execute(
            "MERGE INTO t USING s ON t.k = s.k"
            " WHEN MATCHED AND s.op = 'D' THEN DELETE"
            " WHEN MATCHED AND t.v = 7 THEN UPDATE SET v = s.v, w = s.w"
            " WHEN MATCHED AND s.op <> 'I' AND 10 / s.v > 2 THEN UPDATE SET w = s.w, v = s.v"
            " WHEN MATCHED AND t.v < 3 THEN DELETE"
            " WHEN NOT MATCHED AND s.op <> 'D' AND 10 / s.v > 2 THEN INSERT *"
            " WHEN NOT MATCHED AND op IS NULL THEN INSERT (v, w, k) VALUES (s.v, s.w, s.k)"
        )
        counts = {"inserted": 0, "updated": 0, "deleted": 0}
        for k, (op, v, w) in source.items():
            old = model.get(k)
            if old is None and (op is None or (op != "D" and v < 5)):
                model[k], what = (v, w), "inserted"
            elif old is None:
                continue
            elif op != "D" and (old[0] == 7 or (op == "U" and v < 5)):
                model[k], what = (v, w), "updated"
            elif op == "D" or old[0] < 3:
                what = "deleted"
                del model[k]
            else:
                continue
            counts[what] += 1
        assert {what: getattr(done, f"rows_{what}") or 0 for what in counts} == counts
        expected = sorted((k, *rest) for k, rest in model.items())
        assert session.execute("SELECT * FROM t ORDER BY k").fetchall() == expected
    assert set(seen[1:]) == {"alone"}
    assert session.execute("CHECK TABLE t").fetchall() == []


@pytest.fixture
def table(session: Session) -> Session:
    session.execute(f"CREATE TABLE t (k int, v int) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)")
    return session


SOURCE = """(SELECT * FROM VALUES
  (1, 7, 'D', 1.5D, named_struct('op', 'D'), DATE '2020-01-01', 1.25),
  (2, 0, 'U', -0.0D, named_struct('op', 'U'), DATE '2020-01-02', 2.50),
  (9, 9, 'I', 0.0D, named_struct('op', 'I'), DATE '2020-01-03', NULL) s(k, v, op, f, r, d, `x.y`))
  AS s"""


def rows_of(session: Session) -> list[Row]:
    return session.execute("SELECT * FROM t ORDER BY k, v").fetchall()


def delete_first_and_insert_last(table: Session, condition: str) -> None:
    """A MERGE whose ``condition`` must hold for the first row of the source, and no other match."""
    table.execute(
        f"MERGE INTO t USING {SOURCE} ON t.k = s.k WHEN MATCHED AND {condition}\n"
        "THEN DELETE WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT VALUES (s.k, s.v)"
    )
    assert rows_of(table) == [(2, 20), (3, 30), (9, 9)]


@pytest.mark.parametrize(
    "condition",
    [
        "s.op = 'D'",
        "lower(S.`OP`) LIKE 'd%'",
        "s.op IS NOT NULL AND NOT (s.op = 'U')",
        "s.`x.y` * 2 = 2.5",
        "CASE WHEN s.op = 'U' THEN false ELSE 10 / s.v > 1 END",
        "s.k = 1 AND s.v > 0",
        "s.k IN (1, 3) -- a comment",
    ],
)
def test_conditions_that_columns_of_the_source_tell(
    table: Session, seen: list[str], condition: str
) -> None:
    delete_first_and_insert_last(table, condition)
    assert seen == ["alone"]


@pytest.mark.parametrize(
    "condition",
    [
        "rand() < 2 AND s.op = 'D'",
        "s.f > 0",
        "s.r.op = 'D'",
        # Spark compares times in two ways, which differ where clocks are put forward.
        "s.d < DATE '2020-01-02'",
        "s.op = 'D' AND current_date > DATE '2020-01-01'",
        "op = 'D'",
        "s.op = 'D' AND t.v = 10",
        "s.op = 'D' AND s.k IN (SELECT 1)",
        "t.v = 10 AND s.v = 7",
        "exists(array(s.op), x -> x = 'D')",
        "hash(s.op) = hash('D')",
    ],
)
def test_what_they_do_not_tell_is_left_to_spark(
    table: Session, seen: list[str], condition: str
) -> None:
    delete_first_and_insert_last(table, condition)
    assert "joined" in seen


@pytest.mark.parametrize(
    "condition",
    [
        "rand() < 2 AND s.op = 'I'",
        "s.f = 0",
        "r.op = 'I'",
        "s.op = 'I' AND to_json(struct(*)) LIKE '%op%'",
        "s.op = 'I' AND struct(* EXCEPT (k)).op = 'I'",
        "s.op = 'I' AND struct(s.*).op = 'I'",
    ],
)
def test_rows_to_insert_that_spark_chooses(table: Session, seen: list[str], condition: str) -> None:
    table.execute(
        f"MERGE INTO t USING {SOURCE} ON t.k = s.k"
        f" WHEN NOT MATCHED AND {condition} THEN INSERT VALUES (s.k, s.v)"
    )
    assert rows_of(table) == [(1, 10), (2, 20), (3, 30), (9, 9)]
    assert seen == ["alone", "write"]


@pytest.mark.parametrize("name", ["current_date", "current_timestamp", "current_user", "user"])
def test_a_column_hides_a_function_without_parentheses(session: Session, name: str) -> None:
    session.execute(f"CREATE TABLE t (k int, v int) {ACID}")
    session.execute("INSERT INTO t VALUES (1, 10)")
    source = f"(SELECT * FROM VALUES (1, 0, 'D', 'x'), (9, 9, 'I', 'x') s(k, v, op, {name})) AS s"
    session.execute(
        f"MERGE INTO t USING {source} ON t.k = s.k"
        f" WHEN MATCHED AND s.op = 'D' AND {name} = 'x' THEN DELETE"
        f" WHEN NOT MATCHED AND s.op = 'I' AND {name} = 'x' THEN INSERT VALUES (s.k, s.v)"
    )
    assert rows_of(session) == [(9, 9)]


@pytest.mark.parametrize("place", ["", "CLUSTERED BY (k) INTO 2 BUCKETS"])
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("(1, 11, 'U')", [(1, 11), (2, 20)]),
        ("(1, 11, 'D')", [(2, 20)]),
        ("(3, 11, 'D')", [(1, 10), (2, 20)]),
        ("(3, 11, 'I')", [(1, 10), (2, 20), (3, 11)]),
        ("(1, 11, 'U'), (3, 11, 'X')", [(1, 11), (2, 20), (11, 3)]),
    ],
)
def test_clauses_that_insert_no_row(
    session: Session, place: str, rows: str, expected: list[Row]
) -> None:
    session.execute(f"CREATE TABLE t (k int, v int) {place} {ACID}")
    session.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
    source = f"(SELECT * FROM VALUES {rows} s(k, v, op)) AS s"
    session.execute(
        f"MERGE INTO t USING {source} ON t.k = s.k WHEN MATCHED AND s.op = 'D' THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET v = s.v"
        " WHEN NOT MATCHED AND s.op = 'I' THEN INSERT VALUES (s.k, s.v)"
        " WHEN NOT MATCHED AND s.op = 'X' THEN INSERT VALUES (s.v, s.k)"
    )
    assert rows_of(session) == expected
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_all_rows_match(session: Session) -> None:
    session.execute(f"CREATE TABLE t (k int, v int) CLUSTERED BY (k) INTO 2 BUCKETS {ACID}")
    session.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
    session.execute(
        "MERGE INTO t USING (SELECT 1 AS k, 11 AS v) AS s ON t.k = s.k"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows_of(session) == [(1, 11), (2, 20)]


def test_a_text_is_no_condition(table: Session) -> None:
    with pytest.raises(AnalysisError, match=r"(?i)boolean"):
        table.execute(
            "MERGE INTO t USING (SELECT 9 AS k, 9 AS v, 'true' AS op) AS s ON t.k = s.k"
            " WHEN NOT MATCHED AND s.op THEN INSERT VALUES (s.k, s.v)"
        )


def test_a_function_of_the_session(spark: Any, tmp_path: Path, seen: list[str]) -> None:
    """It may give equal values other answers, so it is called for each row."""
    own = spark.newSession()
    own.conf.set("spark.sql.functionResolution.sessionOrder", "first")
    own.udf.register("lower", lambda text: text + "!", "string")
    source = "(SELECT * FROM VALUES (1, 'D'), (2, 'd') s(k, op)) AS s"
    with acidsql.connect(tmp_path / "w", spark=own) as other:
        other.execute(f"CREATE TABLE t (k int) {ACID}")
        other.execute(
            f"MERGE INTO t USING {source} ON t.k = s.k"
            " WHEN NOT MATCHED AND lower(s.op) = 'D!' THEN INSERT VALUES (s.k)"
        )
        assert other.execute("SELECT * FROM t").fetchall() == [(1,)]
    assert "write" in seen


def test_zeros_of_two_signs_are_told_apart(table: Session) -> None:
    source = "(SELECT * FROM VALUES (1, 0.0D), (2, -0.0D), (8, 0.0D), (9, -0.0D) s(k, f)) AS s"
    is_negative = "CAST(s.f AS string) = '-0.0'"
    table.execute(
        f"MERGE INTO t USING {source} ON t.k = s.k WHEN MATCHED AND {is_negative}"
        f" THEN DELETE WHEN NOT MATCHED AND {is_negative} THEN INSERT VALUES (s.k, s.k)"
    )
    assert rows_of(table) == [(1, 10), (3, 30), (9, 9)]


@pytest.mark.parametrize("key", [1, 5])
@pytest.mark.parametrize(
    "clause",
    [
        "MATCHED AND s.nope = 1 THEN DELETE",
        "NOT MATCHED AND nope = 1 THEN INSERT VALUES (s.k, s.v)",
        "NOT MATCHED AND s.k THEN INSERT VALUES (s.k, s.v)",
    ],
)
def test_a_mistake_is_one_whatever_rows_there_are(table: Session, key: int, clause: str) -> None:
    with pytest.raises(AnalysisError) as told:
        table.execute(
            f"MERGE INTO t USING (SELECT {key} AS k, 7 AS v) AS s ON t.k = s.k WHEN {clause}"
        )
    assert told.value.column is not None
    assert rows_of(table) == [(1, 10), (2, 20), (3, 30)]


def test_a_condition_that_fails_for_a_match_is_an_error(table: Session) -> None:
    with pytest.raises(InvalidValueError, match=r"(?i)zero"):
        table.execute(
            f"MERGE INTO t USING {SOURCE} ON t.k = s.k WHEN MATCHED AND 10 / s.v > 1 THEN DELETE"
        )
    assert rows_of(table) == [(1, 10), (2, 20), (3, 30)]


def test_many_different_values(session: Session, spark: Any, seen: list[str]) -> None:
    """More than one column, nulls, and more different rows than any column has values."""
    session.execute(f"CREATE TABLE t (k int, v int) {ACID}")
    session.execute("INSERT INTO t SELECT id, id FROM range(3000)")
    rows = [
        (k, None if k % 7 == 0 else f"{k % 50}", Decimal(k % 13), k % 11) for k in range(0, 6000, 2)
    ]
    session.register("s", spark.createDataFrame(rows, "k int, a string, b decimal(9,2), d int"))
    which = "(s.a IS NULL OR s.a > '3') AND s.b < 5 AND s.d % 2 = 1"
    session.execute(
        f"MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND {which} THEN DELETE"
        f" WHEN NOT MATCHED AND NOT ({which}) THEN INSERT VALUES (s.k, s.k)"
    )

    def is_one(k: int) -> bool:
        _, a, b, d = rows[k // 2]
        return (a is None or a > "3") and b < 5 and d % 2 == 1

    expected = [k for k in range(3000) if k % 2 or not is_one(k)]
    expected += [k for k in range(3000, 6000, 2) if not is_one(k)]
    assert [k for k, _ in rows_of(session)] == expected
    assert seen == ["alone"]
