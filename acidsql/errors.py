"""The error tree: every error that a caller may meet.

::

    AcidSqlError
    ├── SqlError                      the text of a statement is at fault; has line and column
    │   ├── SqlSyntaxError            the text does not parse
    │   ├── UnsupportedStatementError the statement is recognised, but refused
    │   ├── AnalysisError             names or combines things that do not exist or do not fit
    │   │   ├── TableNotFoundError, DatabaseNotFoundError, PartitionNotFoundError
    │   │   ├── TableExistsError, DatabaseExistsError, PartitionExistsError
    │   │   └── ColumnNotFoundError
    │   └── InvalidValueError         a value does not fit its column
    ├── ExecutionError                a job failed
    │   ├── CardinalityError          one target row of a join matched by several source rows
    │   └── ConstraintViolationError  a row violates NOT NULL or CHECK
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
    │   ├── StreamingQueryError
    │   └── CommitStateUnknownError
    ├── StreamingError                a stream of rows into a table cannot be made, or go on
    │   ├── StreamingConnectionError  the table, or an option of the connection, does not allow it
    │   ├── StreamingStateError       a call that the state of the connection does not allow
    │   └── SerializationError        records do not fit the table; the others are written
    ├── CompactionRefusedError
    ├── ConfigError                   a setting, URL or option is at fault
    ├── ForkError                     a forked child uses a session or store of its parent
    ├── InternalError                 acidsql itself is at fault: a bug
    └── DependencyError               Java or an optional package is missing
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that would change what a terminal does or in which order it shows a text."""
_CONSTRAINT = re.compile(r'.*\(constraint "(.*)"\)$', re.S)


class AcidSqlError(Exception):
    """The root of all errors: a fact, with an optional detail, hint and place.

    ``message`` is the fact, in one line. ``detail`` and ``hint`` are sentences or None. ``code`` is
    Hive's error code, or None where Hive has none. ``sqlstate`` has five characters; the class
    decides, see docs/errors.md. ``line`` and ``column`` are the place at fault in the statement or
    script, counted from 1, or None. ``excerpt`` is the line at that place with a caret below, or
    None. It is not part of ``str``: logs should get no more of a statement than the fact says.

    The attributes keep the texts as they are. ``str`` escapes control characters: a name from a
    statement or a store must not command the terminal that shows the error.
    """

    sqlstate = "HY000"
    excerpt: str | None = None

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
    """The text of a statement is at fault.

    ``piece`` is the part of the text at fault, if the error has no line and column yet: the session
    then looks for it in the text. "" if it is not known. ``piece_number`` tells which of several
    equal pieces it is, counted from 0, and how many there are; None if that is not known.
    """

    sqlstate = "42000"
    piece = ""
    piece_number: tuple[int, int] | None = None


class SqlSyntaxError(SqlError):
    """The text does not parse."""

    sqlstate = "42601"


class UnsupportedStatementError(SqlError):
    """The statement is recognised, but acidsql does not support it."""

    sqlstate = "0A000"


class AnalysisError(SqlError):
    """The statement names or combines things that do not exist or do not fit together.

    ``parts`` are the parts of the name at fault, if the error has no line and column yet: the
    session then looks for that name in the text.
    """

    sqlstate = "42000"

    parts: tuple[str, ...] = ()


class TableNotFoundError(AnalysisError):
    """No table, view, registered frame or temporary view has this name."""

    sqlstate = "42P01"


class DatabaseNotFoundError(AnalysisError):
    """No database has this name."""

    sqlstate = "42704"


class PartitionNotFoundError(AnalysisError):
    """The table has no such partition."""

    sqlstate = "428FT"


class TableExistsError(AnalysisError):
    """A table or view of this name is already there."""

    sqlstate = "42P07"


class DatabaseExistsError(AnalysisError):
    """A database of this name is already there."""

    sqlstate = "42P06"


class PartitionExistsError(AnalysisError):
    """A partition of this name is already there."""

    sqlstate = "428FT"


class ColumnNotFoundError(AnalysisError):
    """The table has no such column."""

    sqlstate = "42703"


class InvalidValueError(SqlError):
    """A value does not fit the type of its column."""

    sqlstate = "22000"


class ExecutionError(AcidSqlError):
    """A job failed. Nothing of its statement is visible."""

    sqlstate = "58000"


