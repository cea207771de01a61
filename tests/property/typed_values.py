"""Column types drawn at random: their values, how SQL writes them, how Python compares them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st

from acidsql.model.types import parse_type, spark_type

Value = Any
EPOCH = dt.datetime(1970, 1, 1)
WORDS = ["", " ", "a", "b ", "it's", "ä€", "😀z", "\\n\n", '"', "%", "é", "aaaaab", "zz\x00z"]
LONG = ["m" * 1100, "m" * 1023 + "😀" + "x" * 9]
"""Past what statistics of a file keep of a text, the second cut in the middle of a character."""


@dataclass(frozen=True, repr=False)
class Kind:
    """A column type. ``key`` orders values as SQL does; None where SQL has no order, or we none."""

    text: str
    values: st.SearchStrategy[Value]
    sql: Callable[[Value], str]
    seen: Callable[[Value], Value] = lambda value: value
    key: Callable[[Value], Any] | None = lambda value: value
    bare: Callable[[Value], str] | None = None
    """SQL as people write it, where that does for this type."""
    bindable: bool = True
    wider: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.text

    def literal(self, value: Value) -> str:
        """SQL of exactly this type."""
        return f"CAST(NULL AS {_spark(self.text)})" if value is None else self.sql(value)

    def written(self, value: Value, style: str, arguments: list[Value]) -> str:
        """SQL in one of the `STYLES`; what is bound is appended to the arguments."""
        if style == "bound" and self.bindable:
            arguments.append(value)
            return "?"
        if style == "bare" and value is None:
            return "NULL"
        return self.bare(value) if style == "bare" and self.bare else self.literal(value)


STYLES = ("typed", "bare", "bound")


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _integer(name: str, bits: int, *wider: str) -> Kind:
    half = 1 << bits - 1
    some = st.sampled_from([0, 1, -1, 7, half - 1, -half]) | st.integers(-half, half - 1)
    return Kind(name, some, lambda v: f"CAST({v} AS {name})", bare=str, wider=wider)


def _number_text(value: float) -> str:
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), repr(value))


def _float(name: str, width: int, *wider: str) -> Kind:
    edges = [0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), float("-inf")]
    return Kind(
        name,
        st.sampled_from(edges) | st.floats(width=width),
        lambda v: f"CAST('{_number_text(v)}' AS {name})",
        repr,
        lambda v: (1, 0.0) if v != v else (0, v + 0.0),  # noqa: PLR0124 - NaN alone differs
        wider=wider,
    )


def _decimal(precision: int, scale: int, *wider: str) -> Kind:
    top = 10**precision - 1
    some = st.sampled_from([0, 1, -1, 50, top, -top]) | st.integers(-top, top)
    name = f"decimal({precision},{scale})"
    return Kind(
        name,
        some.map(lambda n: Decimal(f"{n}E-{scale}")),
        lambda v: f"CAST('{v:f}' AS {name})",
        # Spark hands 1E-10 out as 1.00E-10.
        Fraction,
        bare=lambda v: f"{v:f}",
        wider=wider,
    )


def _text(name: str, length: int | None, *wider: str) -> Kind:
    pool = WORDS + (LONG if length is None else [])
    some = st.sampled_from(pool) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    cut = some if length is None else some.map(lambda s: s[:length])
    kind = Kind(name, cut, lambda v: f"CAST({quoted(v)} AS string)", bare=quoted, wider=wider)
    if not name.startswith("char"):
        return kind
    assert length is not None
    return Kind(
        name,
        cut,
        kind.sql,
        lambda v: v.ljust(length),
        lambda v: v.ljust(length),
        bindable=False,
        wider=wider,
    )


def _whole_or_late(value: dt.datetime) -> bool:
    """Not in the last second before 1970, where ORC knows no fraction below a millisecond."""
    return not -1 < (value - EPOCH).total_seconds() < 0


_TIMES = st.sampled_from(
    [
        dt.datetime(1, 1, 1),
        dt.datetime(1582, 10, 4, 12),
        dt.datetime(1582, 10, 15),
        dt.datetime(1969, 12, 31, 23, 59, 58, 999_999),
        EPOCH,
        dt.datetime(2026, 3, 29, 2, 30),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999_999),
    ]
)
_INSTANTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)).filter(_whole_or_late)


def _utc(value: dt.datetime) -> dt.datetime:
    """Spark hands instants out as naive times of the process's zone."""
    return value.astimezone(dt.timezone.utc).replace(fold=0)


