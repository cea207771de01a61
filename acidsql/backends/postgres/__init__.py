"""Catalog and transaction manager in a PostgreSQL database."""

from acidsql.backends.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
