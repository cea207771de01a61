"""Statistics of a table or partition: what ANALYZE TABLE found, and what makes it true."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Table
from acidsql.model.types import INTEGER_BITS, CharType, ColumnType, DecimalType, PrimitiveType

Value = int | bool | str | Decimal | datetime.date | datetime.datetime
Function = Literal["count", "min", "max"]

TEXT_MAX = 200
"""The characters of the longest text that is kept as a least or greatest value."""
_EXACT = frozenset({*INTEGER_BITS, "boolean", "string", "date", "timestamp"})
_EPOCH = datetime.datetime(1970, 1, 1)
_NOT_UTF8 = "\ufffd"
"""What Java puts in the place of bytes that are no character."""


class Basis(BaseModel):
    """What the rows of a place follow from. Two equal ones stand for the same rows.

    ``write_ids`` are the write ids that count, and ``definition`` is a digest of the table's
    definition and of its directories. A catalog forgets statistics when it changes either a
    table's definition or its partitions, so that a partition which is dropped and made again does
    not count as the same.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    write_ids: str
    definition: str

    @classmethod
    def of(
        cls,
        table: Table,
        directories: Iterable[tuple[str, str]],
        seen: ValidWriteIdList,
        *,
        by_position: bool,
    ) -> Basis:
        """That of a table whose directories (name and location) are read under these write ids.

        ``by_position`` says how columns of files are matched in a table that does not say so.
        """
        parts = [
            str(table.name),
            table.location,
            str(table.created_s),
            table.kind.value,
            table.format.value,
            table.field_delimiter,
            str(table.matches_by_position(by_position)),
            *(f"{column.name} {column.type}" for column in table.columns),
            "partitioned by",
            *(f"{column.name} {column.type}" for column in table.partition_columns),
            "in",
            *(text for pair in sorted(directories) for text in pair),
        ]
        return cls(write_ids=committed_text(seen), definition=_digest(parts))


def committed_text(seen: ValidWriteIdList) -> str:
    """A short text that is the same for lists with the same valid write ids, and for no others.

    Whether another write id is open or aborted makes no difference.

    >>> committed_text(ValidWriteIdList.parse("d.t:7:6:6,7:"))
    '5'
    >>> committed_text(ValidWriteIdList.parse("d.t:5::"))
    '5'
    >>> committed_text(ValidWriteIdList.parse("d.t:5:2:2:"))[:11]
    '5 without 1'
    """
    exceptions = sorted(w for w in seen.open | seen.aborted if w <= seen.high_watermark)
    mark = int(seen.high_watermark)
    while exceptions and exceptions[-1] == mark:
        exceptions.pop()
        mark -= 1
    if not exceptions:
        return str(mark)
    return f"{mark} without {len(exceptions)} {_digest(map(str, exceptions))}"


def _digest(parts: Iterable[str]) -> str:
    """Parts are told apart by their lengths, whatever characters they have."""
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class ColumnStatistics(BaseModel):
    """Of one column: how many rows have NULL, about how many values there are (None if
    Spark cannot tell), and the range.

    ``low`` and ``high`` are the texts of the least and the greatest value. Both are None if there
    is no value, or if a text would not be exact.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    nulls: int = Field(ge=0)
    distinct: int | None = None
    low: str | None = None
    high: str | None = None


class Statistics(BaseModel):
    """Of one place: the number of rows, the columns that were analysed, and when they are true."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int = Field(ge=0, lt=1 << 63)
    columns: Mapping[str, ColumnStatistics]
    basis: Basis

    @classmethod
    def of_text(cls, text: str) -> Statistics | None:
        """From `text`; None for what another release or somebody else has written."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return None

    @property
    def text(self) -> str:
        """JSON, for a store."""
        return self.model_dump_json()

    def answers(self, function: Function, column: str | None) -> bool:
        """Whether `answer` knows the value of ``function(column)``, for None of ``count(*)``."""
        if column is None:
            return True
        known = self.columns.get(column)
        if known is None:
            return False
        return function == "count" or known.low is not None or known.nulls == self.rows

    def answer(
        self, function: Function, column: str | None, kind: ColumnType | None
    ) -> Value | None:
        """The value of ``function(column)`` over all rows; ``kind`` is the type of the column.

        ValueError for what ANALYZE TABLE cannot have found: somebody else has written it.
        """
        if column is None:
            return self.rows
        known = self.columns[column]
        if known.nulls > self.rows:
            raise ValueError(known)
        if function == "count":
            return self.rows - known.nulls
        text = known.low if function == "min" else known.high
        if text is None and known.nulls < self.rows:
            raise ValueError(known)
        if text is None or kind is None:
            return None
        return value_of(text, kind)


def has_range(kind: ColumnType) -> bool:
    """Whether the least and greatest value of such a column may be kept.

    Not of floating-point numbers (NaN, -0.0), of char(n) (padding), of bytes, and of instants,
    which Spark shows in the time zone of its session.
    """
    match kind:
        case PrimitiveType(name):
            return name in _EXACT
        case CharType(name):
            return name == "varchar"
        case DecimalType():
            return True
        case _:
            return False


def exact_text(text: str | None, kind: ColumnType) -> str | None:
    """The text of Spark's for a value, if it tells the value exactly; else None."""
    if text is None:
        return None
    try:
        value = value_of(text, kind)
    except ValueError:
        return None  # a year of more than four digits, for example
    if isinstance(value, str) and (len(value) > TEXT_MAX or _NOT_UTF8 in value):
        return None
    # Before 1970 Hive's nanoseconds may be cut to microseconds in more than one way.
    if isinstance(value, datetime.datetime) and value < _EPOCH:
        return None
    return text


def value_of(text: str, kind: ColumnType) -> Value:
    """The value that Spark's cast to string has written so.

    ValueError if it cannot be told, or if the type does not have it.

    >>> value_of("2024-06-01 12:30:00.25", PrimitiveType("timestamp"))
    datetime.datetime(2024, 6, 1, 12, 30, 0, 250000)
    """
    match kind:
        case PrimitiveType("boolean"):
            if text not in ("true", "false"):
                raise ValueError(text)
            return text == "true"
        case PrimitiveType(name) if name in INTEGER_BITS:
            return _whole_number(text, INTEGER_BITS[name])
        case DecimalType():
            return _decimal(text, kind)
        case PrimitiveType("date"):
            return datetime.date.fromisoformat(text)
        case PrimitiveType("timestamp"):
            seconds, point, fraction = text.partition(".")
            return datetime.datetime.fromisoformat(
                f"{seconds}.{fraction.ljust(6, '0')}" if point else seconds
            )
        case _:
            return text


def _whole_number(text: str, bits: int) -> int:
    value, bound = int(text), 1 << (bits - 1)
    if not -bound <= value < bound:
        raise ValueError(text)
    return value


def _decimal(text: str, kind: DecimalType) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(text) from error
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -kind.scale:
        raise ValueError(text)
    if value and value.adjusted() >= kind.precision - kind.scale:
        raise ValueError(text)
    return value
