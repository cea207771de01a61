"""Rows that a caller hands over as objects of this process, read as Arrow record batches."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from acidsql.engines.python_values import python_array
from acidsql.errors import AnalysisError, ExecutionError
from acidsql.layout.arrow import Array, DataType
from acidsql.model.table import Column
from acidsql.ports.engine import RowSource
from acidsql.process.loaded import is_loaded_type

BATCH_ROWS = 65_536
"""How many rows a batch has at most: so many are checked, converted and written at a time."""

_HINT = (
    "Pass a frame of pandas or polars, an Arrow table, batch or reader, a list of dicts, or a dict"
    " of columns."
)
_PYTHON = (list, tuple)
_READ: weakref.WeakSet[pa.RecordBatchReader] = weakref.WeakSet()
"""The readers that were read: they are at their end, and look empty."""

Values = Array | list[Any]
"""A column: an Arrow array, chunked or not, or values of Python."""


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """Rows of an Arrow stream. ``open`` begins the stream: anew each time, unless ``is_stream``."""

    columns: tuple[str, ...]
    is_stream: bool
    open: Callable[[], pa.RecordBatchReader]

    def batches(self, columns: Mapping[str, Column]) -> Iterator[pa.RecordBatch]:
        try:
            with self.open() as reader:
                for batch in _read(reader):
                    for start in range(0, batch.num_rows, BATCH_ROWS):
                        yield batch.slice(start, BATCH_ROWS)
        except _Unreadable as error:
            raise ExecutionError(
                "the rows to insert cannot be read", detail=str(error.__cause__).splitlines()[0]
            ) from error.__cause__


class _Unreadable(Exception):  # noqa: N818 - never leaves this module
    """The caller's stream failed; the cause says how."""


def _read(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:
            raise _Unreadable from error
        yield batch


@dataclass(frozen=True, slots=True)
class ColumnRows:
    """Rows that are held column by column, by name; all columns have ``count`` values."""

    values: Mapping[str, Values]
    count: int
    is_stream: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.values)

    def batches(self, columns: Mapping[str, Column]) -> Iterator[pa.RecordBatch]:
        for start in range(0, self.count, BATCH_ROWS):
            end = min(start + BATCH_ROWS, self.count)
            arrays = [
                python_array(values[start:end], columns[name.lower()], start)
                if isinstance(values, list)
                else _one_array(values.slice(start, end - start))
                for name, values in self.values.items()
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(self.values))


