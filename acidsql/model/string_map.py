"""Hive's text form of a map of strings (StringableMap), as COMPACTION_QUEUE keeps properties."""

from __future__ import annotations

from collections.abc import Mapping


def string_map_text(values: Mapping[str, str]) -> str:
    """The map as text: the count, then each key and value behind its length, sorted by key.

    Lengths count UTF-16 code units, as Java's strings do.

    >>> string_map_text({"orc.compress": "zlib"})
    '1:12:orc.compress4:zlib'
    """
    parts = [f"{_length(text)}:{text}" for item in sorted(values.items()) for text in item]
    return f"{len(values)}:{''.join(parts)}"


def parse_string_map(text: str) -> dict[str, str]:
    """The map that a text stands for. ValueError for another text.

    Java's null has the length 0 or -1, and is read as the empty text.

    >>> parse_string_map("2:1:a0:1:b3:x:y")
    {'a': '', 'b': 'x:y'}
    """
    count, colon, rest = text.partition(":")
    if not colon or not count.isdecimal():
        raise ValueError(f'"{text}" is not a map of strings')
    units = rest.encode("utf-16-le", "surrogatepass")
    strings: list[str] = []
    for _ in range(2 * int(count)):
        string, units = _first(units, text)
        strings.append(string)
    if units:
        raise ValueError(f'"{text}" has more than {count} entries')
    return dict(zip(strings[::2], strings[1::2], strict=True))


def _first(units: bytes, text: str) -> tuple[str, bytes]:
    """The first string of the rest of a map, and what follows it."""
    colon = ":".encode("utf-16-le")
    end = units.find(colon)
    while end % 2 and end >= 0:
        end = units.find(colon, end + 1)
    digits = units[: max(end, 0)].decode("utf-16-le", "surrogatepass")
    if end < 0 or not (digits.isdecimal() or digits == "-1"):
        raise ValueError(f'"{text}" is not a map of strings')
    begin, size = end + 2, 2 * max(int(digits), 0)
    if begin + size > len(units):
        raise ValueError(f'"{text}" ends inside a string')
    return units[begin : begin + size].decode("utf-16-le", "surrogatepass"), units[begin + size :]


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
