"""INSERT, UPDATE, DELETE, MERGE, compaction and transactions on Hive ACID tables, for Spark.

This module has the public names. Their dependencies are imported on first use, so that
``import acidsql`` stays cheap.
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
    ConstraintViolationError,
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
    SerializationError,
    SnapshotExpiredError,
    SqlError,
    SqlSyntaxError,
    StorageError,
    StoreNotWritableError,
    StreamingConnectionError,
    StreamingError,
    StreamingQueryError,
    StreamingStateError,
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
    "ConstraintViolationError",
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
    "SerializationError",
    "Session",
    "SnapshotExpiredError",
    "SqlError",
    "SqlSyntaxError",
    "StorageError",
    "StoreNotWritableError",
    "StreamingConnectionError",
    "StreamingError",
    "StreamingQueryError",
    "StreamingStateError",
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
"""Public names that are imported on first use, with their modules."""

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

    ``metastore`` is the URL of the store, by default a SQLite file inside the warehouse. ``spark``
    is a SparkSession; without it, a local Spark is started when a statement first needs one.
    ``user`` is recorded with transactions and tables, by default the user of this process.
    ``config`` takes properties of Hive and Spark. A warehouse without a store gets one; with
    ``must_exist`` it is a MissingFileError instead.

    Raises ConfigError for a bad setting and StorageError if the warehouse cannot be used.
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
    """The session of `execute`, closed at exit.

    Its warehouse is ``$ACIDSQL_WAREHOUSE`` or else ``./warehouse``. Its store is
    ``$ACIDSQL_METASTORE`` or else a SQLite file inside the warehouse.
    """
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
    """Run one statement in the default session.

    ``args`` gives the values of parameters: a dict for ``:name``, a list for ``?``.
    """
    return default_session().execute(sql, args)


def load_ipython_extension(ipython: Any) -> None:
    """Register the magics. ``%load_ext acidsql`` calls this."""
    from acidsql.magic import load

    load(ipython)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Package(ModuleType):
    """A module in which ``acidsql.connect`` stays the function.

    Importing the module of that name would otherwise put the module in its place.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "connect" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
