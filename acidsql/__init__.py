"""INSERT, UPDATE, DELETE, MERGE, compaction and transactions on Hive ACID tables, for Spark.

The public names. What they need is imported on first use, so ``import acidsql`` stays cheap.
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from acidsql.errors import (
    AcidSqlError,
    AnalysisError,
    CardinalityError,
    ColumnNotFoundError,
    CommitStateUnknownError,
    CompactionRefusedError,
    ConfigError,
    CorruptFileError,
    DatabaseExistsError,
    DatabaseNotFoundError,
    DeadlockError,
    DependencyError,
    ExecutionError,
    ForkError,
    InternalError,
    InvalidValueError,
    LockTimeoutError,
    MissingFileError,
    NoSuchLockError,
    NoSuchTxnError,
    PartitionExistsError,
    PartitionNotFoundError,
    PathExistsError,
    SnapshotExpiredError,
    SqlError,
    SqlSyntaxError,
    StorageError,
    StoreNotWritableError,
    TableExistsError,
    TableNotFoundError,
    TooManyOpenTxnsError,
    TxnAbortedError,
    TxnError,
    UnsupportedStatementError,
    WriteConflictError,
)

if TYPE_CHECKING:
    from acidsql.execution.result import Result
    from acidsql.model.progress import Progress
    from acidsql.session.session import Session

__version__ = "0.1.0"

__all__ = [
    "AcidSqlError",
    "AnalysisError",
    "CardinalityError",
    "ColumnNotFoundError",
    "CommitStateUnknownError",
    "CompactionRefusedError",
    "ConfigError",
    "CorruptFileError",
    "DatabaseExistsError",
    "DatabaseNotFoundError",
    "DeadlockError",
    "DependencyError",
    "ExecutionError",
    "ForkError",
    "InternalError",
    "InvalidValueError",
    "LockTimeoutError",
    "MissingFileError",
    "NoSuchLockError",
    "NoSuchTxnError",
    "PartitionExistsError",
    "PartitionNotFoundError",
    "PathExistsError",
    "Progress",
    "Result",
    "Session",
    "SnapshotExpiredError",
    "SqlError",
    "SqlSyntaxError",
    "StorageError",
    "StoreNotWritableError",
    "TableExistsError",
    "TableNotFoundError",
    "TooManyOpenTxnsError",
    "TxnAbortedError",
    "TxnError",
    "UnsupportedStatementError",
    "WriteConflictError",
    "__version__",
    "connect",
    "default_session",
    "execute",
    "load_ipython_extension",
]

_LATER = {
    "Progress": "acidsql.model.progress",
    "Result": "acidsql.execution.result",
    "Session": "acidsql.session.session",
}
"""Where the public names are that are imported on first use."""

_default: Session | None = None
_default_lock = threading.Lock()


def connect(
    warehouse: str | os.PathLike[str],
    *,
    metastore: str | None = None,
    spark: Any = None,
    user: str | None = None,
    config: Mapping[str, str] | None = None,
    must_exist: bool = False,
) -> Session:
    """A session on the tables below ``warehouse``, a path or URI.

    ``metastore`` is a URL, by default that of a SQLite file inside the warehouse. ``spark`` is a
    SparkSession; without one it is started when first needed. ``config`` takes Hive's properties.
    A warehouse without a store gets one, unless ``must_exist``: then it is a MissingFileError.
    """
    from acidsql.connect import connect

    path = os.fspath(warehouse) if isinstance(warehouse, os.PathLike) else warehouse
    return connect(
        path,
        metastore=metastore,
        spark=spark,
        user=user,
        config=config,
        must_exist=must_exist,
    )


def default_session() -> Session:
    """The session of `execute`: on ``$ACIDSQL_WAREHOUSE``, else ``./warehouse``; closed at exit."""
    global _default  # noqa: PLW0603 - one per process is what "default" means
    with _default_lock:
        if _default is None:
            _default = connect(
                os.environ.get("ACIDSQL_WAREHOUSE") or "./warehouse",
                metastore=os.environ.get("ACIDSQL_METASTORE") or None,
            )
            atexit.register(_default.close)
        return _default


def execute(sql: str, args: Mapping[str, Any] | Sequence[Any] | None = None) -> Result:
    """Run one statement in the default session. ``args`` binds ``:name`` (dict) or ``?`` (list)."""
    return default_session().execute(sql, args)


def load_ipython_extension(ipython: Any) -> None:
    """What ``%load_ext acidsql`` calls."""
    from acidsql.magic import load

    load(ipython)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Package(ModuleType):
    """Keeps ``acidsql.connect`` the function when the module of that name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "connect" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
