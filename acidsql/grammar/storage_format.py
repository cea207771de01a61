"""How a table's files are stored: STORED AS, ROW FORMAT DELIMITED, and Hive's Java classes."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.grammar.cursor import Cursor
from acidsql.grammar.properties import properties
from acidsql.model.storage_classes import STORAGE_CLASSES
from acidsql.model.table import FIELD_DELIMITER, FileFormat

_FORMATS = "Write STORED AS ORC, PARQUET, AVRO or TEXTFILE."
_LEAVE_OUT = "Leave it out: a table is an ACID table of ORC files, unless a clause says otherwise."
_TEXT_PROPERTIES = {"line.delim": "\n", "serialization.null.format": "\\N"}
"""What LazySimpleSerDe may be told beside the delimiter: that text is as it is here."""


@dataclass(frozen=True, slots=True)
class Serde:
    """``ROW FORMAT SERDE class [WITH SERDEPROPERTIES (…)]``: the format that the class stands for.

    ``delimiter`` is that of text. ``offset`` is the place of the class.
    """

    format: FileFormat
    delimiter: str
    offset: int


def parse_format(cursor: Cursor) -> str:
    """Parse ``AS format``, or ``AS INPUTFORMAT class OUTPUTFORMAT class``, behind STORED."""
    if cursor.sees("BY"):
        cursor.source.refuse(
            "STORED BY is not supported", cursor.offset, hint="Write STORED AS ORC."
        )
    cursor.expect("AS")
    if cursor.sees("INPUTFORMAT"):
        return _parse_file_classes(cursor).value
    return _format(
        cursor,
        "STORED AS",
        "Write STORED AS ORC, PARQUET, AVRO or TEXTFILE; full-ACID tables are ORC.",
    )


def parse_source(cursor: Cursor, hint: str = _LEAVE_OUT) -> str:
    """Parse ``format`` behind USING, Spark's word for STORED AS."""
    return _format(cursor, "USING", hint)


def _format(cursor: Cursor, behind: str, hint: str) -> str:
    offset = cursor.offset
    word = cursor.name("a file format").name.upper()
    if word not in {f.value for f in FileFormat}:
        cursor.source.refuse(f"{behind} {word} is not supported", offset, hint=hint)
    return word


def parse_delimited(cursor: Cursor) -> str | None:
    """Parse the rest of ROW FORMAT DELIMITED [FIELDS TERMINATED BY s] [LINES TERMINATED BY s]."""
    if not cursor.accept("DELIMITED"):
        cursor.source.refuse(
            "ROW FORMAT SERDE is not supported",
            cursor.offset,
            hint=_FORMATS,
        )
    found: dict[str, str] = {}
    while cursor.sees_any("FIELDS", "LINES"):
        offset, word = cursor.offset, cursor.step().word
        cursor.expect("TERMINATED", "BY")
        text_at = cursor.offset
        text = cursor.string("a character in quotes")
        if word in found:
            cursor.source.syntax_error(f"{word} TERMINATED BY is given twice", offset)
        if word == "LINES" and text not in ("\n", "10"):
            cursor.source.refuse(
                "LINES TERMINATED BY takes only '\\n'", text_at, hint="Leave it out."
            )
        if word == "FIELDS":
            text = _delimiter(cursor, text, text_at, "FIELDS TERMINATED BY")
        found[word] = text
    if cursor.sees_any("ESCAPED", "COLLECTION", "MAP", "NULL"):
        cursor.source.refuse(
            f"ROW FORMAT DELIMITED … {cursor.peek().word} is not supported",
            cursor.offset,
            hint="FIELDS TERMINATED BY is supported.",
        )
    return found.get("FIELDS")


def parse_serde(cursor: Cursor) -> Serde:
    """Parse ``SERDE class [WITH SERDEPROPERTIES (…)]``, as Hive's SHOW CREATE TABLE writes it."""
    cursor.expect("SERDE")
    offset = cursor.offset
    name = cursor.string("a class in quotes")
    found = [form for form, classes in STORAGE_CLASSES.items() if classes.serde == name]
    if not found:
        cursor.source.refuse(f"ROW FORMAT SERDE '{name}' is not supported", offset, hint=_FORMATS)
    delimiter = None
    if cursor.accept("WITH", "SERDEPROPERTIES"):
        at = cursor.offset
        delimiter, others = parse_serde_properties(cursor)
        for key in others:
            cursor.source.refuse(
                f"SERDEPROPERTIES ('{key}' = …) is not supported", at, hint="Leave it out."
            )
    return Serde(found[0], delimiter or FIELD_DELIMITER, offset)


def parse_serde_properties(cursor: Cursor) -> tuple[str | None, tuple[str, ...]]:
    """Parse ``(key = value, …)`` behind SERDEPROPERTIES, which Hive's LazySimpleSerDe reads.

    The delimiter of text, if they name it, and the keys of those that would make it read texts
    otherwise than acidsql does.
    """
    at = cursor.offset
    given = dict(properties(cursor.parenthesised()))
    named = given.pop("field.delim", given.get("serialization.format"))
    delimiter = None if named is None else _delimiter(cursor, named, at, "'field.delim'")
    given.pop("serialization.format", None)
    return delimiter, tuple(k for k, v in given.items() if _TEXT_PROPERTIES.get(k) != v)


def parse_file_format(cursor: Cursor) -> str:
    """Parse what stands behind SET FILEFORMAT: a format, or Hive's classes with their SERDE."""
    if not cursor.sees("INPUTFORMAT"):
        return _format(cursor, "SET FILEFORMAT", "Write ORC, PARQUET, AVRO or TEXTFILE.")
    found = _parse_file_classes(cursor)
    if cursor.sees("SERDE"):
        require_serde(cursor, parse_serde(cursor), found.value)
    return found.value


def _parse_file_classes(cursor: Cursor) -> FileFormat:
    """Parse ``INPUTFORMAT class OUTPUTFORMAT class``: the format that both stand for."""
    cursor.expect("INPUTFORMAT")
    offset = cursor.offset
    reader = cursor.string("a class in quotes")
    cursor.expect("OUTPUTFORMAT")
    writer = cursor.string("a class in quotes")
    formats = {(c.reader, c.writer): form for form, c in STORAGE_CLASSES.items()}
    found = formats.get((reader, writer))
    if found is None:
        cursor.source.refuse(
            f"INPUTFORMAT '{reader}' OUTPUTFORMAT '{writer}' is not supported",
            offset,
            hint=_FORMATS,
        )
    return found


def require_serde(cursor: Cursor, serde: Serde, stored_as: str | None) -> None:
    """Refuse a class that is not the one of STORED AS. Without STORED AS, it must be text's."""
    expected = FileFormat.TEXT.value if stored_as is None else stored_as
    if serde.format.value != expected:
        named = "text, without STORED AS" if stored_as is None else f"STORED AS {stored_as}"
        cursor.source.analysis_error(
            f"ROW FORMAT SERDE is one of {serde.format.value}, and the files are {named}",
            serde.offset,
            hint="Leave ROW FORMAT SERDE out: STORED AS says it all.",
        )


def _delimiter(cursor: Cursor, text: str, offset: int, what: str) -> str:
    """The character that a text is, or whose number it is. ``what`` names the clause."""
    is_code = text.isascii() and text.isdigit() and len(text) <= 3 and int(text) < 128
    character = chr(int(text)) if is_code else text
    if len(character) != 1 or ord(character) > 127 or character in "\r\n\0":
        cursor.source.refuse(
            f"{what} takes one ASCII character", offset, hint="Write ',' or '\\t'."
        )
    return character