PRIMITIVES = [
    Kind("boolean", st.booleans(), lambda v: str(v).lower()),
    _integer("tinyint", 8, "smallint", "bigint"),
    _integer("smallint", 16, "int"),
    _integer("int", 32, "bigint"),
    _integer("bigint", 64),
    _float("float", 32, "double"),
    _float("double", 64),
    _decimal(5, 2, "decimal(9,2)", "decimal(38,10)"),
    _decimal(18, 0, "decimal(19,0)"),
    _decimal(38, 10),
    _text("string", None),
    _text("varchar(4)", 4, "varchar(9)", "string"),
    _text("char(4)", 4),
    Kind(
        "binary",
        st.sampled_from([b"", b"\x00", b"\xff\x00", b"a"]) | st.binary(max_size=5),
        lambda v: f"X'{v.hex()}'",
        bytes,
    ),
    Kind(
        "date",
        st.sampled_from([dt.date.min, dt.date.max, dt.date(1582, 10, 4), dt.date(1582, 10, 15)])
        | st.dates(),
        lambda v: f"DATE '{v.isoformat()}'",
        bare=lambda v: f"DATE '{v.isoformat()}'",
    ),
    Kind(
        "timestamp",
        _TIMES | st.datetimes().filter(_whole_or_late),
        lambda v: f"TIMESTAMP_NTZ '{v.isoformat(' ')}'",
        lambda v: v.replace(fold=0),
    ),
    Kind(
        "timestamp with local time zone",
        _INSTANTS.map(lambda v: v.replace(tzinfo=dt.timezone.utc)),
        lambda v: f"TIMESTAMP '{v.strftime('%Y-%m-%d %H:%M:%S.%f')} UTC'",
        _utc,
        bindable=False,
    ),
]
BY_NAME = {kind.text: kind for kind in PRIMITIVES} | {
    kind.text: kind
    for kind in (_text("varchar(9)", 9), _decimal(9, 2), _decimal(19, 0), _integer("int", 32))
}
PARTITION_KINDS = {
    "string": ["x", "y/z", "100%", "ä b", "=:", "007"],
    "varchar(4)": ["x", "a'b", "n\\x"],
    "int": [-1, 0, 7, 2**31 - 1],
    "date": [dt.date(1969, 12, 31), dt.date(2024, 2, 29)],
    "decimal(5,2)": [Decimal("1.50"), Decimal("-0.01"), Decimal("0.00")],
    "boolean": [True, False],
}
"""What a partition column may be, with few values, so that rows meet."""


def optional(kind: Kind) -> st.SearchStrategy[Value]:
    return st.one_of(st.none(), kind.values, kind.values, kind.values)


def array_of(element: Kind) -> Kind:
    text = f"array<{element.text}>"

    def sql(value: list[Value]) -> str:
        return f"CAST(array({', '.join(map(element.literal, value))}) AS {_spark(text)})"

    return Kind(
        text,
        st.lists(optional(element), max_size=3),
        sql,
        lambda v: [seen(element, x) for x in v],
        None,
        bindable=False,
    )


def map_of(key: Kind, value: Kind) -> Kind:
    text = f"map<{key.text},{value.text}>"

    def sql(pairs: dict[Value, Value]) -> str:
        parts = [part for k, v in pairs.items() for part in (key.literal(k), value.literal(v))]
        return f"CAST(map({', '.join(parts)}) AS {_spark(text)})"

    return Kind(
        text,
        st.dictionaries(key.values, optional(value), max_size=3),
        sql,
        lambda v: sorted(((seen(key, k), seen(value, x)) for k, x in v.items()), key=repr),
        None,
        bindable=False,
    )


def struct_of(fields: list[tuple[str, Kind]]) -> Kind:
    text = f"struct<{','.join(f'`{name}`:{kind.text}' for name, kind in fields)}>"

    def sql(value: tuple[Value, ...]) -> str:
        pairs = [(quoted(n), k.literal(v)) for (n, k), v in zip(fields, value, strict=True)]
        return f"named_struct({', '.join(part for pair in pairs for part in pair)})"

    return Kind(
        text,
        st.tuples(*(optional(kind) for _, kind in fields)),
        sql,
        lambda v: [seen(kind, x) for (_, kind), x in zip(fields, v, strict=True)],
        None,
        bindable=False,
    )


def _spark(text: str) -> str:
    return spark_type(parse_type(text))


def seen(kind: Kind, value: Value) -> Value:
    """A value, the model's or a result's, as it is compared."""
    return None if value is None else kind.seen(value)


_KEYS = [BY_NAME[name] for name in ("int", "string", "date")]
_FLAT = st.sampled_from(PRIMITIVES)
_SHALLOW = (
    _FLAT
    | _FLAT.map(array_of)
    | st.builds(map_of, st.sampled_from(_KEYS), _FLAT)
    | st.lists(_FLAT, min_size=1, max_size=3).map(
        lambda kinds: struct_of([(f"f{at}", kind) for at, kind in enumerate(kinds)])
    )
)
kinds = st.one_of(
    _FLAT,
    _FLAT,
    _SHALLOW,
    _SHALLOW.map(array_of),
    st.builds(map_of, st.sampled_from(_KEYS), _SHALLOW),
    st.tuples(_SHALLOW, _FLAT).map(lambda pair: struct_of([("a b", pair[0]), ("ü", pair[1])])),
)
"""Types of columns: mostly plain ones, some nested once or twice."""
