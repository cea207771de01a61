"""What properties make of a table, and which of them do not go together.

``transactional`` and ``transactional_properties`` decide whether a table is full-ACID, insert-only
or plain (`model.table.kind_of`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.model.avro import avro_obstacle
from acidsql.model.names import TableName
from acidsql.model.stored_as import AVRO_SCHEMA, READ_BY, unread_property
from acidsql.model.table import HIVE4_NAMES, Column, FileFormat, Table, TableKind
from acidsql.model.types import CharType, DecimalType, PrimitiveType
from acidsql.orc.writer import CODECS

TRANSACTIONAL, TRANSACTIONAL_PROPERTIES = "transactional", "transactional_properties"


def normal_properties(properties: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The properties as Hive stores them: the keys about transactions in lower case."""
    special = (TRANSACTIONAL, TRANSACTIONAL_PROPERTIES)
    return {k.lower() if k.lower() in special else k: v for k, v in properties}


def refuse_bad_kind(table: Table, place: dict[str, Any]) -> None:
    """Raise for a new table whose properties, format and columns do not go together.

    AnalysisError, or UnsupportedStatementError for a column that text files cannot hold.
    """
    refuse_unknown_values(table.name, table.parameters, place)
    refuse_external_acid(table, place)
    refuse_properties(table.parameters, place)
    hint = "STORED AS ORC, or 'transactional_properties' = 'insert_only'."
    refuse_acid_format(table, place, hint)
    refuse_columns(table, place)


def refuse_columns(table: Table, place: dict[str, Any]) -> None:
    """UnsupportedStatementError for columns that files of the table's format cannot hold."""
    _refuse_text(table, place)
    _refuse_unread(table, place)
    _refuse_avro(table, place)


def refuse_unknown_values(
    name: TableName, parameters: Mapping[str, str], place: dict[str, Any]
) -> None:
    """Raise AnalysisError, in Hive's words, for a value that means no kind of table."""
    if parameters.get(TRANSACTIONAL, "true").lower() not in ("true", "false"):
        raise AnalysisError(
            f"'transactional' property of TBLPROPERTIES may only have value 'true': {name}",
            **place,
        )
    properties = parameters.get(TRANSACTIONAL_PROPERTIES, "default")
    if properties.lower() not in ("default", "insert_only"):
        raise AnalysisError(
            f"Invalid transactional properties specified for {name} with the error unknown"
            f" value {properties} for transactional_properties",
            **place,
        )


def refuse_external_acid(table: Table, place: dict[str, Any], hint: str | None = None) -> None:
    """Raise AnalysisError for an external table that is transactional."""
    if table.kind is not TableKind.PLAIN and table.external:
        raise AnalysisError(
            f"{table.name} cannot be declared transactional because it's an external table",
            hint=hint,
            **place,
        )


def refuse_acid_format(table: Table, place: dict[str, Any], hint: str) -> None:
    """Raise AnalysisError for a full-ACID table of another format than ORC."""
    if table.kind is TableKind.FULL_ACID and table.format is not FileFormat.ORC:
        raise AnalysisError(
            f"The table must be stored using an ACID compliant format (such as ORC): {table.name}",
            hint=hint,
            **place,
        )


def refuse_properties(parameters: Mapping[str, str], place: dict[str, Any]) -> None:
    """AnalysisError for values of properties about the writing of files that are not supported."""
    if parameters.get(HIVE4_NAMES, "true").lower() not in ("true", "false"):
        raise AnalysisError(f"'{HIVE4_NAMES}' may only be 'true' or 'false'", **place)
    codec = parameters.get("orc.compress", "snappy").lower()
    if codec not in CODECS:
        raise AnalysisError(
            f'the codec "{codec}" of orc.compress is not supported',
            hint=f"Use one of {', '.join(CODECS)}.",
            **place,
        )


def _refuse_text(table: Table, place: dict[str, Any]) -> None:
    """UnsupportedStatementError for what text files cannot hold, or are not read by."""
    other = [c for c in table.columns if not _fits_text(c)]
    if table.format is FileFormat.TEXT and other:
        raise UnsupportedStatementError(
            f'column "{other[0].name}": the type {other[0].type} is not supported in text files',
            hint="Store the table as ORC or PARQUET.",
            **place,
        )


def _refuse_unread(table: Table, place: dict[str, Any]) -> None:
    """UnsupportedStatementError for a property by which Hive would read other rows."""
    given = unread_property(table)
    if given is None:
        return
    delimited = " ROW FORMAT DELIMITED FIELDS TERMINATED BY says what ends a field."
    raise UnsupportedStatementError(
        f"'{given}' is not supported",
        detail=f"Hive would read the files by it. {READ_BY[table.format]}",
        hint="Leave it out." + (delimited if table.format is FileFormat.TEXT else ""),
        **place,
    )


def _refuse_avro(table: Table, place: dict[str, Any]) -> None:
    """UnsupportedStatementError for what files of Avro cannot hold, or do not say right."""
    if table.format is not FileFormat.AVRO:
        return
    for column in table.columns:
        obstacle = avro_obstacle(column)
        if obstacle is not None:
            raise UnsupportedStatementError(
                f'column "{column.name}" {obstacle}',
                hint="Store the table as ORC or PARQUET.",
                **place,
            )
    given = next((k for k in table.parameters if k.lower().startswith(AVRO_SCHEMA)), None)
    if given is not None:
        raise UnsupportedStatementError(
            f"'{given}' is not supported",
            detail="The schema of the files is that of the columns.",
            hint="Leave it out, and list the columns.",
            **place,
        )


def _fits_text(column: Column) -> bool:
    return isinstance(column.type, PrimitiveType | DecimalType | CharType)
