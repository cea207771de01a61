"""Structs that are read and written back keep every field, known or not."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from thriftpy2.protocol import binary
from thriftpy2.thrift import TType

from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.unknown_fields import KeepingProtocol

_SCALARS: dict[int, st.SearchStrategy[Any]] = {
    TType.BOOL: st.booleans(),
    TType.BYTE: st.integers(-128, 127),
    TType.I16: st.integers(-(2**15), 2**15 - 1),
    TType.I32: st.integers(-(2**31), 2**31 - 1),
    TType.I64: st.integers(-(2**63), 2**63 - 1),
    TType.DOUBLE: st.floats(allow_nan=False),
    TType.STRING: st.binary(max_size=20),
}

Value = tuple[int, bytes]
"""A wire type, and a value of it as bytes."""


@st.composite
def scalars(draw: st.DrawFn, ttype: int) -> bytes:
    out = BytesIO()
    binary.write_val(out, ttype, draw(_SCALARS[ttype]))
    return out.getvalue()


@st.composite
def values(draw: st.DrawFn, depth: int = 2) -> Value:
    nested = [TType.LIST, TType.SET, TType.MAP, TType.STRUCT] if depth else []
    ttype = draw(st.sampled_from([*_SCALARS, *nested]))
    if ttype in _SCALARS:
        return ttype, draw(scalars(ttype))
    out = BytesIO()
    if ttype == TType.STRUCT:
        for field_id, (kind, raw) in draw(fields(depth - 1)).items():
            binary.write_field_begin(out, kind, field_id)
            out.write(raw)
        binary.write_field_stop(out)
    elif ttype == TType.MAP:
        key = draw(st.sampled_from([*_SCALARS]))
        kind = draw(st.sampled_from([*_SCALARS]))
        size = draw(st.integers(0, 3))
        binary.write_map_begin(out, key, kind, size)
        for _ in range(size):
            out.write(draw(scalars(key)) + draw(scalars(kind)))
    else:
        kind, raw = draw(values(depth - 1))
        size = draw(st.integers(0, 3))
        binary.write_list_begin(out, kind, size)
        out.write(raw * size)
    return ttype, out.getvalue()


def fields(depth: int = 2, least: int = 1) -> st.SearchStrategy[dict[int, Value]]:
    return st.dictionaries(st.integers(least, 2**15 - 1), values(depth), max_size=4)


KNOWN = hms.Table(
    tableName="t",
    parameters={"a": "ü"},
    createTime=7,
    partitionKeys=[hms.FieldSchema(name="k", type="int")],
    sd=hms.StorageDescriptor(
        cols=[hms.FieldSchema(name="id", type="int", comment="x")],
        serdeInfo=hms.SerDeInfo(parameters={"p": "q"}),
        numBuckets=-1,
    ),
)


def written(struct: Any) -> bytes:
    out = BytesIO()
    KeepingProtocol(out).write_struct(struct)
    return out.getvalue()


def read(raw: bytes, kind: Any) -> Any:
    struct = kind()
    source = BytesIO(raw)
    KeepingProtocol(source).read_struct(struct)
    assert not source.read()
    return struct


def with_more(raw: bytes, more: dict[int, Value]) -> bytes:
    """A struct's bytes with more fields before its end."""
    out = BytesIO()
    out.write(raw[:-1])
    for field_id, (kind, value) in more.items():
        binary.write_field_begin(out, kind, field_id)
        out.write(value)
    binary.write_field_stop(out)
    return out.getvalue()


@given(fields(least=100), fields(least=100), fields(least=100))
def test_unknown_fields_come_back_byte_for_byte(
    outer: dict[int, Value], descriptor: dict[int, Value], column: dict[int, Value]
) -> None:
    """At the top, in a struct of it, and in one inside a list."""
    table = read(written(KNOWN), hms.Table)
    table.sd.cols[0] = read(with_more(written(KNOWN.sd.cols[0]), column), hms.FieldSchema)
    table.sd = read(with_more(written(table.sd), descriptor), hms.StorageDescriptor)
    raw = with_more(written(table), outer)
    again = read(raw, hms.Table)
    assert written(again) == raw
    again.tableName = "u"
    assert read(written(again), hms.Table).sd == again.sd


@given(st.integers(1, 28), values())
def test_a_field_of_another_type_than_ours_is_kept_too(field_id: int, value: Value) -> None:
    """As in builds where a number was given to something else."""
    raw = with_more(b"\0", {field_id: value})
    spec = hms.Table.thrift_spec.get(field_id)
    text = (TType.STRING, TType.BINARY)
    if spec is not None and (spec[0] == value[0] or (spec[0] in text and value[0] in text)):
        return
    assert written(read(raw, hms.Table)) == raw