class CardinalityError(ExecutionError):
    """MERGE, UPDATE … FROM: several source rows would change the same row of the target."""

    sqlstate = "21000"


class ConstraintViolationError(ExecutionError):
    """A row that a statement would write violates NOT NULL or CHECK. Nothing was written."""

    sqlstate = "23000"

    @property
    def constraint(self) -> str | None:
        """The name of the constraint."""
        found = _CONSTRAINT.match(self.message)
        return None if found is None else found[1]


class StorageError(AcidSqlError):
    """A file or directory cannot be listed, read or written."""

    sqlstate = "58030"


class CorruptFileError(StorageError):
    """A file is there, but its content is damaged or not of the kind that its name promises."""

    sqlstate = "XX001"


class PathExistsError(StorageError):
    """A file or directory was to get a name that another one already has."""

    sqlstate = "58P02"


class StoreNotWritableError(StorageError):
    """The transaction store cannot be written to, for a reason that may pass.

    Such reasons are a full disk, a quota, or missing rights. Nothing was changed. Reads go on.
    """

    sqlstate = "53000"


class MissingFileError(StorageError):
    """A file or directory that must exist does not."""

    sqlstate = "58P01"


class SnapshotExpiredError(MissingFileError):
    """What a snapshot reads is not there any more: a file, or the table as it was."""

    sqlstate = "72000"


class TxnError(AcidSqlError):
    """The transaction manager refused a request."""

    sqlstate = "25000"


class NoSuchTxnError(TxnError):
    """The transaction is unknown, or it has already been committed: then ``committed`` is True."""

    sqlstate = "25000"

    committed = False


class TxnAbortedError(TxnError):
    """The transaction was aborted: by its owner, by a time-out or by a conflict."""

    sqlstate = "40000"


class NoSuchLockError(TxnError):
    """The lock request is unknown."""

    sqlstate = "55000"


class TooManyOpenTxnsError(TxnError):
    """The limit ``hive.max.open.txns`` is reached."""

    sqlstate = "53400"


class WriteConflictError(TxnAbortedError):
    """Another transaction committed a write to the same table or partition first.

    ``other_user`` and ``other_host`` tell who ran the other transaction. They are None if the store
    has forgotten the other transaction or does not tell.
    """

    sqlstate = "40001"

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
    """The transaction was the youngest in a circle of transactions that waited for each other."""

    sqlstate = "40P01"


class LockTimeoutError(TxnError):
    """A lock was not granted in time; ``detail`` says which transaction holds it."""

    sqlstate = "55P03"


class StreamingQueryError(TxnError):
    """The mark of a streaming query is gone, or another stream uses the query's name."""

    sqlstate = "55000"


class CommitStateUnknownError(TxnError):
    """The store's answer to a commit was lost, and the store could not be asked again.

    The transaction may be committed or not.
    """

    sqlstate = "40003"


class StreamingError(AcidSqlError):
    """A stream of rows into a table cannot be made, or cannot go on."""

    sqlstate = "55000"


class StreamingConnectionError(StreamingError):
    """The table, or an option of the connection, does not allow streaming."""

    sqlstate = "0A000"


class StreamingStateError(StreamingError):
    """The state of a streaming connection does not allow the call: it is closed, for example."""

    sqlstate = "55000"


class SerializationError(StreamingError):
    """Records of a write do not fit the table. All other records of the write are written.

    ``rejected`` has, for each record that does not fit, its number in the write, counted from 1,
    the name of the column, or None, and the reason.
    """

    sqlstate = "22000"

    def __init__(
        self,
        message: str,
        *,
        rejected: Sequence[tuple[int, str | None, str]] = (),
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.rejected = tuple(rejected)


class CompactionRefusedError(AcidSqlError):
    """A compaction was not enqueued."""

    sqlstate = "55000"


class ConfigError(AcidSqlError):
    """A setting, a URL or an option is at fault."""

    sqlstate = "22023"


class ForkError(AcidSqlError):
    """A forked child used a session, a store or a Spark that its parent process opened."""

    sqlstate = "55000"


class InternalError(AcidSqlError):
    """A bug of acidsql. The error's cause says where, and the log has the trace."""

    sqlstate = "XX000"


class DependencyError(AcidSqlError):
    """Java or a package that acidsql needs is not installed; the hint says what to install."""

    sqlstate = "58000"
