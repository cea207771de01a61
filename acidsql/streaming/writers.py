"""Record writers: the records of one write → rows of a table, and the records that do not fit."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from acidsql.errors import SerializationError, StreamingConnectionError
from acidsql.model.table import Column
from acidsql.orc.schema import arrow_type
from acidsql.streaming.columns import (
    Converted,
    array_fitted,
    python_converted,
    texts_converted,
    values_converted,
)
from acidsql.streaming.field_columns import split_fields
from acidsql.streaming.values import NULL_TEXT, JsonNumber, RepeatedNames, from_json, object_of

Rejected = tuple[int, str | None, str]
"""A record that does not fit: its number in the write, counted from 1, the column, the reason."""

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Encoded:
    """The rows of one write, in the types of files, and what became of the records that do not fit.

    ``nulled`` counts values that became NULL and ``dropped`` fields that were left out; both are 0
    unless the writer is lenient.
    """

    rows: pa.Table
    rejected: Sequence[Rejected] = ()
    nulled: int = 0
    dropped: int = 0

    def without(self, rows: Mapping[int, str], column: str) -> Encoded:
        """The same, with the rows at these positions rejected for what is in a column."""
        if not rows:
            return self
        gone = {number for number, _, _ in self.rejected}
        numbers = [
            n for n in range(1, self.rows.num_rows + len(gone) + 1) if n not in gone
        ]  # of the records that became rows
        kept = np.ones(self.rows.num_rows, np.bool_)
        kept[list(rows)] = False
        more = [(numbers[at], column, reason) for at, reason in rows.items()]
        rejected = sorted([*self.rejected, *more], key=lambda r: r[0])
        return replace(self, rows=self.rows.filter(pa.array(kept)), rejected=rejected)

    def require_all(self) -> None:
        """SerializationError if a record was rejected."""
        if not self.rejected:
            return
        number, column, reason = self.rejected[0]
        place = f', column "{column}"' if column is not None else ""
        more = [
            f"record {n}{f', column {c}' if c else ''}: {r}"
            for n, c, r in self.rejected[1 : 1 + _SHOWN]
        ]
        others, kept = len(self.rejected) - 1 - len(more), self.rows.num_rows
        records = f"{kept} other record{'s are' if kept != 1 else ' is'}"
        detail = "; ".join([*more, *([f"and {others} more"] if others else [])])
        raise SerializationError(
            f"record {number}{place}: {reason}",
            rejected=self.rejected,
            detail=f"Also {detail}." if detail else None,
            hint=f"{records[0].upper()}{records[1:]} in the transaction."
            " A lenient writer makes NULL of values that do not fit.",
        )


class RecordWriter(ABC):
    """Makes rows of records. A ``lenient`` one rejects no record for its values or fields."""

    def __init__(self, *, lenient: bool = False) -> None:
        self.lenient = lenient

    @abstractmethod
    def encode(self, records: Any, columns: Sequence[Column]) -> Encoded:
        """The rows of the records, with these columns: the dynamic partition columns come last.

        SerializationError if ``records`` is nothing that this writer takes.
        """


class ArrowRecordWriter(RecordWriter):
    """Takes Arrow tables and record batches, a dict, or a list of dicts. Columns go by name."""

    def encode(self, records: Any, columns: Sequence[Column]) -> Encoded:
        """As in RecordWriter."""
        if isinstance(records, pa.RecordBatch):
            return self._arrow(pa.Table.from_batches([records]), columns)
        if isinstance(records, pa.Table):
            return self._arrow(records, columns)
        rows = [records] if isinstance(records, Mapping) else records
        if isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
            return self._dicts(rows, columns)
        raise _not_taken(records, "an Arrow table, a record batch, a dict or a list of dicts")

    def _arrow(self, table: pa.Table, columns: Sequence[Column]) -> Encoded:
        names = [name.lower() for name in table.column_names]
        wanted = {c.name for c in columns}
        double = next((n for n in names if names.count(n) > 1), None)
        missing = next((c.name for c in columns if c.name not in names), None)
        extra = [n for n in names if n not in wanted]
        fault = None
        if double is not None:
            fault = f'there are two columns "{double}"'
        elif not self.lenient and missing is not None:
            fault = f'there is no column "{missing}"'
        elif not self.lenient and extra:
            fault = f'the table has no column "{extra[0]}"'
        if fault is not None:
            raise SerializationError(fault, hint="Nothing of this write is in the transaction.")
        found = {n: table.column(at).combine_chunks() for at, n in enumerate(names)}
        converted = [
            array_fitted(found[c.name], c) if c.name in found else _nulls(c, table.num_rows)
            for c in columns
        ]
        rows = _Rows(table.num_rows, self.lenient)
        rows.dropped = len(extra) * table.num_rows
        rows.nulled = sum(table.num_rows for c in columns if c.name not in found)
        return rows.encoded(converted, columns)

    def _dicts(self, records: Sequence[Any], columns: Sequence[Column]) -> Encoded:
        rows = _Rows(len(records), self.lenient)
        values = rows.members(records, columns)
        return rows.encoded(
            [python_converted(v, c) for v, c in zip(values, columns, strict=True)], columns
        )


class TextRecordWriter(RecordWriter):
    """Takes bytes or text with one or more records, each ended by the line delimiter."""

    def __init__(self, *, line_delimiter: str = "\n", lenient: bool = False) -> None:
        super().__init__(lenient=lenient)
        if not line_delimiter:
            raise StreamingConnectionError("the line delimiter must not be empty")
        self.line_delimiter = line_delimiter

    def encode(self, records: Any, columns: Sequence[Column]) -> Encoded:
        """As in RecordWriter."""
        if isinstance(records, bytearray | memoryview):
            records = bytes(records)
        if not isinstance(records, str | bytes):
            raise _not_taken(records, "bytes or a str")
        lines = self._lines(records)
        rows = _Rows(len(lines), self.lenient)
        return self._encode(lines, columns, rows)

    @abstractmethod
    def _encode(
        self, lines: Sequence[str | None], columns: Sequence[Column], rows: _Rows
    ) -> Encoded:
        """The rows of lines; None stands for one that is no UTF-8."""

    def _lines(self, records: str | bytes) -> list[str | None]:
        try:
            text = records if isinstance(records, str) else records.decode()
            lines: list[str | None] = list(text.split(self.line_delimiter))
        except UnicodeDecodeError:
            assert isinstance(records, bytes)
            lines = [_decoded(line) for line in records.split(self.line_delimiter.encode())]
        if lines[-1] == "":
            lines.pop()
        return lines


class StrictDelimitedInputWriter(TextRecordWriter):
    r"""Text with a delimiter between fields, which are the columns in their order; as Hive's.

    There are no quotes and no escapes. ``\N`` is NULL.
    """

    def __init__(
        self,
        field_delimiter: str = ",",
        line_delimiter: str = "\n",
        *,
        lenient: bool = False,
    ) -> None:
        super().__init__(line_delimiter=line_delimiter, lenient=lenient)
        if len(field_delimiter) != 1 or field_delimiter in line_delimiter:
            raise StreamingConnectionError(
                f"{field_delimiter!r} cannot be the field delimiter",
                hint="It is one character that is not in the line delimiter.",
            )
        self.field_delimiter = field_delimiter

    def encode(self, records: Any, columns: Sequence[Column]) -> Encoded:
        """As in RecordWriter."""
        data = _bytes_of(records) if self.line_delimiter == "\n" else None
        fields = None if data is None else split_fields(data, self.field_delimiter, len(columns))
        if fields is None:
            return super().encode(records, columns)
        rows = _Rows(len(fields[0]), self.lenient)
        converted = [texts_converted(f, c) for f, c in zip(fields, columns, strict=True)]
        return rows.encoded(converted, columns)

    def _encode(
        self, lines: Sequence[str | None], columns: Sequence[Column], rows: _Rows
    ) -> Encoded:
        split = [None if line is None else line.split(self.field_delimiter) for line in lines]
        for at, fields in enumerate(split):
            if fields is None:
                rows.fail(at, None, "it is no UTF-8 text")
            elif len(fields) != len(columns):
                rows.count_fields(at, len(fields), len(columns))
        return rows.of_fields(split, columns, NULL_TEXT)


class StrictRegexWriter(TextRecordWriter):
    """Text in which the groups of a regular expression are the columns in their order.

    The expression is one of Python's, and must match a whole line. A group that takes no part in
    the match is NULL.
    """

    def __init__(self, regex: str, line_delimiter: str = "\n", *, lenient: bool = False) -> None:
        super().__init__(line_delimiter=line_delimiter, lenient=lenient)
        try:
            self.regex = re.compile(regex, re.DOTALL)
        except re.error as error:
            raise StreamingConnectionError(f"{regex!r} is no regular expression: {error}") from None

    def _encode(
        self, lines: Sequence[str | None], columns: Sequence[Column], rows: _Rows
    ) -> Encoded:
        split: list[Sequence[str | None] | None] = []
        for at, line in enumerate(lines):
            match = None if line is None else self.regex.fullmatch(line)
            if match is None:
                rows.fail(at, None, "the regular expression does not match it")
                split.append(None)
                continue
            split.append(match.groups())
            if len(match.groups()) != len(columns):
                rows.count_fields(at, len(match.groups()), len(columns))
        return rows.of_fields(split, columns, None)


class StrictJsonWriter(TextRecordWriter):
    """Text in which each record is a JSON object. Members are the columns, by name in any case."""

    def _encode(
        self, lines: Sequence[str | None], columns: Sequence[Column], rows: _Rows
    ) -> Encoded:
        objects: list[Any] = []
        for at, line in enumerate(lines):
            try:
                parsed = None if line is None else JSON_DECODER.decode(line)
            except (ValueError, RecursionError) as error:
                rows.fail(at, None, f"it is no JSON: {str(error) or 'nested too deeply'}")
                parsed = {}
            objects.append(parsed)
        values = rows.members(objects, columns)
        return rows.encoded(
            [values_converted(v, c, from_json) for v, c in zip(values, columns, strict=True)],
            columns,
        )


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


JSON_DECODER = json.JSONDecoder(
    object_pairs_hook=object_of, parse_float=JsonNumber, parse_constant=_no_constant
)
"""Keeps numbers as they are written, marks repeated names, and takes no NaN or Infinity."""


@dataclass(slots=True)
class _Rows:
    """The records of one write on their way: which do not fit, and what was made NULL."""

    count: int
    lenient: bool
    nulled: int = 0
    dropped: int = 0
    faults: dict[int, tuple[str | None, str]] = field(default_factory=dict)

    def fail(self, at: int, column: str | None, reason: str) -> None:
        """Note the first fault of a record."""
        self.faults.setdefault(at, (column, reason))

    def count_fields(self, at: int, found: int, wanted: int) -> None:
        """Note a record with another number of fields."""
        if not self.lenient:
            self.fail(at, None, f"it has {found} fields, and the table has {wanted} columns")
        self.dropped += max(0, found - wanted)
        self.nulled += max(0, wanted - found)

    def of_fields(
        self,
        split: Sequence[Sequence[str | None] | None],
        columns: Sequence[Column],
        null: str | None,
    ) -> Encoded:
        """The rows of records that are fields in the order of the columns."""
        whole = [
            fields
            if fields is not None and len(fields) == len(columns)
            else _padded(fields, columns)
            for fields in split
        ]
        by_column: Sequence[Sequence[str | None]] = list(zip(*whole, strict=True)) or [()] * len(
            columns
        )
        converted = []
        for texts, column in zip(by_column, columns, strict=True):
            nulls = [None if text == null else text for text in texts] if null else list(texts)
            converted.append(texts_converted(nulls, column))
        return self.encoded(converted, columns)

    def members(self, records: Sequence[Any], columns: Sequence[Column]) -> list[list[Any]]:
        """The values of records that are mappings, column by column."""
        names = [c.name for c in columns]
        wanted = set(names)
        found: list[Mapping[str, Any]] = []
        for at, record in enumerate(records):
            members = record
            fault = None
            if not isinstance(record, Mapping):
                fault = "it is not an object of names and values"
            elif isinstance(record, RepeatedNames):
                fault = "one of its names comes twice"
            elif record.keys() != wanted:
                members = {str(k).lower(): v for k, v in record.items()}
                if len(members) < len(record):
                    fault = "two of its names differ only in case"
            if fault is not None:
                self.fail(at, None, fault)
                members = {}
            elif members is not record:
                self._compare(at, members, names, wanted)
            found.append(members)
        return [[record.get(name) for record in found] for name in names]

    def _compare(
        self, at: int, record: Mapping[str, Any], names: Sequence[str], wanted: set[str]
    ) -> None:
        extra = [k for k in record if k not in wanted]
        missing = [n for n in names if n not in record]
        if not self.lenient and missing:
            self.fail(at, missing[0], "it is missing")
        elif not self.lenient and extra:
            self.fail(at, None, f'the table has no column "{extra[0]}"')
        self.dropped += len(extra)
        self.nulled += len(missing)

    def encoded(self, converted: Sequence[Converted], columns: Sequence[Column]) -> Encoded:
        """The rows, without the records that do not fit."""
        for one, column in zip(converted, columns, strict=True):
            for at, reason in one.faults.items():
                if self.lenient:
                    self.nulled += 1
                else:
                    self.fail(at, column.name, reason)
        table = pa.Table.from_arrays([c.array for c in converted], names=[c.name for c in columns])
        rejected = [(at + 1, *self.faults[at]) for at in sorted(self.faults)]
        if not self.lenient and rejected:
            kept = np.ones(self.count, np.bool_)
            kept[list(self.faults)] = False
            return Encoded(table.filter(pa.array(kept)), rejected)
        if rejected:
            # What is no record at all becomes a row of NULLs, as Hive's serdes make of it.
            self.nulled += len(rejected) * len(columns)
        return Encoded(table, (), self.nulled, self.dropped)


def _padded(fields: Sequence[str | None] | None, columns: Sequence[Column]) -> list[str | None]:
    """The fields as many as columns; missing ones are NULL."""
    given = list(fields or ())[: len(columns)]
    return given + [None] * (len(columns) - len(given))


def _nulls(column: Column, count: int) -> Converted:
    return Converted(pa.nulls(count, arrow_type(column.type)), {})


def _bytes_of(records: Any) -> bytes | None:
    """The bytes of a text; None for what is no valid text, or no text at all."""
    try:
        if isinstance(records, str):
            return records.encode()
        return bytes(records) if isinstance(records, bytes | bytearray | memoryview) else None
    except UnicodeEncodeError:
        return None


def _decoded(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


def _not_taken(records: Any, takes: str) -> SerializationError:
    return SerializationError(
        f"this record writer takes no {type(records).__name__}",
        hint=f"Write {takes}, or connect with another record writer.",
    )
