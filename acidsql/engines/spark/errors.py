"""Spark's exceptions → our error tree."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acidsql.engines.spark.causes import NOTHING_BLAMED, OWN_VALUE, Cause, causes, first_line
from acidsql.engines.spark.gateway import java_errors, require_own_spark
from acidsql.engines.spark.value_errors import value_error
from acidsql.errors import (
    AcidSqlError,
    AnalysisError,
    ColumnNotFoundError,
    ConstraintViolationError,
    CorruptFileError,
    ExecutionError,
    InvalidValueError,
    MissingFileError,
    SnapshotExpiredError,
    SqlError,
    SqlSyntaxError,
    StorageError,
    UnsupportedStatementError,
)
from acidsql.grammar.place import number_of_piece
from acidsql.model.near import near_name

_TASK_ERROR = re.compile(
    r"^acidsql\.(?:\w+\.)*errors\.(\w+): (.*?)(?:\n\s*\n|\n\s*at |\n\s*SQLSTATE: |\Z)", re.M | re.S
)
_FILE = re.compile(r"(file:/[^\s,;'\"]+|[a-z0-9]+://[^\s,;'\"]+)")
_PART = re.compile(r"`((?:[^`]|``)*)`")
_OWN_CAST = re.compile(r"CAST\(\((.*)\n\) AS [^)]*(?:\([^)]*\))?[^)]*\)", re.DOTALL)
"""What `values.stored` writes."""
_SHOWN_OF_VALUE = 200
_MISSING = ("FAILED_READ_FILE.FILE_NOT_EXIST", "PATH_NOT_FOUND")
_MISSING_CLASSES = frozenset({"FileNotFoundException", "NoSuchFileException"})
_UNREADABLE = ("FAILED_READ_FILE", "CANNOT_READ_FILE_FOOTER")
_CORRUPT_CLASSES = frozenset(
    {
        "DataFormatException",
        "EOFException",
        "FileFormatException",
        "InvalidProtocolBufferException",
        "InvalidWireTypeException",
        "MalformedInputException",
        "ParquetDecodingException",
        "ZipException",
        "ZStdException",
    }
)
"""What readers throw over bytes that cannot be right. Others may be the reader's own errors."""
_INTERNAL = re.compile(r"\b(?:__acidsql_|_pyspark_|__path\b|__c\d)")
"""Names in Spark's messages that no user has written."""
_WHERE_PARAMETERS = {
    "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN": "sqlExpr",
    "INVALID_WHERE_CONDITION": "condition",
}
"""Error conditions → the parameter of the message that has the condition of WHERE."""
_IN_VALUES = "INVALID_INLINE_TABLE.FAILED_SQL_EXPRESSION_EVALUATION"
"""Spark computes VALUES while it analyses them, and does not tell why a value fails."""
_IN_GENERATOR = "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS"
_GENERATOR_ALONE = re.compile(r'"\(IF\(true, (\w+)\(.*\), NULL\)\)"')
"""What Spark says of a value that `value_rows` computes alone."""
_OVERFLOW = "StackOverflowError"
_TAKEN_BY_NAME = {
    c.__name__: c
    for c in (
        ConstraintViolationError, CorruptFileError, InvalidValueError, MissingFileError,
        StorageError,
    )
}  # fmt: skip

_VIRTUAL_COLUMNS = {
    "INPUT__FILE__NAME": "A table has it. The query of a view or a subquery must list it.",
    "ROW__ID": "Only tables have it. Beside another source, that of a table which is not full-ACID"
    " needs the table's name: t.row__id. UPDATE, DELETE and MERGE have only those of full-ACID"
    " tables.",
    "BLOCK__OFFSET__INSIDE__FILE": "Spark does not tell it; row__id tells rows apart.",
}
"""Columns that every table of Hive has, and hints for what to write instead."""

