"""Spark's exceptions → our error tree."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from acidsql.engines.spark.gateway import require_own_spark
from acidsql.errors import (
    AcidSqlError,
    AnalysisError,
    ColumnNotFoundError,
    CorruptFileError,
    ExecutionError,
    InvalidValueError,
    MissingFileError,
    SnapshotExpiredError,
    SqlSyntaxError,
    StorageError,
)

_TASK_ERROR = re.compile(
    r"acidsql\.(?:\w+\.)*errors\.(\w+): (.*?)(?:\n\s*\n|\n\s*at |\Z)", re.DOTALL
)
_FILE = re.compile(r"(file:/[^\s,;'\"]+|[a-z0-9]+://[^\s,;'\"]+)")
_WORKER = "Python worker"
_PART = re.compile(r"`((?:[^`]|``)*)`")
_JAVA_CALL = re.compile(r"An error occurred while calling [\w.]+\.\s*:?\s*(?:[\w.$]+: )?")
_BYPASS = re.compile(r" If necessary set \S+ to \S+ to bypass this error\.")
"""It would be of no use: what is written is computed under ANSI rules whatever is set."""
_MISSING = ("FILE_NOT_EXIST", "FileNotFoundException", "does not exist")
_CORRUPT = (
    "CANNOT_READ_FILE",
    "FAILED_READ_FILE",
    "Malformed ORC file",
    "CANNOT_READ_FOOTER",
    "CANNOT_MERGE_SCHEMAS",
    "InvalidProtocolBufferException",
)
_VALUE = (
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "ARITHMETIC_OVERFLOW",
    "BINARY_ARITHMETIC_OVERFLOW",
    "DIVIDE_BY_ZERO",
    "EXCEED_LIMIT_LENGTH",
    "INVALID_ARRAY_INDEX",
    "USER_RAISED_EXCEPTION",
)
_TAKEN_BY_NAME = {
    c.__name__: c for c in (CorruptFileError, InvalidValueError, MissingFileError, StorageError)
}


@contextlib.contextmanager
def clear_errors() -> Iterator[None]:
    """Every exception of Spark, as ours: one line of fact, Spark's own words as the detail."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - only where Spark is used anyway
    from pyspark.errors import PySparkException  # noqa: PLC0415

    require_own_spark()
    try:
        yield
    except AcidSqlError:
        raise
    except (PySparkException, Py4JError) as error:
        if _is_interrupted(error):
            raise KeyboardInterrupt from error
        raise clear_error(error) from error


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C came first: PySpark then cancels all jobs, and its clean-up meets that."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def clear_error(error: Exception) -> AcidSqlError:
    """The error a caller should see for an exception of Spark."""
    text = str(error)
    condition = _condition(error)
    task = _TASK_ERROR.search(text)
    if task and task[1] in _TAKEN_BY_NAME:
        return _TAKEN_BY_NAME[task[1]](*_fact_and_detail(task[2]))
    if any(sign in text for sign in _MISSING):
        return SnapshotExpiredError(
            f"a file of the snapshot is gone: {_file(text)}",
            detail=first_line(text),
            hint="A read that has timed out is not protected from the cleaner, nor one of another"
            " warehouse's store. Run it again; if the error stays, the table has lost a file.",
        )
    if any(sign in text for sign in _CORRUPT):
        return CorruptFileError(f"cannot read {_file(text)}", detail=_cause(text))
    if any(sign in condition or f"[{sign}" in text for sign in _VALUE):
        return InvalidValueError(first_line(text))
    if condition.startswith("UNRESOLVED_COLUMN"):
        return _unknown_column(error)
    if condition == "UNBOUND_SQL_PARAMETER":
        return _unbound(error)
    kind = type(error).__name__
    if kind == "ParseException":
        return SqlSyntaxError(first_line(text), hint="Spark could not parse this part.")
    if kind == "AnalysisException":
        return AnalysisError(first_line(text))
    if _WORKER in text:
        return _worker_error(text)
    return ExecutionError(f"the Spark job failed: {first_line(text)}", detail=_cause(text))


def _worker_error(text: str) -> ExecutionError:
    """What a Python worker died of is the last line of its traceback."""
    traceback = text.partition(_WORKER)[2].split("\n\n")[0].split("\n\tat ")[0]
    last = [line for line in traceback.splitlines() if line.strip()][-1:]
    missing = re.search(r"No module named '(\w+)", traceback)
    return ExecutionError(
        "a Python worker of Spark failed",
        detail=last[0].strip() if last else None,
        hint=f"Spark's workers need a Python that has {missing[1]}: name it by PYSPARK_PYTHON."
        if missing
        else None,
    )


def _condition(error: Exception) -> str:
    get = getattr(error, "getCondition", None)
    try:
        return (get() or "") if get else ""
    except Exception:
        return ""


def _unknown_column(error: Exception) -> ColumnNotFoundError:
    """Its parts tell the session where to look for it; only the user's own columns are named."""
    parameters: dict[str, str] = getattr(error, "getMessageParameters", dict)() or {}
    parts = tuple(p.replace("``", "`") for p in _PART.findall(parameters.get("objectName", "")))
    names = parameters.get("proposal", "").split(", ")
    near = [n.replace("`", "") for n in names if n and "__acidsql_" not in n]
    unknown = ColumnNotFoundError(
        f'column "{".".join(parts)}" not found',
        hint=f"What comes nearest: {', '.join(near)}." if near else None,
        code=10002,
    )
    unknown.parts = parts
    return unknown


def _unbound(error: Exception) -> AnalysisError:
    parameters: dict[str, str] = getattr(error, "getMessageParameters", dict)() or {}
    name = parameters.get("name", "")
    mark = f":{name}" if not re.fullmatch(r"_\d+", name) else "?"
    return AnalysisError(
        f"no value for the parameter {mark}",
        hint="Pass args: a dict for :name, a list for ?.",
    )


def _fact_and_detail(text: str) -> tuple[str]:
    return (" ".join(text.split()),)


def first_line(text: str) -> str:
    """What a text of Spark's says first, without what only Java needs."""
    text = _JAVA_CALL.sub("", text, count=1)
    line = next((part for part in text.splitlines() if part.strip()), text).strip()
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", _BYPASS.sub("", line))


def _cause(text: str) -> str | None:
    causes = re.findall(r"Caused by: (.*)", text)
    return causes[-1].strip() if causes else None


def _file(text: str) -> str:
    found = _FILE.search(text)
    return found[1].rstrip(".:)") if found else "a file"
