"""The parts of protobuf's wire format that ORC files need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

VARINT = 0
FIXED64 = 1
BYTES = 2
FIXED32 = 5
_LONGEST_VARINT = 10
_ONE_BYTE = tuple(bytes((value,)) for value in range(0x80))


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field, in order. ValueError if the message is malformed.

    >>> list(fields(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69])))
    [(1, 150), (2, b'hi')]
    """
    at, end = 0, len(message)
    while at < end:
        key = message[at]
        if key < 0x80:  # as most are
            at += 1
        else:
            key, at = read_varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type in (VARINT, BYTES):
            value, at = read_varint(message, at)
            if wire_type == VARINT:
                yield number, value
                continue
            size = value
        elif wire_type in (FIXED32, FIXED64):
            size = 4 if wire_type == FIXED32 else 8
        else:
            raise ValueError("the metadata of the file has a field of an unknown kind")
        if at + size > end:
            raise ValueError("the metadata of the file is cut short")
        yield number, message[at : at + size]
        at += size


def read_varint(message: bytes, at: int) -> tuple[int, int]:
    """The varint at a position, and the position after it.

    >>> read_varint(bytes([0x96, 0x01]), 0)
    (150, 2)
    """
    if at < len(message) and message[at] < 0x80:
        return message[at], at + 1  # as most are
    value = 0
    for count in range(_LONGEST_VARINT):
        if at + count >= len(message):
            raise ValueError("a number in the file is cut short")
        byte = message[at + count]
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, at + count + 1
    raise ValueError("a number is too long")


def number_in(message: Mapping[int, int | bytes], number: int) -> int:
    """The number in a field; 0, which is protobuf's default, if the message lacks the field.

    ``message`` is the dict of `fields`. ValueError if the field holds bytes.

    >>> number_in({1: 150}, 1), number_in({1: 150}, 2)
    (150, 0)
    """
    value = message.get(number, 0)
    if not isinstance(value, int):
        raise ValueError(f"field {number} is not a number")
    return value


def as_bytes(value: int | bytes) -> bytes:
    """The value of a field that must hold bytes, text or a message. ValueError for a number."""
    if isinstance(value, int):
        raise ValueError("a number stands where a message should")
    return value


def signed(number: int) -> int:
    """The number that a varint stands for in a field or stream of signed numbers (zigzag).

    >>> [signed(n) for n in (0, 1, 2, 3)]
    [0, -1, 1, -2]
    """
    return number >> 1 ^ -(number & 1)


def packed_numbers(value: int | bytes) -> list[int]:
    """The numbers of a repeated field's value, which may be packed."""
    if isinstance(value, int):
        return [value]
    result, at = [], 0
    while at < len(value):
        number, at = read_varint(value, at)
        result.append(number)
    return result


def packed_field(number: int, values: Iterable[int]) -> bytes:
    """A field of packed numbers."""
    return bytes_field(number, b"".join(map(varint, values)))


def varint_field(number: int, value: int) -> bytes:
    """A field holding a number.

    >>> varint_field(1, 150).hex()
    '089601'
    """
    return varint(number << 3 | VARINT) + varint(value)


def fixed64_field(number: int, value: bytes) -> bytes:
    """A field holding eight bytes, such as a double.

    >>> fixed64_field(1, bytes(8)).hex()
    '090000000000000000'
    """
    assert len(value) == 8
    return varint(number << 3 | FIXED64) + value


def unsigned(number: int) -> int:
    """The varint of a signed number: the inverse of `signed`.

    >>> [unsigned(n) for n in (0, -1, 1, -2)]
    [0, 1, 2, 3]
    """
    return number << 1 if number >= 0 else (-number << 1) - 1


def bytes_field(number: int, value: bytes) -> bytes:
    """A field holding bytes, text or a message.

    >>> bytes_field(2, b"hi").hex()
    '12026869'
    """
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def varint(value: int) -> bytes:
    """The bytes of a number that is not negative: the inverse of `read_varint`."""
    assert value >= 0
    if value < 0x80:
        return _ONE_BYTE[value]  # as most are
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)