_IN_JOIN = (
    "The ON of a join or a MERGE cannot have such a subquery: make its value a column of one side,"
    " or put it into WHERE or the condition of a clause."
)
_HINTS = {
    "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY": _IN_JOIN,
    "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY."
    "UNSUPPORTED_CORRELATED_EXPRESSION_IN_JOIN_CONDITION": _IN_JOIN,
    "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.HIGHER_ORDER_FUNCTION": "A struct that a subquery"
    " yields for a column needs its fields in the order of the column's.",
}
"""What a user can do about some of Spark's error conditions."""


@contextlib.contextmanager
def clear_errors() -> Iterator[None]:
    """Raise every exception of Spark as an AcidSqlError: a fact in one line, Spark's words as
    detail.

    For a block that needs Spark: ForkError in a forked child whose parent has started it.
    """
    require_own_spark()
    with only_ours():
        yield


@contextlib.contextmanager
def only_ours() -> Iterator[None]:
    """`clear_errors` for a block that may need no Spark, so without its ForkError."""
    try:
        yield
    except AcidSqlError:
        raise
    except RecursionError as error:  # PySpark's, over a type
        raise UnsupportedStatementError("the types of the columns are nested too deeply") from error
    except Exception as error:
        if not _is_of_spark(error):
            raise
        if _is_interrupted(error):
            raise KeyboardInterrupt from error
        raise clear_error(error) from error


def _is_of_spark(error: Exception) -> bool:
    if "pyspark" not in sys.modules:  # which many statements never need
        return False
    from pyspark.errors import PySparkException  # noqa: PLC0415

    return isinstance(error, java_errors(PySparkException, ConnectionError))


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind it: PySpark cancels all jobs then, and its clean-up fails."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def clear_error(error: Exception) -> AcidSqlError:
    """The error a caller should see for an exception of Spark."""
    if is_gone(error):
        return ExecutionError(
            "Spark is gone: its Java process has ended, or cannot be reached",
            detail=first_line(str(error)) or None,
            hint="A session that started Spark itself starts a new one with its next statement;"
            " otherwise connect again with a new SparkSession.",
        )
    chain = causes(error)
    found = _of_chain(error, chain)
    if isinstance(found, SqlError):
        _tell_piece(found, error, chain)
    return found


def _tell_piece(found: SqlError, error: Exception, chain: Sequence[Cause]) -> None:
    """Give our error the piece of SQL that Spark blames."""
    blamed = next((cause.blamed for cause in chain if cause.blamed.piece), NOTHING_BLAMED)
    found.piece = found.piece or _piece_of_where(error, chain[0]) or _users_piece(blamed.piece)
    if found.piece == blamed.piece and blamed.text:
        found.piece_number = number_of_piece(blamed.text, blamed.piece, blamed.at)


def _piece_of_where(error: Exception, cause: Cause) -> str | None:
    """The WHERE that Spark blames by an expression only; None for any other error."""
    name = _WHERE_PARAMETERS.get(cause.condition)
    parameters = _parameters(error)
    blamed = parameters.get(name, "").strip('"') if name else ""
    if blamed.startswith("(") and blamed.endswith(")"):
        blamed = blamed[1:-1]
    return f"WHERE {blamed}" if blamed else None


def _parameters(error: Exception) -> Mapping[str, str]:
    """What Spark's message names, by Spark's names for it."""
    return getattr(error, "getMessageParameters", dict)() or {}


