"""The format of a table's files, by the classes and properties that Hive keeps with a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from acidsql.errors import UnsupportedStatementError
from acidsql.model.storage_classes import STORAGE_CLASSES
from acidsql.model.table import FIELD_DELIMITER, FileFormat, Table

_BY_SERDE = {classes.serde: kind for kind, classes in STORAGE_CLASSES.items()}
_BY_READER = {
    **{classes.reader: kind for kind, classes in STORAGE_CLASSES.items()},
    "parquet.hive.DeprecatedParquetInputFormat": FileFormat.PARQUET,
}
INDEX_ACCESS = "parquet.column.index.access"
"""If it is true, Hive finds columns of Parquet files by their position."""
AVRO_SCHEMA = "avro.schema."
"""How the properties begin that give a table of Avro files another schema than its columns."""
_CODE = re.compile(r"[+-]?\d+", re.ASCII)
READ_BY = {
    FileFormat.TEXT: "acidsql reads every line as a row, in Hive's default form.",
    FileFormat.PARQUET: "acidsql finds the columns of Parquet files by name.",
}
"""How files are read whose table has an `unread_property`."""

_TEXT_DEFAULTS = {
    "line.delim": "\n",
    "serialization.null.format": "\\N",
    "serialization.encoding": "UTF-8",
}
_TEXT_TABLE_DEFAULTS: dict[str, str | None] = {
    **_TEXT_DEFAULTS,
    "skip.header.line.count": "0",
    "skip.footer.line.count": "0",
    "serialization.escape.crlf": "false",
    "serialization.last.column.takes.rest": "false",
    "escape.delim": None,
    "timestamp.formats": None,
}
"""What Hive reads and writes text files by, where a table has it among its properties.

It takes them from there, too, not only from the SerDe's (LazySerDeParameters). None stands for
those that change something whatever their value is.
"""

_TEXT_IGNORED = (
    "field.delim",
    "serialization.format",
    # Delimiters inside of a field. They do not matter: we have no nested values in text files.
    "collection.delim",
    "colelction.delim",
    "mapkey.delim",
)


@dataclass(frozen=True, slots=True)
class StoredAs:
    """A format, and for text the delimiter between the fields of a line."""

    format: FileFormat
    field_delimiter: str = FIELD_DELIMITER


def stored_as(reader: str, serde: str, properties: Mapping[str, str], what: str) -> StoredAs:
    """The format of files by Hive's classes, and by the properties of the SerDe.

    UnsupportedStatementError for another format; ``what`` names the table or partition in it.
    """
    kind = _BY_READER.get(reader)
    if kind is None or _BY_SERDE.get(serde) is not kind:
        raise UnsupportedStatementError(
            f"the files of {what} are in a format that is not supported",
            detail=f"Hive reads them by {reader} with {serde}.",
            hint="ORC, Parquet, Avro and delimited text can be read.",
        )
    if kind is FileFormat.PARQUET and _is_by_index(properties):
        raise UnsupportedStatementError(
            f"Hive finds the columns of {what} by position, by the property '{INDEX_ACCESS}'",
            detail="acidsql finds those of Parquet by name.",
        )
    schema = next((key for key in properties if key.lower().startswith(AVRO_SCHEMA)), None)
    if kind is FileFormat.AVRO and schema is not None:
        raise UnsupportedStatementError(
            f"Hive reads the files of {what} by a schema of its own, by the property '{schema}'",
            detail="acidsql reads those of Avro by the columns.",
        )
    if kind is not FileFormat.TEXT:
        return StoredAs(kind)
    return StoredAs(kind, _text_delimiter(properties, what))


def _text_delimiter(properties: Mapping[str, str], what: str) -> str:
    for key, value in properties.items():
        if key not in _TEXT_IGNORED and _TEXT_DEFAULTS.get(key) != value:
            raise UnsupportedStatementError(
                f"the text files of {what} have the property '{key}' = {value!r}",
                detail="Only the delimiter of fields may differ from Hive's default.",
            )
    text = properties.get("field.delim") or properties.get("serialization.format") or "1"
    # Hive takes a number for the code of a character (LazyUtils.getByte).
    is_code = _CODE.fullmatch(text) is not None and -128 <= int(text) < 128
    delimiter = int(text) if is_code else ord(text[0])
    if not 0 <= delimiter < 128:
        raise UnsupportedStatementError(
            f"in the text files of {what}, between fields stands {text!r}",
            detail="Hive takes it for a single byte, which is no character of UTF-8.",
            hint="Only an ASCII character can delimit fields.",
        )
    return chr(delimiter)


def _is_by_index(properties: Mapping[str, str]) -> bool:
    return properties.get(INDEX_ACCESS, "false").lower() == "true"


def unread_property(table: Table) -> str | None:
    """A property of a table by which Hive reads its files otherwise than acidsql; or None.

    Those of ORC are read by acidsql, too, and those of Avro are looked at elsewhere.
    """
    if table.format is FileFormat.PARQUET and _is_by_index(table.parameters):
        return INDEX_ACCESS
    if table.format is not FileFormat.TEXT:
        return None
    delimiters = serde_properties(StoredAs(table.format, table.field_delimiter))
    own = dict.fromkeys(("field.delim", "serialization.format")) | delimiters
    known = {**_TEXT_TABLE_DEFAULTS, **own}
    found = (key for key, value in table.parameters.items() if key in known and known[key] != value)
    return next(found, None)


def serde_properties(stored: StoredAs) -> dict[str, str]:
    """The properties of a SerDeInfo, from which `stored_as` reads the delimiter."""
    if stored.format is not FileFormat.TEXT or stored.field_delimiter == FIELD_DELIMITER:
        return {"serialization.format": "1"}
    delimiter = stored.field_delimiter
    text = str(ord(delimiter)) if delimiter.isdigit() else delimiter
    return {"field.delim": text, "serialization.format": text}
