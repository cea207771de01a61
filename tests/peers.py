"""The same statements here and in other databases, which must change the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import psycopg

from acidsql import Session
from tests.postgres import Postgres

Rows = list[tuple[Any, ...]]


class Peers:
    """Tables that are alike in a session, in PostgreSQL and, if it is given, in DuckDB."""

    def __init__(
        self,
        session: Session,
        postgres: psycopg.Connection[Any],
        duck: duckdb.DuckDBPyConnection | None = None,
    ) -> None:
        self.session, self.postgres, self.duck = session, postgres, duck

    def make(self, name: str, columns: str, rows: Sequence[str]) -> None:
        """A table anew with these rows, each in the form of VALUES."""
        self.session.execute(f"DROP TABLE IF EXISTS {name}")
        self.session.execute(f"CREATE TABLE {name} ({columns.replace('text', 'string')})")
        others: list[Any] = [self.postgres, *([self.duck] if self.duck else [])]
        for other in others:
            other.execute(f"DROP TABLE IF EXISTS {name}")
            other.execute(f"CREATE TABLE {name} ({columns})")
        for database in [self.session, *others] if rows else []:
            database.execute(f"INSERT INTO {name} VALUES {', '.join(rows)}")

    def run(self, statement: str, table: str) -> int:
        """Run a statement everywhere; the rows of the table must be equal then, and the counts."""
        done = self.session.execute(statement)
        counts = (done.rows_inserted or 0, done.rows_updated or 0, done.rows_deleted or 0)
        asked = self.postgres.execute(statement.encode())
        assert sum(counts) == asked.rowcount, statement
        query = f"SELECT * FROM {table}"
        mine = _ordered(self.session.execute(query).fetchall())
        assert mine == _ordered(self.postgres.execute(query.encode()).fetchall()), statement
        if self.duck is not None:
            self.duck.execute(statement)
            assert mine == _ordered(self.duck.execute(query).fetchall()), statement
        return sum(counts)


@contextmanager
def peers(session: Session, postgres: Postgres, *, duck: bool) -> Iterator[Peers]:
    """Peers whose tables of PostgreSQL are gone at the end of the block."""
    with psycopg.connect(postgres.url) as connection:
        connection.execute("SET search_path = pg_temp")
        found = Peers(session, connection, duckdb.connect() if duck else None)
        yield found
        connection.rollback()
        if found.duck is not None:
            found.duck.close()


def _ordered(rows: Sequence[Sequence[Any]]) -> Rows:
    return sorted((tuple(row) for row in rows), key=repr)