def given_rows(data: Any) -> RowSource:
    """The rows of an object. AnalysisError for one without rows, or with columns that do not fit.

    pandas' index is no column, its NaN and NaT are NULL. A frame of Spark is refused.
    """
    if hasattr(data, "toArrow") and hasattr(data, "sparkSession"):
        raise AnalysisError(
            "cannot insert a DataFrame of Spark as rows of this process",
            hint="Register it, and run INSERT INTO … SELECT * FROM its name.",
        )
    if isinstance(data, Mapping):
        return _of_columns({name: _values(name, v) for name, v in data.items()})
    if isinstance(data, _PYTHON):
        return _of_dicts(data)
    if is_loaded_type(data, "pandas", "DataFrame"):
        return _of_pandas(data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if hasattr(data, "__arrow_c_stream__"):  # pyarrow's, and frames of other libraries
        return _of_stream(data)
    raise AnalysisError(f"cannot insert a value of type {type(data).__name__}", hint=_HINT)


def _of_stream(data: Any) -> ArrowRows:
    """The rows of an object with an Arrow stream; one that knows its length is read anew."""
    if isinstance(data, pa.RecordBatchReader):
        return _of_reader(data)
    if isinstance(data, pa.Table):
        return ArrowRows(_column_names(data.schema), False, data.to_reader)
    first = pa.RecordBatchReader.from_stream(data)
    ahead = [first]

    def again() -> pa.RecordBatchReader:
        # Some objects compute their rows for each stream.
        return ahead.pop() if ahead else pa.RecordBatchReader.from_stream(data)

    return ArrowRows(_column_names(first.schema), not hasattr(data, "__len__"), again)


def _of_reader(reader: pa.RecordBatchReader) -> ArrowRows:
    """The rows of a reader. AnalysisError for one that an earlier INSERT has read.

    It would look like one of no rows.
    """
    if reader in _READ:
        raise AnalysisError(
            "this reader was read by an earlier insert, so its rows are gone",
            hint="Make a new reader, or pass a table.",
        )

    def once() -> pa.RecordBatchReader:
        _READ.add(reader)
        return reader

    return ArrowRows(_column_names(reader.schema), True, once)


def _column_names(schema: pa.Schema) -> tuple[str, ...]:
    if not schema.names:
        raise _without_columns()
    return _names(schema.names)


def _without_columns() -> AnalysisError:
    return AnalysisError("the rows have no columns", hint=_HINT)


def _of_pandas(frame: Any) -> ColumnRows:
    _names(frame.columns)
    columns = {}
    for at, name in enumerate(frame.columns):
        series = frame.iloc[:, at]
        columns[name] = _series(name, series)
    return ColumnRows(columns, len(frame))


def _series(name: str, series: Any) -> Values:
    """A pandas column as an array, or, if its objects are of several types, as values."""
    try:
        array: Array = pa.array(series, from_pandas=True)
        if series.dtype != object or _is_safe(array.type):
            return array
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if series.dtype != object:
            raise _unreadable(name, error) from error
    return list(series.astype(object).where(series.notna(), None))


def _is_safe(kind: DataType) -> bool:
    """Whether pyarrow reads Python's values of a type as the table's columns do.

    It takes a map for a struct, cuts a datetime that comes after a date to its day, and the times
    of pandas to microseconds.
    """
    return not (pa.types.is_nested(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _of_dicts(rows: Sequence[Any]) -> ColumnRows:
    for at, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise AnalysisError(
                f"row {at} of the list is a value of type {type(row).__name__}, not a dict",
                hint='Write each row as {"column": value, …}.',
            )
    names = _names(list(dict.fromkeys(name for row in rows for name in row)))
    if len(rows) and not names:
        raise _without_columns()
    return ColumnRows({name: [row.get(name) for row in rows] for name in names}, len(rows))


def _of_columns(columns: Mapping[Any, Values]) -> ColumnRows:
    _names(list(columns))
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise AnalysisError("the columns have different numbers of values", detail=f"{shown}.")
    return ColumnRows(columns, next(iter(lengths.values()), 0))


def _values(name: str, values: Any) -> Values:
    if isinstance(values, _PYTHON):
        return list(values)
    if is_loaded_type(values, "pandas", "Series"):
        return _series(name, values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        if hasattr(values, "__arrow_c_stream__"):  # a column of another library
            return pa.chunked_array(values)
        if isinstance(values, np.ndarray) and values.dtype.kind == "O":
            return list(values)
        if hasattr(values, "__arrow_c_array__") or hasattr(values, "__array__"):
            return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _unreadable(name, error) from error
    raise AnalysisError(
        f'column "{name}" is a value of type {type(values).__name__}',
        hint="Pass a list of values, an array, or a column of a frame.",
    )


def _names(names: Sequence[Any]) -> tuple[str, ...]:
    """The names of columns. AnalysisError for one that is no text, or that comes twice."""
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise AnalysisError(
                f"a column is called {name!r}, which is a value of type {type(name).__name__}",
                hint="Give each column the name of a column of the table.",
            )
        if name.lower() in seen:
            raise AnalysisError(
                f'the rows have the column "{name}" twice',
                hint="Names that differ in case only are the same to SQL.",
            )
        seen.add(name.lower())
    return tuple(names)


def _unreadable(name: str, error: Exception) -> AnalysisError:
    return AnalysisError(
        f'the values of column "{name}" cannot be read',
        detail=str(error).splitlines()[0],
        hint="Convert the column first, for example to the type of the table's column.",
    )


def _one_array(column: Array) -> Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column
