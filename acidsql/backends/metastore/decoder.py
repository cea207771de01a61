"""Reads Thrift's binary protocol, on the assumption that the sender may be hostile.

The format is that of Apache Thrift, doc/specs/thrift-binary-protocol.md. A size in a message is
only a claim, so no memory is reserved by it: memory grows with the bytes that have come. Every
value takes at least one byte of the message, and the channel bounds the message's length. This
module bounds the nesting, and the number of structs, since each becomes an object many times as
large as its bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from thriftpy2.protocol.exc import TProtocolException
from thriftpy2.thrift import TType

from acidsql.backends.metastore.sense import given

KEPT = "unknown_fields"
"""The attribute of a struct that holds, by field id, the wire type and the bytes of the value."""

MOST_STRUCTS = 4_000_000
"""In one message: enough for 4,000 partitions of 1,000 columns, each column a struct."""

_DEEPEST = 64
"""The limit of nesting, as in Thrift's own libraries."""
_LONGEST_TEXT = 1 << 28
_STRICT = 0x80010000
_TEXTS = (TType.STRING, TType.BINARY)
_SIZES = {
    TType.BOOL: 1, TType.BYTE: 1, TType.I16: 2, TType.I32: 4, TType.I64: 8, TType.DOUBLE: 8,
}  # fmt: skip
_NUMBERS: dict[int, Callable[[bytes], tuple[Any, ...]]] = {
    TType.BOOL: struct.Struct("!?").unpack,
    TType.BYTE: struct.Struct("!b").unpack,
    TType.I16: struct.Struct("!h").unpack,
    TType.I32: struct.Struct("!i").unpack,
    TType.I64: struct.Struct("!q").unpack,
    TType.DOUBLE: struct.Struct("!d").unpack,
}
_U8, _I16, _I32 = (struct.Struct(f).unpack for f in ("!B", "!h", "!i"))
_U32 = struct.Struct("!I").unpack


class Decoder:
    """Reads one message.

    Raises TProtocolException for bytes that are no message, UnicodeDecodeError for a text that is
    not UTF-8, and NonsenseError for a struct without a field that our IDL requires. With
    ``keep_unknown``, structs keep the fields that our IDL does not have.
    """

    def __init__(self, read: Callable[[int], bytes], *, keep_unknown: bool = False) -> None:
        self._read = read
        self._keep = keep_unknown
        self._structs = 0

    def message_begin(self) -> tuple[str, int, int]:
        """The name of the method, the kind of the message and its number."""
        (head,) = _U32(self._read(4))
        if head & 0xFFFF0000 != _STRICT:
            raise TProtocolException(message=f"a message begins with 0x{head:08x}")
        name = self._text().decode()
        (number,) = _I32(self._read(4))
        return name, head & 0xFF, number

    def read_into(self, target: Any, depth: int = 0) -> None:
        """Read the fields of a struct of our IDL into ``target``."""
        self._enter(depth)
        self._structs += 1
        if self._structs > MOST_STRUCTS:
            raise _refused(f"more than {MOST_STRUCTS} structs")
        read, fields = self._read, target.thrift_spec
        kept = {}
        while (wire_type := read(1)[0]) != TType.STOP:
            (field_id,) = _I16(read(2))
            field = fields.get(field_id)
            if field is not None and _same(wire_type, field[0]):
                spec = field[2] if len(field) == 4 else None
                setattr(target, field[1], self._value(field[0], spec, depth + 1))
            elif self._keep:
                kept[field_id] = (wire_type, self._recorded(wire_type, depth + 1))
            else:
                self._skip(wire_type, depth + 1)
        if kept:
            setattr(target, KEPT, kept)
        kind: Any = type(target)
        for name in _required(kind):
            given(getattr(target, name), f"the {name} of a {kind.__name__}")

    def _value(self, ttype: int, spec: Any, depth: int) -> Any:
        if ttype == TType.STRING:
            return self._text().decode()
        if ttype in _SIZES:
            return _NUMBERS[ttype](self._read(_SIZES[ttype]))[0]
        if ttype == TType.STRUCT:
            value = spec()
            self.read_into(value, depth)
            return value
        if ttype == TType.BINARY:
            return self._text()
        self._enter(depth)
        if ttype == TType.MAP:
            key, item = item_type(spec[0]), item_type(spec[1])
            key_type, wire_type, size = self._map_begin()
            _require_same(size, (key_type, key[0]), (wire_type, item[0]))
            return {
                self._value(*key, depth + 1): self._value(*item, depth + 1) for _ in range(size)
            }
        item = item_type(spec)
        wire_type, size = self._list_begin()
        _require_same(size, (wire_type, item[0]))
        return [self._value(*item, depth + 1) for _ in range(size)]

    def _skip(self, ttype: int, depth: int) -> None:
        if ttype in _SIZES:
            self._read(_SIZES[ttype])
        elif ttype in _TEXTS:
            self._text()
        elif ttype == TType.STRUCT:
            self._enter(depth)
            while (wire_type := self._read(1)[0]) != TType.STOP:
                self._read(2)
                self._skip(wire_type, depth + 1)
        elif ttype == TType.MAP:
            self._enter(depth)
            key_type, wire_type, size = self._map_begin()
            for _ in range(size):
                self._skip(key_type, depth + 1)
                self._skip(wire_type, depth + 1)
        elif ttype in (TType.LIST, TType.SET):
            self._enter(depth)
            wire_type, size = self._list_begin()
            for _ in range(size):
                self._skip(wire_type, depth + 1)
        else:
            # Such values would take no bytes, so a size could claim any number of them.
            raise _refused(f"a value of type {ttype}")

    def _recorded(self, ttype: int, depth: int) -> bytes:
        read, chunks = self._read, []

        def record(size: int) -> bytes:
            chunk = read(size)
            chunks.append(chunk)
            return chunk

        self._read = record
        try:
            self._skip(ttype, depth)
        finally:
            self._read = read
        return b"".join(chunks)

    def _text(self) -> bytes:
        (size,) = _I32(self._read(4))
        if not 0 <= size <= _LONGEST_TEXT:
            raise _refused(f"a text of {size} bytes")
        return self._read(size) if size else b""

    def _list_begin(self) -> tuple[int, int]:
        wire_type, size = self._read(1)[0], _I32(self._read(4))[0]
        return wire_type, _elements(size)

    def _map_begin(self) -> tuple[int, int, int]:
        key_type, wire_type = self._read(2)
        return key_type, wire_type, _elements(_I32(self._read(4))[0])

    def _enter(self, depth: int) -> None:
        if depth >= _DEEPEST:
            raise _refused(f"structs more than {_DEEPEST} deep")


@cache
def _required(struct: Any) -> tuple[str, ...]:
    """The required fields of a struct of our IDL."""
    return tuple(field[1] for field in struct.thrift_spec.values() if field[-1])


def item_type(spec: Any) -> tuple[int, Any]:
    """The type of an element, and the types of its parts if it has some."""
    return (spec[0], spec[1]) if isinstance(spec, tuple) else (spec, None)


def _elements(size: int) -> int:
    if size < 0:
        raise _refused(f"{size} elements")
    return size


def _same(wire_type: int, ttype: int) -> bool:
    return wire_type == ttype or (wire_type in _TEXTS and ttype in _TEXTS)


def _require_same(size: int, *types: tuple[int, int]) -> None:
    # An empty map may come without types.
    if size and not all(_same(*pair) for pair in types):
        raise _refused(f"elements of other types than expected: {types}")


def _refused(what: str) -> TProtocolException:
    return TProtocolException(message=f"the answer has {what}")
