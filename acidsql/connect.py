"""The wiring: settings become a store, an engine and a Session."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from acidsql.backends.storage.locations import storage_for
from acidsql.errors import AcidSqlError, AnalysisError, ConfigError, DependencyError
from acidsql.execution.places import refuse_outside
from acidsql.execution.scope import Bounds
from acidsql.model.credentials import hide, is_quotable, shown
from acidsql.model.progress import Relay
from acidsql.ports.storage import Storage, without_login
from acidsql.ports.store import Store
from acidsql.service.timetable import ServiceTimes
from acidsql.session.parameters import require_mapping, require_text
from acidsql.session.session import Session
from acidsql.settings import Settings, duration_s
from acidsql.txn.heartbeats import Heartbeats
from acidsql.txn.policy import TxnPolicy

_log = logging.getLogger(__name__)

_QUOTED = re.compile(r'".*"', re.DOTALL)
STORE_FILE = ".acidsql.db"
"""The SQLite file inside a warehouse. Its name is hidden: no listing takes it for a table."""


def connect(
    warehouse: str,
    *,
    metastore: str | None = None,
    spark: Any = None,
    user: str | None = None,
    config: Mapping[str, str] | None = None,
    must_exist: bool = False,
) -> Session:
    """A session on the tables of a warehouse.

    Raises ConfigError for a bad setting and StorageError if the warehouse cannot be used. With
    ``must_exist``, a warehouse without a store is a MissingFileError; nothing is made then.
    """
    # Imported here so that commands without an engine, like --help, do not wait for the import.
    from acidsql.engines.spark.runner import SparkEngine  # noqa: PLC0415

    _require_arguments(warehouse, metastore, spark, user, config)
    settings = Settings.of(warehouse, metastore=metastore, user=user, config=config)
    storage = storage_for(settings.warehouse, missing_is_empty=settings.missing_is_empty)
    bounds = _bounds(settings, storage)
    store, policy = _store(settings, storage, settings.policy, must_exist=must_exist)
    if store.is_new:
        _log.info("made a new store for the warehouse %s", without_login(settings.warehouse))
    progress = Relay()
    return Session(
        store=store,
        engine=SparkEngine(
            storage,
            spark,
            settings.spark,
            by_position=settings.positional_evolution,
            cluster_bytes=settings.cluster_bytes,
            progress=progress,
        ),
        storage=storage,
        policy=policy,
        heartbeats=Heartbeats(settings.heartbeat_threads),
        warehouse=settings.warehouse,
        user=settings.user,
        host=settings.host,
        is_new=store.is_new,
        progress=progress,
        settings=settings,
        bounds=bounds,
        thresholds=settings.thresholds,
        times=_times(settings),
        inline=settings.service == "inline",
    )


def _times(settings: Settings) -> ServiceTimes:
    return ServiceTimes(
        check_s=settings.check_interval_s,
        clean_s=settings.clean_interval_s,
        reap_start_s=settings.reaper_start_s,
        reap_s=settings.reaper_interval_s,
        work_limit_s=settings.worker_timeout_s,
        lease_s=settings.service_lease_s,
    )


def _require_arguments(
    warehouse: object, metastore: object, spark: object, user: object, config: object
) -> None:
    """ConfigError for an argument of a wrong type, with a NUL character, or an empty warehouse."""
    require_text(warehouse, "the warehouse")
    for value, what in ((metastore, "the metastore"), (user, "the user")):
        if value is not None:
            require_text(value, what)
    for text, what in (
        (warehouse, "the warehouse"),
        (metastore, "the metastore"),
        (user, "the user"),
    ):
        if isinstance(text, str) and "\0" in text:
            raise ConfigError(f"{what} must not contain a NUL character")
    if not warehouse:
        raise ConfigError("the warehouse must not be empty", hint='Write "." for this directory.')
    if config is not None:
        require_mapping(config, "config")


def _bounds(settings: Settings, storage: Storage) -> Bounds:
    """The bounds of what statements may reach. ConfigError for a warehouse outside of them."""
    bounds = Bounds(_store_files(settings, storage), _roots(settings.allowed_roots, storage))
    try:
        refuse_outside(settings.warehouse, storage, bounds)
    except AnalysisError as error:
        raise ConfigError(error.message, detail=error.detail, hint=error.hint) from None
    return bounds


def _roots(roots: tuple[str, ...], storage: Storage) -> tuple[str, ...]:
    """The allowed roots, for a storage that may be another file system than this machine's.

    There a path without a scheme would be one of the warehouse's file system. A root that is such a
    path lies on this machine, so it becomes a ``file:`` URI.
    """
    if storage.local is storage:
        return roots
    return tuple(Path(root).as_uri() if root.startswith("/") else root for root in roots)


def _store_files(settings: Settings, storage: Storage) -> tuple[str, ...]:
    """The files of a SQLite store: the database, and the files that SQLite makes beside it."""
    url = settings.metastore
    file = None
    if url is None:
        local = storage.local_path(settings.warehouse)
        file = None if local is None else f"{local}/{STORE_FILE}"
    elif url.startswith("sqlite:///"):
        file = unquote(url.removeprefix("sqlite://"))
    return () if file is None else tuple(file + end for end in ("", "-wal", "-shm", "-journal"))


def _store(
    settings: Settings, storage: Storage, policy: TxnPolicy, *, must_exist: bool
) -> tuple[Store, TxnPolicy]:
    """The store, and the policy that all clients of the store share.

    No error of the opening, and no cause of such an error, shows a secret of the URL.
    """
    url = settings.metastore or ""
    try:
        return _opened(settings, storage, policy, must_exist=must_exist)
    except AcidSqlError as error:
        if is_quotable(url):
            raise
        failed = _without_secrets(error, url)
    # The error is raised outside of the block. Inside, the first error would become its context.
    raise failed


def _without_secrets(error: AcidSqlError, url: str) -> AcidSqlError:
    def cleaned(text: str) -> str:
        # The quoted part of a URL that does not parse may be a piece of a password.
        unread = isinstance(error, ConfigError)
        return hide(_QUOTED.sub('"…"', text) if unread else text, url)

    error.message = cleaned(error.message)
    error.args = (error.message,)
    error.detail = error.detail and cleaned(error.detail)
    error.hint = error.hint and cleaned(error.hint)
    error.__cause__ = error.__context__ = None
    return error


def _opened(
    settings: Settings, storage: Storage, policy: TxnPolicy, *, must_exist: bool
) -> tuple[Store, TxnPolicy]:
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
                f"the warehouse {without_login(settings.warehouse)} cannot hold the SQLite store",
                detail="The SQLite store is a file in the local file system.",
                hint="Pass metastore='sqlite:////full/path' with the path of a local file.",
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
        f"{shown(url)} is not a metastore URL",
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
    # The metastore times transactions out, so its time-out counts if it is the shorter one.
    key = "hive.txn.timeout"
    timeout_s = duration_s(key, store.setting(key) or f"{policy.timeout_s}s")
    return store, replace(policy, timeout_s=min(policy.timeout_s, timeout_s))
