"""The wiring: settings → session."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from acidsql.errors import ConfigError, DependencyError, UnsupportedStatementError
from acidsql.filesystems import storage_for
from acidsql.session import Session
from acidsql.settings import Settings
from acidsql.storage import Storage
from acidsql.store import Store
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy

STORE_FILE = ".acidsql.db"
"""The SQLite file inside a warehouse; hidden, so that no listing takes it for a table."""


def connect(
    warehouse: str,
    *,
    metastore: str | None = None,
    spark: Any = None,
    user: str | None = None,
    config: Mapping[str, str] | None = None,
) -> Session:
    """A session. ConfigError for a bad setting, StorageError if the warehouse cannot be used."""
    # Imported here so that what needs no engine, like --help, does not wait for one.
    from acidsql.engines.spark.runner import SparkEngine  # noqa: PLC0415

    settings = Settings.of(warehouse, metastore=metastore, user=user, config=config)
    storage = storage_for(settings.warehouse)
    policy = settings.policy
    return Session(
        store=_store(settings, storage, policy),
        engine=SparkEngine(
            storage, spark, settings.spark, by_position=settings.positional_evolution
        ),
        storage=storage,
        policy=policy,
        heartbeats=Heartbeats(settings.heartbeat_threads),
        warehouse=settings.warehouse,
        user=settings.user,
        host=settings.host,
    )


def _store(settings: Settings, storage: Storage, policy: TxnPolicy) -> Store:
    url = settings.metastore
    if url is None:
        local = storage.local_path(settings.warehouse)
        if local is None:
            raise ConfigError(
                f"the warehouse {settings.warehouse} cannot hold the SQLite store",
                hint="Pass metastore='sqlite:///PATH' with a local path.",
            )
        storage.make_directory(settings.warehouse)
        return _sqlite(f"{local}/{STORE_FILE}", settings, policy)
    scheme, _, rest = url.partition(":")
    if url == "memory:":
        from acidsql.backends.memory.store import MemoryStore  # noqa: PLC0415

        return MemoryStore(lambda: time.time_ns() // 1_000_000, policy, settings.warehouse)
    if scheme == "sqlite" and rest.startswith("///"):
        return _sqlite(unquote(rest[2:]), settings, policy)
    if scheme in ("postgresql", "postgres") and rest.startswith("//"):
        return _postgres(url, settings, policy)
    if scheme == "thrift":
        raise UnsupportedStatementError(
            "metastore URLs of thrift are not supported yet",
            hint="Use sqlite:///PATH on one machine, postgresql://user@host/database on several.",
        )
    raise ConfigError(
        f'"{_without_credentials(url)}" is not a metastore URL',
        hint="Write sqlite:///PATH, postgresql://user@host/database or memory:.",
    )


def _sqlite(path: str, settings: Settings, policy: TxnPolicy) -> Store:
    from acidsql.backends.sqlite.store import SqliteStore  # noqa: PLC0415

    return SqliteStore(path, warehouse=settings.warehouse, policy=policy)


def _postgres(url: str, settings: Settings, policy: TxnPolicy) -> Store:
    try:
        from acidsql.backends.postgres.store import PostgresStore  # noqa: PLC0415
    except ImportError as error:
        raise DependencyError(
            "a PostgreSQL metastore needs psycopg, which cannot be imported",
            detail=f"{error}.",
            hint="pip install 'acidsql[postgres]'",
        ) from error
    return PostgresStore(url, warehouse=settings.warehouse, policy=policy)


def _without_credentials(url: str) -> str:
    """A URL, in full only if nobody can have meant a part of it as a password."""
    before, at, after = url.rpartition("@")
    scheme, slashes, _ = before.rpartition("//")
    return f"{scheme}{slashes}…@{after}" if at else url
