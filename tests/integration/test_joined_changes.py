"""UPDATE … FROM and DELETE … USING that are no MERGE do what PostgreSQL and DuckDB do."""

from __future__ import annotations

from typing import Any

import pytest

import acidsql
from acidsql import Session
from tests.peers import Peers, peers
from tests.postgres import Postgres

UPDATES = [
    # Sources between commas, and joins of all kinds. Each row of the target has one match.
    "UPDATE t SET v = a.x + b.y FROM a, b WHERE t.k = a.k AND a.g = b.g",
    "UPDATE t AS o SET v = a.x, s = c.w FROM a JOIN b ON a.g = b.g, c"
    " WHERE o.k = a.k AND c.g = b.g",
    "UPDATE t SET v = coalesce(b.y, -1) FROM a LEFT JOIN b ON a.g = b.g WHERE t.k = a.k",
    "UPDATE t SET v = coalesce(a.x, 0) + b.y FROM a RIGHT JOIN b ON a.g = b.g AND a.x > 20"
    " WHERE t.k = b.g",
    "UPDATE t SET s = 'full' FROM a FULL JOIN (SELECT k, v AS w FROM t AS u WHERE k < 3) q"
    " ON a.k = q.k WHERE t.k = a.k AND (q.w IS NULL OR q.w = t.v)",
    "UPDATE t SET v = a.x FROM a"
    " CROSS JOIN LATERAL (SELECT max(y) AS m FROM b WHERE b.g = a.g) AS l"
    " WHERE t.k = a.k AND l.m > 100",
    "UPDATE t SET v = q.n FROM a JOIN (SELECT g, count(*) AS n FROM a GROUP BY g) AS q USING (g)"
    " WHERE t.k = a.k",
    # A comma binds less than a join: the RIGHT JOIN keeps rows of c whatever is in a.
    "UPDATE t SET s = c.w FROM a, b RIGHT JOIN c ON b.g = c.g"
    " WHERE t.k = a.k AND a.g = c.g AND b.y IS NULL",
    # The target beside itself, conditions that are NULL, subqueries, and no row at all.
    "UPDATE t SET v = u.v, s = a.k || u.s FROM t AS u JOIN a ON u.k = a.x / 10 WHERE t.k = a.k",
    "UPDATE t SET v = 0 FROM a, b WHERE t.v = a.x AND t.k = NULL",
    "UPDATE t SET v = (SELECT max(y) FROM b AS i WHERE i.g = a.g) FROM a JOIN b USING (g)"
    " WHERE t.k = a.k AND EXISTS (SELECT * FROM c WHERE c.g = g)",
    "WITH q AS (SELECT k, x FROM a) UPDATE t SET v = q.x FROM q JOIN a ON q.k = a.k"
    " WHERE t.k = q.k",
    # One source, and subqueries over the columns of both sides.
    "UPDATE t SET s = a.k || 'both' FROM a"
    " WHERE EXISTS (SELECT 1 FROM b AS i WHERE i.g = a.g AND a.k = t.k)",
    "UPDATE t SET v = a.x + 1 FROM a WHERE t.k = (SELECT max(c.g) FROM c WHERE c.g <= a.g)",
    "UPDATE t SET s = v.s FROM (VALUES (1, 'one'), (NULL, 'none')) AS v (k, s), a"
    " WHERE t.k = v.k AND a.k = v.k",
]
DELETES = [
    "DELETE FROM t USING a, b WHERE t.k = a.k AND a.g = b.g AND b.y = 100",
    # A row that several pairs match is deleted once.
    "DELETE FROM t AS o USING t AS u CROSS JOIN b WHERE o.k <> u.k AND o.k = 4",
    "DELETE FROM t USING a LEFT JOIN c ON a.g = c.g WHERE t.k = a.k AND c.w IS NULL",
    "DELETE FROM t USING a WHERE t.k = a.k AND a.x > (SELECT min(c.g) FROM c WHERE c.g = t.k)",
    "DELETE FROM t USING a, b WHERE false",
]


@pytest.fixture
def databases(session: Session, postgres: Postgres) -> Any:
    with peers(session, postgres, duck=True) as found:
        yield found


def _make(databases: Peers) -> None:
    values = ["(1, 10, 'a')", "(2, 20, NULL)", "(3, NULL, 'c')", "(NULL, 5, 'd')", "(4, 40, 'e')"]
    databases.make("t", "k int, v bigint, s text", values)
    databases.make("a", "k int, g int, x int", ["(1, 1, 10)", "(2, 2, 20)", "(3, 3, 30)"])
    databases.make("b", "g int, y int", ["(1, 100)", "(2, 200)", "(NULL, 300)"])
    databases.make("c", "g int, w text", ["(1, 'p')", "(3, 'q')", "(2, NULL)"])


def test_changes(databases: Peers) -> None:
    """Every fourth UPDATE, and every other DELETE."""
    _change(databases, UPDATES[::4], DELETES[1::2])


@pytest.mark.thorough
def test_all_changes(databases: Peers) -> None:
    _change(databases, UPDATES, DELETES)


def _change(databases: Peers, updates: list[str], deletes: list[str]) -> None:
    _make(databases)
    changed = [databases.run(statement, "t") for statement in updates]
    assert sum(count > 0 for count in changed) >= len(updates) - 1
    deleted = [databases.run(statement, "t") for statement in deletes]
    assert all(deleted[:-1])


def test_several_matches(session: Session) -> None:
    """PostgreSQL takes any of the matches. Here it is an error that names the statement."""
    session.execute("CREATE TABLE t (k int, v int)")
    session.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
    session.execute("CREATE TABLE a (k int)")
    session.execute("INSERT INTO a VALUES (1), (1), (2)")
    for source in ("a", "a CROSS JOIN (SELECT 1 AS one) AS o"):
        with pytest.raises(acidsql.CardinalityError, match="Violation in Update") as caught:
            session.execute(f"UPDATE t SET v = 0 FROM {source} WHERE t.k = a.k")
        assert "Number of such rows: 1" in str(caught.value)
    assert session.execute("SELECT sum(v) FROM t").fetchall() == [(30,)]
    update = "UPDATE t SET v = 5 FROM a JOIN (VALUES (2)) AS w (k) ON a.k = w.k WHERE t.k = a.k"
    assert session.execute(update).rows_updated == 1
    assert session.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, 10), (2, 5)]
