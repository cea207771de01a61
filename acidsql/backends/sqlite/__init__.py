"""Catalog and transaction manager in one SQLite file."""

from acidsql.backends.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
