"""MERGE changes the rows that PostgreSQL's MERGE changes.

PostgreSQL refuses a target row that several source rows match and a clause would change. Nothing
here has such a row: sources have each key once, but for NULL and for keys that match nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acidsql
from tests.peers import Peers, peers
from tests.postgres import Postgres

SCENARIOS = [
    # NULL keys match nothing, and sources that match nothing may have duplicates.
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v"
    " WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v, 'new')",
    "MERGE INTO t USING s ON t.k IS NOT DISTINCT FROM s.k AND s.k IS NOT NULL"
    " WHEN NOT MATCHED THEN INSERT (v, k) VALUES (s.v, s.k + 100)",
    # Clauses in every order; a condition that is NULL lets the next clause try.
    "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED AND s.v > 5 THEN INSERT (k) VALUES (s.k)"
    " WHEN MATCHED AND t.v = NULL THEN DELETE WHEN NOT MATCHED BY SOURCE AND v IS NULL THEN DELETE"
    " WHEN MATCHED AND s.v < t.v THEN UPDATE SET v = t.v - s.v, s = t.s || '-'"
    " WHEN NOT MATCHED THEN INSERT VALUES (NULL, s.k, DEFAULT)"
    " WHEN MATCHED AND NULL THEN DELETE WHEN MATCHED AND t.k > 2 THEN DELETE"
    " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = coalesce(s, '') || '?'",
    "MERGE INTO t AS x USING s ON x.k = s.k AND x.v > 0 WHEN NOT MATCHED BY SOURCE AND x.k < 3 THEN"
    " UPDATE SET v = x.k, k = x.v WHEN MATCHED AND s.v IS NULL THEN UPDATE SET v = NULL",
    # The target as its own source.
    "MERGE INTO t USING t AS s ON t.k = s.k AND false WHEN NOT MATCHED AND s.k > 2 THEN"
    " INSERT VALUES (s.k + 50, s.v, 'copy')",
    "MERGE INTO t USING (SELECT k + 50 AS k, min(v) AS v FROM t GROUP BY k) AS s ON t.k = s.k"
    " WHEN MATCHED THEN UPDATE SET v = coalesce(t.v, 0) + coalesce(s.v, 0)"
    " WHEN NOT MATCHED BY SOURCE AND k > 50 THEN DELETE",
    # Subqueries, also over the target.
    "MERGE INTO t USING s ON t.k = s.k"
    " WHEN MATCHED AND EXISTS (SELECT * FROM u WHERE u.k = t.k) THEN UPDATE SET v = 77"
    " WHEN MATCHED AND t.v IN (SELECT max(v) FROM t AS i) THEN DELETE"
    " WHEN NOT MATCHED AND s.k IN (SELECT k FROM u) THEN INSERT (k, s) VALUES (s.k, 'in u')",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = (SELECT count(*) FROM u)"
    " WHEN NOT MATCHED AND s.k > 8 THEN INSERT VALUES (s.k, (SELECT max(k) FROM u), 'max')",
    # Sources and targets without rows.
    "MERGE INTO t USING (SELECT * FROM s WHERE false) AS s ON t.k = s.k WHEN MATCHED THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)"
    " WHEN NOT MATCHED BY SOURCE AND t.k = 1 THEN UPDATE SET s = 'alone'",
    "MERGE INTO e USING s ON e.k = s.k WHEN MATCHED THEN DELETE"
    " WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED AND s.v > 5 THEN"
    " INSERT VALUES (s.k, s.v)",
    "MERGE INTO e USING (VALUES (2, 'a'), (NULL, 'b'), (NULL, 'b')) AS w (k, n) ON w.k = e.k"
    " WHEN MATCHED AND w.n = 'b' THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (w.k, 9)"
    " WHEN MATCHED THEN UPDATE SET v = length(w.n)",
    # Joined by an inequality, or by nothing.
    "MERGE INTO e USING (SELECT max(k) AS m FROM u) AS q ON e.v > q.m WHEN MATCHED THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT VALUES (q.m, q.m)",
    "MERGE INTO e USING (VALUES (1)) AS w (n) ON true WHEN MATCHED THEN UPDATE SET v = e.v + w.n",
    "MERGE INTO e USING (VALUES (1), (1)) AS w (n) ON NULL WHEN MATCHED THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT (k) VALUES (w.n)",
    "WITH q AS (SELECT k, v FROM s WHERE k < 5) MERGE INTO e USING q ON e.k = q.k"
    " WHEN MATCHED AND e.v IN (SELECT v FROM q) THEN DELETE WHEN MATCHED THEN UPDATE SET k = 200"
    " WHEN NOT MATCHED BY SOURCE AND e.k = 1 THEN UPDATE SET v = (SELECT max(v) FROM q)",
]

TARGETS = [
    "(1, 10, 'a')", "(2, NULL, 'b')", "(3, 30, NULL)", "(3, 5, 'twice')", "(NULL, 1, 'n')",
    "(6, 60, 'f')",
]  # fmt: skip


@pytest.fixture(scope="module")
def databases(
    tmp_path_factory: pytest.TempPathFactory, spark: Any, postgres: Postgres
) -> Iterator[Peers]:
    with (
        acidsql.connect(tmp_path_factory.mktemp("merge") / "w", spark=spark) as session,
        peers(session, postgres, duck=False) as found,
    ):
        yield found


def test_scenarios(databases: Peers) -> None:
    """Every third scenario."""
    _run(databases, SCENARIOS[::3])


@pytest.mark.thorough
def test_all_scenarios(databases: Peers) -> None:
    _run(databases, SCENARIOS)


def _run(databases: Peers, scenarios: list[str]) -> None:
    sources = ["(1, 3)", "(3, NULL)", "(NULL, 7)", "(NULL, 7)", "(9, 8)", "(9, 8)", "(2, 20)"]
    databases.make("s", "k int, v int", sources)
    databases.make("u", "k int", ["(2)", "(3)", "(9)", "(NULL)"])
    databases.make("e", "k int, v int", [])
    for statement in scenarios:
        databases.make("t", "k int, v int, s text", TARGETS)
        target = "t" if "INTO t " in statement else "e"
        databases.run(statement, target)


clauses = st.lists(
    st.one_of(
        st.tuples(
            st.just("MATCHED"),
            st.sampled_from(["", "", "t.v > s.v", "NULL", "s.v IS NULL", "t.s < 'c' OR s.v = 3"]),
            st.sampled_from(
                ["DELETE", "UPDATE SET v = s.v", "UPDATE SET k = t.v, v = t.k, s = t.s || s.v"]
            ),
        ),
        st.tuples(
            st.just("NOT MATCHED BY SOURCE"),
            st.sampled_from(["", "", "t.v > 5", "t.v = NULL", "k IN (SELECT k FROM u)"]),
            st.sampled_from(["DELETE", "UPDATE SET v = NULL", "UPDATE SET v = k, s = DEFAULT"]),
        ),
        st.tuples(
            st.just("NOT MATCHED"),
            st.sampled_from(["", "", "s.v > 5", "NULL", "s.k IN (SELECT k FROM u)"]),
            st.sampled_from(["INSERT VALUES (s.k, s.v, 'i')", "INSERT (v) VALUES (s.k + 1)"]),
        ),
    ),
    min_size=1,
    max_size=5,
)
joins = st.sampled_from([
    "t.k = s.k", "t.k = s.k AND t.v > 5", "t.k = s.k AND s.v IS NOT NULL", "s.k = t.k AND s.k < 3",
    "t.k = s.k OR false", "t.k = s.k AND NULL", "false",
])  # fmt: skip
values = st.none() | st.integers(0, 9)
targets = st.lists(st.tuples(st.none() | st.integers(0, 4), values, st.sampled_from("abcd")))
sources = st.tuples(
    st.dictionaries(st.integers(0, 5), values),
    st.lists(st.tuples(st.sampled_from([None, 9]), values)),
).map(lambda made: [*made[0].items(), *made[1]])


@settings(max_examples=settings().max_examples // 12, suppress_health_check=[HealthCheck.too_slow])
@given(targets, sources, st.lists(st.tuples(joins, clauses), min_size=1, max_size=2))
def test_any_merge(
    databases: Peers,
    target: list[tuple[int | None, int | None, str]],
    source: list[tuple[int | None, int | None]],
    merges: list[tuple[str, list[tuple[str, str, str]]]],
) -> None:
    databases.make("s", "k int, v int", [_text(row) for row in source])
    databases.make("u", "k int", ["(2)", "(3)", "(9)", "(NULL)"])
    for on, parts in merges:
        databases.make("t", "k int, v int, s text", [_text(row) for row in target])
        databases.run(f"MERGE INTO t USING s ON {on} {_clauses(parts)}", "t")


def _text(row: tuple[object, ...]) -> str:
    return f"({', '.join('NULL' if value is None else repr(value) for value in row)})"


def _clauses(parts: list[tuple[str, str, str]]) -> str:
    """The clauses, those without a condition behind the others of their kind, one of each."""
    last = {kind: (kind, "", action) for kind, condition, action in parts if not condition}
    ordered = [*(part for part in parts if part[1]), *last.values()]
    return " ".join(
        f"WHEN {kind}{f' AND ({condition})' if condition else ''} THEN {action}"
        for kind, condition, action in ordered
    )
