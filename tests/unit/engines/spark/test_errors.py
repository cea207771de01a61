from __future__ import annotations

from dataclasses import dataclass

import pytest

from acidsql.engines.spark.causes import Cause, causes
from acidsql.engines.spark.errors import clear_error, clear_errors
from acidsql.errors import (
    AcidSqlError,
    CorruptFileError,
    ExecutionError,
    InvalidValueError,
    SnapshotExpiredError,
    UnsupportedStatementError,
)

WORKER = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 1920, in read_udfs
    import pyarrow as pa
ModuleNotFoundError: No module named 'pyarrow'
 SQLSTATE: 38000
"""
FILE = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///w/t/bucket_00000."


@dataclass
class Thrown:
    """A Java exception as py4j hands it out."""

    name: str
    message: str | None
    cause: Thrown | None = None
    condition: str | None = None
    piece: str | None = None

    def getQueryContext(self) -> list[Thrown]:  # noqa: N802
        return [] if self.piece is None else [self]

    def contextType(self) -> str:  # noqa: N802
        return "SQL"

    def fragment(self) -> str | None:
        return self.piece

    def getClass(self) -> Thrown:  # noqa: N802 - Java's
        return self

    def getName(self) -> str:  # noqa: N802
        return self.name

    def getMessage(self) -> str | None:  # noqa: N802
        return self.message

    def getCause(self) -> Thrown | None:  # noqa: N802
        return self.cause

    def getCondition(self) -> str | None:  # noqa: N802
        if self.condition is None:
            raise AttributeError("only a SparkThrowable has one")
        return self.condition


def seen(thrown: Thrown) -> AcidSqlError:
    """What becomes of an exception of the JVM."""
    error = RuntimeError(f"An error occurred while calling o1.collect.\n: {thrown.message}")
    error.java_exception = thrown  # type: ignore[attr-defined]
    return clear_error(error)


def of_worker(message: str) -> AcidSqlError:
    return seen(Thrown("org.apache.spark.api.python.PythonException", message))


def reading(cause: Thrown) -> AcidSqlError:
    condition = "FAILED_READ_FILE.NO_HINT"
    return seen(Thrown("org.apache.spark.SparkException", FILE, cause, condition))


def test_a_worker_without_the_libraries_is_named() -> None:
    error = of_worker(WORKER)
    assert isinstance(error, ExecutionError)
    assert error.detail == "ModuleNotFoundError: No module named 'pyarrow'"
    assert "PYSPARK_PYTHON" in (error.hint or "")


def test_what_else_a_worker_dies_of_is_the_end_of_its_traceback() -> None:
    error = of_worker(WORKER.replace("ModuleNotFoundError: No m", "ValueError: m"))
    assert (error.detail, error.hint) == ("ValueError: module named 'pyarrow'", None)


def test_an_error_of_ours_in_a_worker_is_that_error() -> None:
    ours = "acidsql.errors.InvalidValueError: a value does not fit"
    error = of_worker(WORKER.replace("ModuleNotFoundError: No module named 'pyarrow'", ours))
    assert isinstance(error, InvalidValueError)
    assert error.message == "a value does not fit"


@pytest.mark.parametrize(
    "text",
    [
        "order does not exist",
        "[FAILED_READ_FILE] Malformed ORC file",
        "acidsql.errors.CorruptFileError: x",
        "x\nCaused by: java.io.FileNotFoundException: gone",
        "x\nacidsql.errors.SnapshotExpiredError: y",
        "An exception was thrown from the Python worker",
    ],
)
def test_words_in_a_value_decide_nothing(text: str) -> None:
    message = f"[CAST_INVALID_INPUT] The value '{text}' cannot be cast"
    cast = Thrown("SparkNumberFormatException", message, None, "CAST_INVALID_INPUT")
    assert type(seen(cast)) is InvalidValueError
    assert type(seen(Thrown("SparkException", "a job failed", cast, ""))) is InvalidValueError
    assert type(seen(Thrown("java.lang.IllegalStateException", text))) is ExecutionError


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("SparkDateTimeException", "INVALID_TIMEZONE"),
        ("SparkUpgradeException", "INVALID_DATETIME_PATTERN.LENGTH"),
        ("SparkRuntimeException", "DUPLICATED_MAP_KEY"),
        ("java.util.regex.PatternSyntaxException", None),
    ],
)
def test_an_argument_that_a_function_does_not_take_is_a_value(
    name: str, condition: str | None
) -> None:
    cause = Thrown(name, "Unclosed group", None, condition)
    error = seen(Thrown("SparkException", "Job aborted due to stage failure: Task 0", cause, ""))
    assert type(error) is InvalidValueError
    assert error.message == "Unclosed group"


def test_a_file_is_corrupt_only_by_what_says_so_of_its_bytes() -> None:
    error = reading(Thrown("org.apache.orc.FileFormatException", "Malformed ORC file f."))
    assert isinstance(error, CorruptFileError)
    assert "file:///w/t/bucket_00000" in error.message
    assert isinstance(reading(Thrown("java.io.EOFException", None)), CorruptFileError)
    for name in ("ClassCastException", "OutOfMemoryError", "NullPointerException"):
        other = reading(Thrown(f"java.lang.{name}", "StructColumnVector cannot be cast"))
        assert type(other) is ExecutionError
        assert "file:///w/t/bucket_00000" in other.message
        assert name in (other.detail or "")
        assert "CHECK TABLE" in (other.hint or "")


def test_a_file_is_gone_by_the_class_or_condition_of_what_was_thrown() -> None:
    assert isinstance(reading(Thrown("java.io.FileNotFoundException", "f")), SnapshotExpiredError)
    condition = "FAILED_READ_FILE.FILE_NOT_EXIST"
    gone = Thrown("org.apache.spark.SparkException", FILE, None, condition)
    assert isinstance(seen(gone), SnapshotExpiredError)


def test_a_chain_that_is_a_circle_ends() -> None:
    thrown = Thrown("a.B", "m")
    thrown.cause = thrown
    error = RuntimeError("x")
    error.java_exception = thrown  # type: ignore[attr-defined]
    assert set(causes(error)) == {Cause("B", "", "m")}


def test_without_a_gateway_the_printed_chain_is_read() -> None:
    text = "a job failed\nCaused by: org.apache.orc.FileFormatException: Malformed ORC file f"
    names = [cause.name for cause in causes(RuntimeError(text))]
    assert names == ["RuntimeError", "FileFormatException"]


def test_only_what_is_of_spark_is_translated() -> None:
    with pytest.raises(ZeroDivisionError), clear_errors():
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        ("id + a", "id + a"),
        ("CAST((v\n) AS int)", "v"),
        ("CAST((CAST(v AS int)\n) AS decimal(5,2))", "CAST(v AS int)"),
        ("CAST((v\n) AS struct<x:decimal(5,2),y:int>)", "v"),
        ("CAST((`__acidsql_value3 f(``a``, 1)`\n) AS int)", "f(`a`, 1)"),
        (None, ""),
    ],
)
def test_the_piece_at_fault_is_that_of_the_user(piece: str | None, shown: str) -> None:
    error = seen(Thrown("SparkNumberFormatException", "x", None, "CAST_INVALID_INPUT", piece))
    assert isinstance(error, InvalidValueError)
    assert error.piece == shown


def test_no_stack_of_java_is_deep_enough_for_everything() -> None:
    for name, condition in (
        ("StackOverflowError", None),
        ("ParseException", "FAILED_TO_PARSE_TOO_COMPLEX"),
    ):
        error = seen(Thrown(name, "x", None, condition))
        assert isinstance(error, UnsupportedStatementError)
        assert error.message == "the statement is nested too deeply for Spark"
