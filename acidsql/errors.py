"""The error tree: every error a caller may meet.

::

    AcidSqlError
    ├── SqlError                      the text of a statement is at fault; carries line and column
    │   ├── SqlSyntaxError            it does not parse
    │   ├── UnsupportedStatementError it parses, but is refused
    │   ├── AnalysisError             it names or combines things that do not exist or do not fit
    │   │   ├── TableNotFoundError, DatabaseNotFoundError, PartitionNotFoundError
    │   │   ├── TableExistsError, DatabaseExistsError, PartitionExistsError
    │   │   └── ColumnNotFoundError
    │   └── InvalidValueError         a value does not fit its column
    ├── ExecutionError                a job failed
    │   └── CardinalityError          MERGE: one target row matched by several source rows
    ├── StorageError                  a file or directory cannot be read or written
    │   ├── CorruptFileError
    │   ├── StoreNotWritableError
    │   ├── PathExistsError
    │   └── MissingFileError
    │       └── SnapshotExpiredError
    ├── TxnError                      the transaction manager refused
    │   ├── NoSuchTxnError, NoSuchLockError, TooManyOpenTxnsError, TxnAbortedError
    │   │   └── WriteConflictError, DeadlockError
    │   ├── LockTimeoutError
    │   └── CommitStateUnknownError
    ├── CompactionRefusedError
    ├── ConfigError                   a setting, URL or option is at fault
    ├── ForkError                     what a process has opened is used by a forked child of it
    ├── InternalError                 acidsql itself is at fault: a bug
    └── DependencyError               Java or an optional package is missing
"""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that would change what a terminal does or in which order it shows a text."""


class AcidSqlError(Exception):
    """The root: a fact, with an optional detail, a hint and where the fact was met.

    ``message`` is one line. ``detail`` and ``hint`` are sentences or None. ``code`` is Hive's error
    code where Hive has one. ``line`` and ``column`` count from 1 inside the statement or script.
    The attributes keep the texts as they are. ``str`` escapes their control characters: a name from
    a statement or a store must not command the terminal that shows the error.
    """

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        code: int | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.code = code
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = f"{self.line}:{self.column}: " if self.line is not None else ""
        code = f" [Hive error {self.code}]" if self.code is not None else ""
        message = self.message.replace("\n", "\\n")
        lines = [f"{place}{message}{code}"]
        if self.detail:
            lines.append(self.detail)
        if self.hint:
            lines.append(f"Hint: {self.hint}")
        return _CONTROL.sub(_escaped, "\n".join(lines))


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


class SqlError(AcidSqlError):
    """The text of a statement is at fault."""


class SqlSyntaxError(SqlError):
    """The text does not parse."""


class UnsupportedStatementError(SqlError):
    """The statement is understood well enough to be refused."""


class AnalysisError(SqlError):
    """The statement names or combines things that do not exist or do not fit together.

    ``parts`` are those of the name at fault where its place is looked for late.
    """

    parts: tuple[str, ...] = ()


class TableNotFoundError(AnalysisError):
    """No table, registered frame or temporary view has this name."""


class DatabaseNotFoundError(AnalysisError):
    """No database has this name."""


class PartitionNotFoundError(AnalysisError):
    """The table has no such partition."""


class TableExistsError(AnalysisError):
    """A table of this name is already there."""


class DatabaseExistsError(AnalysisError):
    """A database of this name is already there."""


class PartitionExistsError(AnalysisError):
    """The table has a partition of this name already."""


class ColumnNotFoundError(AnalysisError):
    """The table has no such column."""


class InvalidValueError(SqlError):
    """A value does not fit the type of its column."""


class ExecutionError(AcidSqlError):
    """A job failed; nothing of its statement is visible."""


class CardinalityError(ExecutionError):
    """MERGE: one row of the target is to be changed by several rows of the source."""


class StorageError(AcidSqlError):
    """A file or directory cannot be listed, read or written."""


class CorruptFileError(StorageError):
    """A file is there but is not what its name promises."""


class PathExistsError(StorageError):
    """A file or directory is there already whose name is to be that of another one."""


class StoreNotWritableError(StorageError):
    """The transaction store cannot be written to, by what may pass: a full disk, a quota, rights.

    Nothing was changed. Reads go on.
    """


class MissingFileError(StorageError):
    """A file or directory that must exist does not."""


class SnapshotExpiredError(MissingFileError):
    """A file that a snapshot reads was removed before it was read."""


class TxnError(AcidSqlError):
    """The transaction manager refused a request."""


class NoSuchTxnError(TxnError):
    """The transaction is unknown, or has already ended in a commit: then ``committed``."""

    committed = False


class TxnAbortedError(TxnError):
    """The transaction was aborted, by its owner, by a time-out or by a conflict."""


class NoSuchLockError(TxnError):
    """The lock request is unknown."""


class TooManyOpenTxnsError(TxnError):
    """The limit ``hive.max.open.txns`` is reached."""


class WriteConflictError(TxnAbortedError):
    """Another transaction committed a write to the same table or partition first.

    ``other_user`` and ``other_host`` are None when the store has forgotten or does not tell.
    """

    def __init__(
        self,
        message: str,
        *,
        table: str | None = None,
        partition: str | None = None,
        txn_id: int | None = None,
        other_txn_id: int | None = None,
        other_user: str | None = None,
        other_host: str | None = None,
        detail: str | None = None,
        hint: str | None = "Run the statement again.",
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.table = table
        self.partition = partition
        self.txn_id = txn_id
        self.other_txn_id = other_txn_id
        self.other_user = other_user
        self.other_host = other_host


class DeadlockError(TxnAbortedError):
    """The transaction waited in a circle with others and was the youngest of them."""


class LockTimeoutError(TxnError):
    """A lock was not granted in time; ``detail`` says who holds it."""


class CommitStateUnknownError(TxnError):
    """The answer to a commit was lost and the store could not be asked again."""


class CompactionRefusedError(AcidSqlError):
    """A compaction was not enqueued."""


class ConfigError(AcidSqlError):
    """A setting, a URL or an option is at fault."""


class ForkError(AcidSqlError):
    """What a process has opened (session, store, Spark) is used by a forked child of it."""


class InternalError(AcidSqlError):
    """acidsql itself is at fault; the cause says where, and the log has its trace."""


class DependencyError(AcidSqlError):
    """Something acidsql needs is not installed; the hint says what to install."""
