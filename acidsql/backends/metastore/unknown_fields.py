"""A binary protocol that keeps fields that our IDL does not have.

A table or partition that is read, changed and written back replaces the metastore's. A field that
got lost on the way would be erased, such as skew, privileges or a field of a later Hive.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from thriftpy2.protocol import binary
from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.thrift import TType

from acidsql.backends.metastore.decoder import KEPT, Decoder, item_type


class KeepingProtocol(TBinaryProtocol):
    """Reads and writes like `TBinaryProtocol`, with unknown fields."""

    def __init__(self, transport: Any) -> None:
        super().__init__(transport)  # type: ignore[no-untyped-call]

    def read_struct(self, obj: Any) -> None:
        Decoder(self.trans.read, keep_unknown=True).read_into(obj)

    def write_struct(self, obj: Any) -> None:
        buffer = BytesIO()
        _write_struct(buffer, obj)
        self.trans.write(buffer.getvalue())


def _write_struct(buffer: BytesIO, struct: Any) -> None:
    for field_id, field in struct.thrift_spec.items():
        value = getattr(struct, field[1], None)
        if value is not None:
            binary.write_field_begin(buffer, field[0], field_id)
            _write_value(buffer, field[0], field[2] if len(field) == 4 else None, value)
    for field_id, (wire_type, raw) in getattr(struct, KEPT, {}).items():
        binary.write_field_begin(buffer, wire_type, field_id)
        buffer.write(raw)
    binary.write_field_stop(buffer)


def _write_value(buffer: BytesIO, ttype: int, spec: Any, value: Any) -> None:
    if ttype == TType.STRUCT:
        _write_struct(buffer, value)
    elif ttype in (TType.LIST, TType.SET):
        item = item_type(spec)
        binary.write_list_begin(buffer, item[0], len(value))
        for element in value:
            _write_value(buffer, *item, element)
    elif ttype == TType.MAP:
        key, item = item_type(spec[0]), item_type(spec[1])
        binary.write_map_begin(buffer, key[0], item[0], len(value))
        for k, v in value.items():
            _write_value(buffer, *key, k)
            _write_value(buffer, *item, v)
    else:
        binary.write_val(buffer, ttype, value)