def _of_chain(error: Exception, chain: Sequence[Cause]) -> AcidSqlError:
    found = _of_worker(chain) or _of_file(chain) or value_error(chain)
    if found is not None:
        return found
    text, condition = str(error), chain[0].condition
    if condition == "FAILED_TO_PARSE_TOO_COMPLEX" or any(c.name == _OVERFLOW for c in chain):
        return UnsupportedStatementError(
            "the statement is nested too deeply for Spark",
            hint="Use common table expressions, or start Spark's Java with a larger stack: -Xss8m.",
        )
    if condition.startswith("UNRESOLVED_COLUMN"):
        return _unknown_column(error)
    if condition == "UNBOUND_SQL_PARAMETER":
        return _unbound(error)
    if condition == "UNRESOLVED_ROUTINE":
        return _unknown_function(error)
    if condition == _IN_VALUES:
        return _not_computed(error)
    if condition == _IN_GENERATOR and (alone := _GENERATOR_ALONE.search(text)):
        return _generator_alone(alone[1])
    kind = type(error).__name__
    if kind == "ParseException":
        return SqlSyntaxError(first_line(text), hint="Spark could not parse this part.")
    if kind == "AnalysisException":
        code = 10007 if condition == "AMBIGUOUS_REFERENCE" else None
        hint = _HINTS.get(condition) or _hint_of_clock(error)
        return AnalysisError(first_line(text), code=code, hint=hint)
    return ExecutionError(f"the Spark job failed: {first_line(text)}", detail=_root(chain))


def _hint_of_clock(error: Exception) -> str | None:
    """A hint for a timestamp that is cast to what Spark makes of instants only, like a number."""
    if _parameters(error).get("srcType") != '"TIMESTAMP_NTZ"':
        return None
    return "A timestamp has no zone. CAST(… AS timestamp_ltz) takes it for a time in the session's."


def _users_piece(piece: str) -> str:
    """The SQL that Spark blames, without the cast to a column's type that acidsql puts around."""
    cast = _OWN_CAST.fullmatch(piece)
    piece = cast[1] if cast else piece
    is_value = OWN_VALUE.match(piece, 1) is not None
    return OWN_VALUE.sub("", piece[1:-1].replace("``", "`")) if is_value else piece


def value_name(number: int, value: object) -> str:
    """A column's name for a value that is computed apart. Errors show the value in its place.

    A long value is cut.
    """
    return f"__acidsql_value{number} {' '.join(str(value).splitlines())[:_SHOWN_OF_VALUE]}"


def is_gone(error: BaseException) -> bool:
    """Whether the error says that Spark's Java process cannot be reached.

    The first call that fails for that raises py4j's general error. So a second call is made, to
    find out.
    """
    if isinstance(error, java_errors(ConnectionError, name="Py4JNetworkError")):
        return True
    if not isinstance(error, java_errors()) or isinstance(error, java_errors(name="Py4JJavaError")):
        return False
    from pyspark import SparkContext  # noqa: PLC0415 - loaded by then

    gateway: Any = SparkContext._gateway
    try:
        gateway.jvm.System.nanoTime()
    except java_errors(OSError):
        return True
    return False


def _of_worker(chain: Sequence[Cause]) -> AcidSqlError | None:
    """The error of a Python worker: our own if it raised one, else the end of its traceback.

    The last of our errors in the text counts: those before it are its causes.
    """
    for cause in chain:
        if cause.name != "PythonException":
            continue
        ours = [m for m in _TASK_ERROR.finditer(cause.message) if m[1] in _TAKEN_BY_NAME]
        if ours:
            return _TAKEN_BY_NAME[ours[-1][1]](" ".join(ours[-1][2].split()))
        return _worker_error(cause.message)
    return None


def _of_file(chain: Sequence[Cause]) -> AcidSqlError | None:
    """The error for a file that is missing or damaged, or that its reader cannot read."""
    missing = [c for c in chain if c.has(*_MISSING) or c.name in _MISSING_CLASSES]
    if missing:
        message = missing[0].message
        return snapshot_expired(f"a file of the snapshot is gone: {_file(message)}", message)
    file = next((_file(c.message) for c in chain if c.has(*_UNREADABLE)), None)
    if any(c.name in _CORRUPT_CLASSES for c in chain):
        text = "\n".join(c.message for c in chain)
        return CorruptFileError(f"cannot read {file or _file(text)}", detail=_root(chain))
    if file is not None:
        return ExecutionError(
            f"the Spark job failed while it read {file}",
            detail=_root(chain),
            hint="CHECK TABLE tells whether the file is damaged.",
        )
    return None


