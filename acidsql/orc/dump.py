"""The rows of an ORC file as JSON lines, in the form of ``hive --orcfiledump -d``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa

from acidsql.layout.arrow import Array, DataType
from acidsql.orc.exact import exact_texts, is_exact
from acidsql.orc.reader import Source, open_orc


def dump(source: Source, path: str = "") -> Iterator[str]:
    """One line per row, without a line end; ACID files show their events.

    Raises MissingFileError or CorruptFileError.
    """
    with open_orc(source, path, exact=True) as opened:
        for batch in opened.stripes():
            yield from _objects(batch.schema.names, batch.columns, batch.num_rows)


def json_texts(array: Array) -> list[str]:
    """Each value of an array as JSON text.

    >>> json_texts(pa.array([{"a": 1}, None]))
    ['{"a":1}', 'null']
    """
    texts = _value_texts(array)
    if array.null_count:
        valid = array.is_valid().to_pylist()
        return [text if there else "null" for text, there in zip(texts, valid, strict=True)]
    return texts


def _value_texts(array: Array) -> list[str]:
    kind = array.type
    if is_exact(kind):
        return [json.dumps(_trim_fraction(text)) for text in exact_texts(array)]
    if isinstance(array, pa.StructArray):
        return list(_objects([f.name for f in kind], array.flatten(), len(array)))
    if isinstance(array, pa.MapArray):
        pairs = zip(json_texts(array.keys), json_texts(array.items), strict=True)
        entries = [f'{{"_key":{key},"_value":{value}}}' for key, value in pairs]
        return _lists(np.asarray(array.offsets).tolist(), entries)
    if isinstance(array, pa.ListArray):
        return _lists(np.asarray(array.offsets).tolist(), json_texts(array.values))
    if pa.types.is_date(kind):
        shown = array.cast(pa.string()).to_pylist()
        return [json.dumps(text) if text is not None else "null" for text in shown]
    return [_scalar(value, kind) for value in array.to_pylist()]


def _scalar(value: object, kind: DataType) -> str:
    match value:
        case None:
            return "null"
        case bytes():
            return "[" + ",".join(map(str, value)) + "]"
        case float():
            return java_float(value, single=pa.types.is_float32(kind))
        case Decimal():
            return _decimal(value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def java_float(value: float, *, single: bool = False) -> str:
    """A number as Java's Double.toString, or Float.toString, prints it.

    >>> java_float(1.0), java_float(1e7), java_float(1.5e-5), java_float(0.1, single=True)
    ('1.0', '1.0E7', '1.5E-5', '0.1')
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    number = np.float32(value) if single else np.float64(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return np.format_float_positional(number, unique=True, trim="0")
    mantissa, exponent = np.format_float_scientific(number, unique=True, trim="0").split("e")
    return f"{mantissa}E{int(exponent)}"


def _decimal(value: Decimal) -> str:
    # Hive shows no zeros at the end of a decimal's fraction.
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _trim_fraction(text: str) -> str:
    """Java's Timestamp.toString keeps one digit of the fraction at least.

    >>> _trim_fraction("2020-01-01 12:34:56.120000000"), _trim_fraction("2020-01-01 00:00:00")
    ('2020-01-01 12:34:56.12', '2020-01-01 00:00:00.0')
    """
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}"


def _objects(names: list[str], columns: list[Array], count: int) -> Iterator[str]:
    keys = [json.dumps(name, ensure_ascii=False) for name in names]
    texts = [json_texts(column) for column in columns]
    for values in zip(*texts, strict=True) if texts else ((),) * count:
        members = (f"{key}:{value}" for key, value in zip(keys, values, strict=True))
        yield "{" + ",".join(members) + "}"


def _lists(offsets: list[int], texts: list[str]) -> list[str]:
    return ["[" + ",".join(texts[start:end]) + "]" for start, end in pairwise(offsets)]
