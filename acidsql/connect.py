"""The wiring: settings → session."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from acidsql.errors import ConfigError, DependencyError
from acidsql.filesystems import storage_for
from acidsql.session import Session
from acidsql.settings import Settings, duration_s
from acidsql.storage import Storage
from acidsql.store import Store
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy

_log = logging.getLogger(__name__)

STORE_FILE = ".acidsql.db"
"""The SQLite file inside a warehouse; hidden, so that no listing takes it for a table."""


def connect(
    warehouse: str,
    *,
    metastore: str | None = None,
    spark: Any = None,
    user: str | None = None,
    config: Mapping[str, str] | None = None,
    must_exist: bool = False,
) -> Session:
    """A session. ConfigError for a bad setting, StorageError if the warehouse cannot be used.

    With ``must_exist`` nothing is made, but MissingFileError raised, if there is no store yet.
    """
    # Imported here so that what needs no engine, like --help, does not wait for one.
    from acidsql.engines.spark.runner import SparkEngine  # noqa: PLC0415

    settings = Settings.of(warehouse, metastore=metastore, user=user, config=config)
    storage = storage_for(settings.warehouse, missing_is_empty=settings.missing_is_empty)
    store, policy = _store(settings, storage, settings.policy, must_exist=must_exist)
    if store.is_new:
        _log.info("made a new store for the warehouse %s", settings.warehouse)
    return Session(
        store=store,
        engine=SparkEngine(
            storage, spark, settings.spark, by_position=settings.positional_evolution
        ),
        storage=storage,
        policy=policy,
        heartbeats=Heartbeats(settings.heartbeat_threads),
        warehouse=settings.warehouse,
        user=settings.user,
        host=settings.host,
        is_new=store.is_new,
    )


def _store(
    settings: Settings, storage: Storage, policy: TxnPolicy, *, must_exist: bool
) -> tuple[Store, TxnPolicy]:
    """The store, and the policy that its other users have too."""
    if (settings.metastore or "").startswith("thrift:"):
        return _metastore(settings, policy)
    return _own_store(settings, storage, policy, must_exist=must_exist), policy


def _own_store(
    settings: Settings, storage: Storage, policy: TxnPolicy, *, must_exist: bool = False
) -> Store:
    url = settings.metastore
    if url is None:
        local = storage.local_path(settings.warehouse)
        if local is None:
            raise ConfigError(
                f"the warehouse {settings.warehouse} cannot hold the SQLite store",
                hint="Pass metastore='sqlite:////full/path' of a local file.",
            )
        if not must_exist:
            storage.make_directory(settings.warehouse)
        return _sqlite(f"{local}/{STORE_FILE}", settings, policy, must_exist=must_exist)
    scheme, _, rest = url.partition(":")
    if url == "memory:":
        if must_exist:
            raise ConfigError("a store in memory is always new", hint="Leave out must_exist.")
        from acidsql.backends.memory.store import MemoryStore  # noqa: PLC0415

        return MemoryStore(lambda: time.time_ns() // 1_000_000, policy, settings.warehouse)
    if scheme == "sqlite" and rest.startswith("///"):
        return _sqlite(unquote(rest[2:]), settings, policy, must_exist=must_exist)
    if scheme in ("postgresql", "postgres") and rest.startswith("//"):
        return _postgres(url, settings, policy, must_exist=must_exist)
    raise ConfigError(
        f'"{_without_credentials(url)}" is not a metastore URL',
        hint="Write memory:, sqlite:////full/path, postgresql://user@host/database or"
        " thrift://host:9083.",
    )


def _sqlite(path: str, settings: Settings, policy: TxnPolicy, *, must_exist: bool) -> Store:
    from acidsql.backends.sqlite.store import SqliteStore  # noqa: PLC0415

    warehouse = settings.warehouse
    return SqliteStore(path, warehouse=warehouse, policy=policy, must_exist=must_exist)


def _postgres(url: str, settings: Settings, policy: TxnPolicy, *, must_exist: bool) -> Store:
    try:
        from acidsql.backends.postgres.store import PostgresStore  # noqa: PLC0415
    except ImportError as error:
        raise DependencyError(
            "a PostgreSQL metastore needs psycopg, which cannot be imported",
            detail=f"{error}.",
            hint="pip install 'acidsql[postgres]'",
        ) from error
    warehouse = settings.warehouse
    return PostgresStore(url, warehouse=warehouse, policy=policy, must_exist=must_exist)


def _metastore(settings: Settings, policy: TxnPolicy) -> tuple[Store, TxnPolicy]:
    try:
        from acidsql.backends.metastore.store import MetastoreStore  # noqa: PLC0415
    except ImportError as error:
        raise DependencyError(
            "a Hive Metastore needs thriftpy2, which cannot be imported",
            detail=f"{error}.",
            hint="pip install 'acidsql[metastore]'",
        ) from error
    assert settings.metastore is not None
    store = MetastoreStore(settings.metastore, user=settings.user, policy=policy)
    # It is the metastore that times transactions out.
    key = "hive.txn.timeout"
    timeout_s = duration_s(key, store.setting(key) or f"{policy.timeout_s}s")
    return store, replace(policy, timeout_s=min(policy.timeout_s, timeout_s))


def _without_credentials(url: str) -> str:
    """A URL, in full only if nobody can have meant a part of it as a password."""
    before, at, after = url.rpartition("@")
    scheme, slashes, _ = before.rpartition("//")
    return f"{scheme}{slashes}…@{after}" if at else url
