"""Hive column types: parse, print, and name in Spark's words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from acidsql.model.names import quote_identifier

PRIMITIVES = (
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp with local time zone",
    "void",
)
INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_COUNT = re.compile(r"[0-9]{1,9}")
DECIMAL_DIGITS_MAX = 38
"""The digits of the widest decimals, in Hive and in Spark."""

_ALIASES = {
    "bool": "boolean",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "character": "char",
    "double precision": "double",
    "timestamp_ntz": "timestamp",
    "timestamp without time zone": "timestamp",
    "timestamp_ltz": "timestamp with local time zone",
    "timestamplocaltz": "timestamp with local time zone",
}
_UNSUPPORTED = {
    "uniontype": "uniontype columns are not supported",
    "interval": "interval columns cannot be stored",
}


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    """A type without parameters: one of `PRIMITIVES`.

    A column of a temporary view may have any other type, too, in Spark's words.
    """

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class DecimalType:
    """decimal(precision, scale), precision 1 to 38."""

    precision: int = 10
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    def is_exact_beside(self, whole: int, fraction: int) -> bool:
        """Whether Spark compares it exactly with values of so many digits before and behind the
        point. Both get a type that holds them; if that needs more than 38 digits, it rounds.

        >>> DecimalType(38, 18).is_exact_beside(20, 2), DecimalType(38, 18).is_exact_beside(28, 10)
        (True, False)
        """
        whole = max(whole, self.precision - self.scale)
        return whole + max(fraction, self.scale) <= DECIMAL_DIGITS_MAX


@dataclass(frozen=True, slots=True)
class CharType:
    """char(n) or varchar(n); ``length`` counts characters."""

    name: str
    length: int

    def __str__(self) -> str:
        return f"{self.name}({self.length})"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """array<element>."""

    element: ColumnType

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """map<key, value>."""

    key: ColumnType
    value: ColumnType

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True, slots=True)
class StructType:
    """struct<name: type, …>, names in lower case.

    ``spelled`` are the names as a Hive Metastore keeps them, if some have capital letters; else it
    is empty. Types that differ in it alone are equal.
    """

    fields: tuple[tuple[str, ColumnType], ...]
    spelled: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        inner = ",".join(f"{_field_name(name)}:{kind}" for name, kind in self.spelled_fields)
        return f"struct<{inner}>"

    @property
    def spelled_fields(self) -> tuple[tuple[str, ColumnType], ...]:
        """The fields with their names as they are spelled."""
        if not self.spelled:
            return self.fields
        return tuple((n, kind) for n, (_, kind) in zip(self.spelled, self.fields, strict=True))


VOID = PrimitiveType("void")
"""The type of columns that hold nothing but nulls. ORC has no such type."""

INSTANT = PrimitiveType("timestamp with local time zone")
"""A point in time, which each session shows in its own time zone."""

ColumnType = PrimitiveType | DecimalType | CharType | ArrayType | MapType | StructType


def spark_type(kind: ColumnType) -> str:
    """The Spark SQL type in which a value of this column is seen and computed with.

    Hive's timestamp is wall-clock time, so it is Spark's timestamp_ntz. Hive's timestamp with local
    time zone is an instant, Spark's timestamp_ltz. Spark has char and varchar in table definitions
    only: their values are strings, whose length the writer checks.

    >>> spark_type(parse_type("struct<a:timestamp,b:varchar(3)>"))
    'struct<`a`:timestamp_ntz,`b`:string>'
    """
    match kind:
        case PrimitiveType("timestamp"):
            return "timestamp_ntz"
        case PrimitiveType("timestamp with local time zone"):
            return "timestamp_ltz"
        case CharType():
            return "string"
        case ArrayType(element):
            return f"array<{spark_type(element)}>"
        case MapType(key, value):
            return f"map<{spark_type(key)},{spark_type(value)}>"
        case StructType(fields):
            inner = ",".join(f"{quote_identifier(n)}:{spark_type(t)}" for n, t in fields)
            return f"struct<{inner}>"
        case _:
            return str(kind)


def walk_types(kind: ColumnType) -> Iterator[ColumnType]:
    """The type itself and every type inside it, outermost first."""
    yield kind
    match kind:
        case ArrayType(element):
            yield from walk_types(element)
        case MapType(key, value):
            yield from walk_types(key)
            yield from walk_types(value)
        case StructType(fields):
            for _, inner in fields:
                yield from walk_types(inner)
        case _:
            pass


def as_spelled(kind: ColumnType) -> ColumnType:
    """The type whose fields have the names under which Hive finds them in files.

    >>> as_spelled(parse_type("array<struct<Aa:int,b:int>>", spelled=True)).element.fields[0][0]
    'Aa'
    """
    match kind:
        case ArrayType(element):
            return ArrayType(as_spelled(element))
        case MapType(key, value):
            return MapType(as_spelled(key), as_spelled(value))
        case StructType():
            return StructType(tuple((n, as_spelled(inner)) for n, inner in kind.spelled_fields))
        case _:
            return kind


def fields_inside(kind: ColumnType) -> list[str]:
    """The names of all fields of structs in the type, as they are spelled."""
    structs = (inner for inner in walk_types(kind) if isinstance(inner, StructType))
    return [name for struct in structs for name, _ in struct.spelled_fields]


def has_timestamps(kind: ColumnType) -> bool:
    """Whether a timestamp of either sort is the type or stands inside it."""
    timestamps = {PrimitiveType("timestamp"), INSTANT}
    return not timestamps.isdisjoint(walk_types(kind))


def parse_type(text: str, *, spelled: bool = False) -> ColumnType:
    """The type that a text in Hive's words names, in upper or lower case.

    With ``spelled``, names of fields keep their capital letters (`StructType.spelled`).

    Raises ValueError for a text that is not a type, for a type that acidsql does not support, and
    for void inside another type.

    >>> str(parse_type("MAP<string, array<decimal(10, 2)>>"))
    'map<string,array<decimal(10,2)>>'
    """
    parser = _TypeParser(text, spelled=spelled)
    kind = parser.parse()
    parser.expect_end()
    return kind


def _field_name(name: str) -> str:
    return name if name.replace("_", "a").isalnum() and name.isascii() else quote_identifier(name)


TYPE_NESTING_MAX = 100
"""How many arrays, maps and structs may be inside of each other."""


class _TypeParser:
    """Recursive descent over the text of one type."""

    def __init__(self, text: str, *, spelled: bool) -> None:
        self.text = text
        self.spelled = spelled
        self.at = 0
        self.depth = 0

    def parse(self) -> ColumnType:
        word = self._word()
        word = _ALIASES.get(word, word)
        if word in _UNSUPPORTED:
            raise ValueError(_UNSUPPORTED[word])
        if word == "array":
            return ArrayType(self._inside()[0])
        if word == "map":
            key, value = self._inside(2)
            return MapType(key, value)
        if word == "struct":
            return self._struct()
        if word == "decimal":
            return self._decimal()
        if word in ("char", "varchar"):
            return self._char(word)
        if word not in PRIMITIVES:
            raise ValueError(f"unknown type {word or self.text!r}")
        return PrimitiveType(word)

    def _inner(self) -> ColumnType:
        self.depth += 1
        if self.depth > TYPE_NESTING_MAX:
            raise ValueError(f"a type is nested at most {TYPE_NESTING_MAX} deep")
        kind = self.parse()
        self.depth -= 1
        if kind == VOID:
            raise ValueError("void columns cannot be declared")
        return kind

    def expect_end(self) -> None:
        self._skip()
        if self.at != len(self.text):
            raise ValueError(f"unexpected {self.text[self.at :]!r} after a type")

    def _skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _take(self, char: str) -> bool:
        self._skip()
        found = self.text.startswith(char, self.at)
        self.at += len(char) if found else 0
        return found

    def _expect(self, char: str) -> None:
        if not self._take(char):
            raise ValueError(f"expected {char!r} in the type {self.text!r}")

    def _word(self) -> str:
        self._skip()
        start = self.at
        while self.at < len(self.text) and (
            self.text[self.at].isalnum() or self.text[self.at] in "_ "
        ):
            self.at += 1
        return " ".join(self.text[start : self.at].lower().split())

    def _inside(self, count: int = 1) -> list[ColumnType]:
        self._expect("<")
        kinds = [self._inner()]
        while len(kinds) < count:
            self._expect(",")
            kinds.append(self._inner())
        self._expect(">")
        return kinds

    def _struct(self) -> StructType:
        self._expect("<")
        fields: list[tuple[str, ColumnType]] = []
        names: list[str] = []
        while not fields or self._take(","):
            names.append(self._name())
            self._expect(":")
            fields.append((names[-1].lower(), self._inner()))
        self._expect(">")
        is_lower = all(name == lower for name, (lower, _) in zip(names, fields, strict=True))
        return StructType(tuple(fields), tuple(names) if self.spelled and not is_lower else ())

    def _name(self) -> str:
        self._skip()
        if not self._take("`"):
            end = self.text.find(":", self.at)
            if end < 0:
                raise ValueError(f"expected a field name in the type {self.text!r}")
            name, self.at = self.text[self.at : end].strip(), end
            return name
        start = self.at
        while True:
            end = self.text.find("`", self.at)
            if end < 0:
                raise ValueError(f"unclosed back quote in the type {self.text!r}")
            self.at = end + 1
            if not self.text.startswith("`", self.at):
                return self.text[start:end].replace("``", "`")
            self.at += 1

    def _numbers(self) -> list[int]:
        if not self._take("("):
            return []
        end = self.text.find(")", self.at)
        parts = self.text[self.at : end].split(",") if end >= 0 else [""]
        if not all(_COUNT.fullmatch(part.strip()) for part in parts):
            raise ValueError(f"expected numbers in the type {self.text!r}")
        self.at = end + 1
        return [int(part) for part in parts]

    def _decimal(self) -> DecimalType:
        kind = DecimalType(*(self._numbers() or [10, 0]))
        if not 1 <= kind.precision <= DECIMAL_DIGITS_MAX or not 0 <= kind.scale <= kind.precision:
            raise ValueError(
                f"{kind} is out of range: precision 1 to {DECIMAL_DIGITS_MAX}, scale 0 to precision"
            )
        return kind

    def _char(self, word: str) -> CharType:
        limit = 255 if word == "char" else 65535
        match self._numbers():
            case [length] if 1 <= length <= limit:
                return CharType(word, length)
        raise ValueError(f"{word} needs one length between 1 and {limit}")