def snapshot_expired(fact: str, message: str) -> SnapshotExpiredError:
    """The error for files that are gone; ``message`` is what Spark says of them."""
    return SnapshotExpiredError(
        fact,
        detail=first_line(message),
        hint="The cleaner may remove files that a read needs once the read has timed out, or if"
        " it uses another warehouse's store. Run the query again; if the error stays, the table"
        " has lost a file.",
    )


def _worker_error(traceback: str) -> ExecutionError:
    lines = [line for line in traceback.partition("\n\tat ")[0].splitlines() if line.strip()]
    lines = [line for line in lines if not line.strip().startswith("SQLSTATE: ")]
    missing = re.search(r"^ModuleNotFoundError: No module named '(\w+)", traceback, re.M)
    return ExecutionError(
        "a Python worker of Spark failed",
        detail=lines[-1].strip() if lines else None,
        hint=f"Spark's workers need a Python that has {missing[1]}: name it by PYSPARK_PYTHON."
        if missing
        else None,
    )


def _unknown_column(error: Exception) -> ColumnNotFoundError:
    """The error for a column that Spark cannot find; of its proposals only the user's columns are
    named.

    By its ``parts`` the session finds the column's place in the text.
    """
    parameters = _parameters(error)
    parts = tuple(p.replace("``", "`") for p in _PART.findall(parameters.get("objectName", "")))
    names = parameters.get("proposal", "").split(", ")
    known = [n.replace("`", "") for n in names if n and not _INTERNAL.search(n)]
    near = near_name(parts[-1], [n.rpartition(".")[2] for n in known]) if parts else None
    hint = f"Some columns here are {', '.join(known)}." if known else None
    if parts and parts[-1].upper() in _VIRTUAL_COLUMNS:
        near, hint = None, _VIRTUAL_COLUMNS[parts[-1].upper()]
    unknown = ColumnNotFoundError(
        f'column "{".".join(parts)}" not found',
        hint=f'Did you mean "{near}"?' if near else hint,
        code=10002,
    )
    unknown.parts = parts
    return unknown


def _unknown_function(error: Exception) -> AnalysisError:
    """The error for a function that Spark does not have; a name of Spark's own may be proposed."""
    from pyspark.sql import functions  # noqa: PLC0415 - loaded by then

    parameters = _parameters(error)
    parts = [p.replace("``", "`") for p in _PART.findall(parameters.get("routineName", ""))]
    near = near_name(parts[-1], functions.__all__) if len(parts) == 1 else None
    return AnalysisError(
        f'function "{".".join(parts)}" not found',
        hint=f'Did you mean "{near}"?'
        if near
        else "Functions are those of Spark and those that are registered on its session.",
        code=10011,
    )


def _not_computed(error: Exception) -> InvalidValueError:
    """The error for a value of VALUES that Spark cannot compute. Spark does not say why."""
    shown = _parameters(error).get("sqlExpr", "").strip('"')
    return InvalidValueError(
        f"a value of VALUES cannot be computed: {shown}",
        hint="A text that is cast needs the form of the type. TRY_CAST gives NULL for any other.",
    )


def _generator_alone(function: str) -> AnalysisError:
    """The error for a value of VALUES that is a call of a function that makes rows."""
    alone = AnalysisError(
        "a function that makes rows needs a query of its own",
        detail="The expression is asked of each row alone.",
        hint="Write a subquery: (SELECT … FROM …).",
    )
    alone.piece = f"{function}("
    return alone


def _unbound(error: Exception) -> AnalysisError:
    name = _parameters(error).get("name", "")
    mark = f":{name}" if not re.fullmatch(r"_\d+", name) else "?"
    return AnalysisError(
        f"no value for the parameter {mark}",
        hint="Pass args: a dict for :name, a list for ?.",
    )


def _root(chain: Sequence[Cause]) -> str | None:
    """The innermost cause in one line; None if the exception has no cause."""
    root = chain[-1]
    return f"{root.name}: {first_line(root.message)}" if len(chain) > 1 else None


def _file(text: str) -> str:
    found = _FILE.search(text)
    return found[1].rstrip(".:)") if found else "a file"
