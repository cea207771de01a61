"""A binary protocol that keeps the fields our IDL does not have.

A table or partition that is read, changed and written back replaces what the metastore has: a field
that got lost on the way would be erased, like skew, privileges or whatever a later Hive adds.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, Protocol

from thriftpy2.protocol import binary
from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.protocol.exc import TProtocolException
from thriftpy2.thrift import TType

_KEPT = "unknown_fields"
"""The attribute of a struct that holds, by field id, the wire type and the bytes of the value."""
_TEXTS = (TType.STRING, TType.BINARY)


class _Source(Protocol):
    def read(self, sz: int, /) -> bytes: ...


class KeepingProtocol(TBinaryProtocol):
    """Reads and writes like `TBinaryProtocol`, unknown fields included."""

    def __init__(self, transport: Any) -> None:
        super().__init__(transport)  # type: ignore[no-untyped-call]

    def read_struct(self, obj: Any) -> None:
        _read_struct(self.trans, obj)

    def write_struct(self, obj: Any) -> None:
        buffer = BytesIO()
        _write_struct(buffer, obj)
        self.trans.write(buffer.getvalue())


class _Recorder:
    """Passes on what is read, and remembers it."""

    def __init__(self, source: _Source) -> None:
        self._source = source
        self.chunks: list[bytes] = []

    def read(self, sz: int) -> bytes:
        chunk = self._source.read(sz)
        self.chunks.append(chunk)
        return chunk


def _read_struct(source: _Source, struct: Any) -> None:
    kept = {}
    while True:
        wire_type, field_id = binary.read_field_begin(source)
        if wire_type == TType.STOP:
            break
        field = struct.thrift_spec.get(field_id)
        if field is None or not _same(wire_type, field[0]):
            recorder = _Recorder(source)
            binary.skip(recorder, wire_type)
            kept[field_id] = (wire_type, b"".join(recorder.chunks))
            continue
        spec = field[2] if len(field) == 4 else None
        setattr(struct, field[1], _read_value(source, field[0], spec))
    if kept:
        setattr(struct, _KEPT, kept)


def _read_value(source: _Source, ttype: int, spec: Any) -> Any:
    if ttype == TType.STRUCT:
        struct = spec()
        _read_struct(source, struct)
        return struct
    if ttype in (TType.LIST, TType.SET):
        item = _item(spec)
        wire_type, size = binary.read_list_begin(source)
        _require_same(size, (wire_type, item[0]))
        return [_read_value(source, *item) for _ in range(size)]
    if ttype == TType.MAP:
        key, value = _item(spec[0]), _item(spec[1])
        key_type, value_type, size = binary.read_map_begin(source)
        _require_same(size, (key_type, key[0]), (value_type, value[0]))
        return {_read_value(source, *key): _read_value(source, *value) for _ in range(size)}
    return binary.read_val(source, ttype, strict_decode=True)


def _write_struct(buffer: BytesIO, struct: Any) -> None:
    for field_id, field in struct.thrift_spec.items():
        value = getattr(struct, field[1], None)
        if value is not None:
            binary.write_field_begin(buffer, field[0], field_id)
            _write_value(buffer, field[0], field[2] if len(field) == 4 else None, value)
    for field_id, (wire_type, raw) in getattr(struct, _KEPT, {}).items():
        binary.write_field_begin(buffer, wire_type, field_id)
        buffer.write(raw)
    binary.write_field_stop(buffer)


def _write_value(buffer: BytesIO, ttype: int, spec: Any, value: Any) -> None:
    if ttype == TType.STRUCT:
        _write_struct(buffer, value)
    elif ttype in (TType.LIST, TType.SET):
        item = _item(spec)
        binary.write_list_begin(buffer, item[0], len(value))
        for element in value:
            _write_value(buffer, *item, element)
    elif ttype == TType.MAP:
        key, item = _item(spec[0]), _item(spec[1])
        binary.write_map_begin(buffer, key[0], item[0], len(value))
        for k, v in value.items():
            _write_value(buffer, *key, k)
            _write_value(buffer, *item, v)
    else:
        binary.write_val(buffer, ttype, value)


def _item(spec: Any) -> tuple[int, Any]:
    """The type of an element and what it consists of."""
    return (spec[0], spec[1]) if isinstance(spec, tuple) else (spec, None)


def _same(wire_type: int, ttype: int) -> bool:
    return wire_type == ttype or (wire_type in _TEXTS and ttype in _TEXTS)


def _require_same(size: int, *types: tuple[int, int]) -> None:
    # An empty map may come without types.
    if size and not all(_same(*pair) for pair in types):
        raise TProtocolException(message=f"elements of other types than expected: {types}")
