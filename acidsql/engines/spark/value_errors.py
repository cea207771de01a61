"""The error for a value that cannot be right, or for what acidsql has Spark raise."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.engines.spark.causes import Cause, first_line
from acidsql.errors import (
    AcidSqlError,
    ConstraintViolationError,
    ExecutionError,
    InvalidValueError,
)

_CONDITIONS = (
    "ARITHMETIC_OVERFLOW",
    "BINARY_ARITHMETIC_OVERFLOW",
    "CANNOT_DECODE_URL",
    "CANNOT_PARSE_INTERVAL",
    "CANNOT_PARSE_TIME",
    "CANNOT_PARSE_TIMESTAMP",
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "CAST_OVERFLOW_IN_TABLE_INSERT",
    "COLLECTION_SIZE_LIMIT_EXCEEDED",
    "CONVERSION_INVALID_INPUT",
    "DATETIME_FIELD_OUT_OF_BOUNDS",
    "DATETIME_OVERFLOW",
    "DIVIDE_BY_ZERO",
    "DUPLICATED_MAP_KEY",
    "EXCEED_LIMIT_LENGTH",
    "ILLEGAL_DAY_OF_WEEK",
    "INTERVAL_ARITHMETIC_OVERFLOW",
    "INTERVAL_DIVIDED_BY_ZERO",
    "INVALID_ARRAY_INDEX",
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
    "INVALID_BITMAP_POSITION",
    "INVALID_DATETIME_PATTERN",
    "INVALID_FORMAT.MISMATCH_INPUT",
    "INVALID_FRACTION_OF_SECOND",
    "INVALID_INDEX_OF_ZERO",
    "INVALID_INTERVAL_FORMAT",
    "INVALID_PARAMETER_VALUE",
    "INVALID_REGEXP_REPLACE",
    "INVALID_TIMEZONE",
    "INVALID_URL",
    "INVALID_UTF8_STRING",
    "INVALID_VARIANT_CAST",
    "INVALID_VARIANT_GET_PATH",
    "MALFORMED_CHARACTER_CODING",
    "MALFORMED_RECORD_IN_PARSING",
    "MALFORMED_VARIANT",
    "NULL_MAP_KEY",
    "NUMERIC_OUT_OF_SUPPORTED_RANGE",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "REMAINDER_BY_ZERO",
    "SCALAR_SUBQUERY_TOO_MANY_ROWS",
    "USER_RAISED_EXCEPTION",
    "VARIANT_DUPLICATE_KEY",
)
_CLASSES = frozenset(
    {
        "IllegalFormatConversionException",
        "MissingFormatArgumentException",
        "PatternSyntaxException",
        "UnknownFormatConversionException",
    }
)
"""What Java throws over a pattern or a format that cannot be right, and Spark passes on."""
SOURCE_CHANGED = "the rows of the source changed while the statement read them"
NO_EVENT_COLUMN = "Spark finds no value of a file's event column"
_RAISED = {
    SOURCE_CHANGED: "Run the statement again.",
    NO_EVENT_COLUMN: "A frame needs the spark.sql.caseSensitive that it was made under. CHECK TABLE"
    " tells whether a file is damaged.",
}
"""What acidsql has Spark raise that is no fault of a value, with hints."""


def value_error(chain: Sequence[Cause]) -> AcidSqlError | None:
    """The error for a value that cannot be right, or that acidsql has Spark raise for a row."""
    value = next((c for c in chain if c.has(*_CONDITIONS) or c.name in _CLASSES), None)
    if value is None:
        return None
    fact = first_line(value.message)
    raised = fact.removeprefix("[USER_RAISED_EXCEPTION] ")
    if raised in _RAISED:
        return ExecutionError(raised, hint=_RAISED[raised])
    violation = ConstraintViolationError(raised)
    return InvalidValueError(fact) if violation.constraint is None else violation
