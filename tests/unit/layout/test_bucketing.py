import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from acidsql.layout.bucketing import bucket_hashes, bucket_numbers, is_bucketable
from acidsql.layout.timestamp_hash import hash_seconds
from acidsql.model.types import ColumnType, parse_type
from acidsql.orc.exact import is_exact
from acidsql.orc.reader import read_events

DATA = Path(__file__).parents[2] / "data" / "hive-written" / "states" / "bucketed"
PLAIN = [
    "binary",
    "boolean",
    "bigint",
    "date",
    "double",
    "float",
    "int",
    "smallint",
    "string",
    "timestamp",
    "tinyint",
]
KINDS = {
    **{f"b_{kind}": [kind] for kind in PLAIN},
    "b_char": ["char(20)"],
    "b_decimal": ["decimal(10,2)"],
    "b_multi": ["int", "string", "date"],
    "b_v1": ["string"],
    "b_varchar": ["varchar(20)"],
}
ARROW = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.int32(),
    "timestamp": pa.timestamp("ns"),
}
CJK = "\u5f3a\u5927\u7684Trino\u5f15\u64ce"
HIGH = "\U00020ffc\U00020ffd\U00020ffe\U00020fff"
FLOAT_MAX = float(np.finfo(np.float32).max)
FLOAT_MIN = 1.401298464324817e-45
DOUBLE_MAX = float(np.finfo(np.float64).max)


def nanoseconds(text: str) -> int:
    return int(np.datetime64(text.replace(" ", "T"), "ns").astype(np.int64))


# Values, then the hashes of versions 1 and 2: from Trino's TestHiveBucketing, which also checks
# them against Hive 3.1's classes, and computed with Hive's own jars.
VECTORS = [
    ("boolean", [(True, 1, 1), (False, 0, 0), (None, 0, 0)]),
    ("tinyint", [(5, 5, 5), (-128, -128, -128)]),
    (
        "smallint",
        [(300, 300, 2107031704), (-32768, -32768, 1342976838), (32767, 32767, -684075052)],
    ),
    (
        "int",
        [
            (300000, 300000, -678663480),
            (-(2**31), -2147483648, 1194881028),
            (2**31 - 1, 2147483647, 1133859967),
            (0, 0, 1362653161),
            (1, 1, 1321152925),
            (2, 2, -249917244),
            (3, 3, 1183246022),
            (7, 7, -970880120),
            (42, 42, 1960085659),
            (-1, -1, 1626716813),
            (100, 100, 924521621),
        ],
    ),
    (
        "bigint",
        [
            (300000000000, -647710651, -888935297),
            (-(2**63), -2147483648, 1728983947),
            (2**63 - 1, -2147483648, -536577852),
            (0, 0, 1754797035),
            (1, 1, -913662660),
            (-1, 0, -237789309),
            (2**40, 256, 1774876744),
        ],
    ),
    (
        "float",
        [
            (12.34, 1095069860, -381747602),
            (-FLOAT_MAX, -8388609, 470252243),
            (FLOAT_MIN, 1, 1206721797),
            (float("inf"), 2139095040, -292175804),
            (float("-inf"), -8388608, -1433270801),
            (float("nan"), 2143289344, -480354314),
            (0.0, 0, 1362653161),
            (-0.0, -2147483648, -1185332889),
            (1.0, 1065353216, 1379734019),
            (1.5, 1069547520, -1009260869),
        ],
    ),
    (
        "double",
        [
            (12.34, 986311098, -2070733568),
            (-DOUBLE_MAX, 1048576, 14392725),
            (5e-324, 1, -8838199),
            (float("inf"), 2146435072, 1614292060),
            (float("-inf"), -1048576, 141388605),
            (float("nan"), 2146959360, 1138026565),
            (0.0, 0, 1754797035),
            (-0.0, -2147483648, -1757926548),
            (1.0, 1072693248, 804388068),
            (1.5, 1073217536, 76905473),
            (-2.25, -1073610752, 552758594),
        ],
    ),
    (
        "string",
        [
            ("Trino rocks", 1132136730, -399107423),
            ("", 0, -965378730),
            ("test string", -318923937, -138301454),
            (CJK, 1688501507, 1784416344),
            (HIGH, -1810797254, -697348811),
            ("é", -1978, -527561221),
            ("日本", -844066782, 529705047),
            ("a", 97, 1086686554),
            ("abc", 96354, -885266671),
        ],
    ),
    (
        "varchar(99)",
        [
            ("", 1, -965378730),
            ("test string", -189841218, -138301454),
            (CJK, 1899852420, 1784416344),
            (HIGH, -457487557, -697348811),
            ("é", -1017, -527561221),
            ("日本", 43436899, 529705047),
            ("abc  ", 121226369, -1964080270),
        ],
    ),
    ("char(9)", [("abc  ", 126145, -885266671), ("abc", 126145, -885266671)]),
    ("date", [(0, 0, 1362653161), (16758, 16758, 8542395), (-6983, -6983, -431619185)]),
    (
        "timestamp",
        [
            (nanoseconds(text), first, second)
            for text, first, second in [
                ("1970-01-01 00:00:00", 0, 1362653161),
                ("1970-01-01 00:00:01", 1073741824, 1321152925),
                ("1970-01-01 00:00:00.5", 500000000, -1534616616),
                ("2020-01-01 12:34:56", 394470524, -1289281679),
                ("2020-01-01 12:34:56.123", 282587324, 655003740),
                ("2020-01-01 12:34:56.123456789", 282650985, 1051484615),
                ("1969-12-31 23:59:59", 1073741823, -2005195780),
                ("1969-12-31 23:59:59.5", 573741823, 171279716),
                ("1900-01-01 00:00:00", -552247200, 308893128),
                ("2050-06-15 01:02:03.000001", -439025430, 762789644),
            ]
        ],
    ),
    (
        "decimal(38,3)",
        [
            (Decimal(text), first, second)
            for text, first, second in [
                ("0", 0, 500407381),
                ("1.000", 31, -1089647197),
                ("10", 310, 105640779),
                ("0.10", 32, -1089647197),
                ("12.34", 38256, 1616447396),
                ("-123.45", -382693, -1724696960),
                ("1000000", 31000000, 1366540624),
                ("-0.5", -154, -1283825982),
                ("99999999999999999999.99", -1148476353, 877306389),
                ("12345678901234567890.123", 647166417, 867578922),
            ]
        ],
    ),
    ("array<smallint>", [([5, 8, 13], 5066, -905011156), ([], 0, 0)]),
    ("array<string>", [([f"test{i}" for i in (1, 2, 3, 4)], 957612994, 1305539282)]),
    ("array<array<bigint>>", [([[10, 20], [-10, -20], [None]], 326368, 611324477)]),
    (
        "map<string,bigint>",
        [
            ([("key", 123), ("key2", 123456789), ("key3", -123456)], 127880789, -1910999650),
            ([], 0, 0),
        ],
    ),
    (
        "map<array<double>,map<int,string>>",
        [([([12.3, 45.7], [(123, "test99")])], -34001111, -1565874874)],
    ),
    ("struct<a:int,b:string>", [({"a": 1, "b": "a"}, 128, -907245731)]),
]


def arrow(kind: str) -> pa.DataType:
    if kind.startswith("decimal"):
        return pa.decimal128(38, 3)
    nested = {
        "array<smallint>": pa.list_(pa.int16()),
        "array<string>": pa.list_(pa.string()),
        "array<array<bigint>>": pa.list_(pa.list_(pa.int64())),
        "map<string,bigint>": pa.map_(pa.string(), pa.int64()),
        "map<array<double>,map<int,string>>": pa.map_(
            pa.list_(pa.float64()), pa.map_(pa.int32(), pa.string())
        ),
        "struct<a:int,b:string>": pa.struct([("a", pa.int32()), ("b", pa.string())]),
        "boolean": pa.bool_(),
    }
    return nested.get(kind) or ARROW.get(kind, pa.string())


def array(kind: str, values: list) -> pa.Array:  # type: ignore[type-arg]
    made = pa.array(values, arrow(kind))
    return made.cast(pa.date32()) if kind == "date" else made


@pytest.mark.parametrize(("kind", "rows"), VECTORS, ids=[kind for kind, _ in VECTORS])
@pytest.mark.parametrize("version", [1, 2])
def test_vectors(kind: str, rows: list, version: int) -> None:  # type: ignore[type-arg]
    # A null on each side, cut off again where a slice starts: offsets and nulls must not leak.
    values = [None, *(row[0] for row in rows), None]
    whole = array(kind, values)
    expected = [0, *(row[version] for row in rows), 0]
    assert bucket_hashes([whole], [parse_type(kind)], version).tolist() == expected
    assert bucket_hashes([whole[1:]], [parse_type(kind)], version).tolist() == expected[1:]


def test_timestamp_beyond_nanoseconds_of_arrow() -> None:
    seconds = np.array([253402300799])
    hashes = [hash_seconds(seconds, np.array([999999999]), v).view(np.int32) for v in (1, 2)]
    assert [int(h[0]) for h in hashes] == [1147656608, -41241568]


def test_several_columns() -> None:
    entries = pa.array([[("key", 123)]], pa.map_(pa.string(), pa.int64()))
    smalls = pa.array([[5, 8, 13]], pa.list_(pa.int16()))
    columns = [pa.array([12.34], pa.float32()), smalls, entries]
    types = [parse_type(t) for t in ("float", "array<smallint>", "map<string,bigint>")]
    assert [bucket_hashes(columns, types, v).tolist() for v in (1, 2)] == [[95411006], [932898434]]
    columns = [
        pa.array([None], pa.float64()),
        smalls,
        pa.array([None], pa.bool_()),
        entries,
        pa.array([None], pa.int8()),
    ]
    names = ("double", "array<smallint>", "boolean", "map<string,bigint>", "tinyint")
    types = [parse_type(t) for t in names]
    hashes = [bucket_hashes(columns, types, v).tolist() for v in (1, 2)]
    assert hashes == [[154207826], [-1120812524]]


def test_buckets_of_several_columns() -> None:
    columns = [pa.array([1], pa.int32()), pa.array(["two"]), pa.array([True])]
    types = [parse_type(t) for t in ("int", "string", "boolean")]
    assert bucket_hashes(columns, types, 1).tolist() == [3574518]
    assert bucket_numbers(columns, types, 16, 1).tolist() == [6]
    pair = [pa.array([1], pa.int32()), pa.array(["a"])]
    assert bucket_numbers(pair, types[:2], 8, 2).tolist() == [5]
    several = pa.array([0, 1, 2, 3, 7, 42, -1, 100], pa.int32())
    numbers = bucket_numbers([several], types[:1], 32, 2)
    assert numbers.tolist() == [9, 29, 4, 6, 8, 27, 13, 21]


def test_binary_has_no_version_2() -> None:
    column = pa.array([b"\xc3\xa9"])
    assert bucket_hashes([column], [parse_type("binary")], 1).tolist() == [-1017]
    with pytest.raises(ValueError, match="binary"):
        bucket_hashes([column], [parse_type("binary")], 2)
    assert not is_bucketable(parse_type("array<struct<x:binary>>"), 2)
    assert not is_bucketable(parse_type("timestamp with local time zone"), 1)
    assert is_bucketable(parse_type("map<binary,char(3)>"), 1)
    with pytest.raises(ValueError, match="version 3"):
        bucket_hashes([column], [parse_type("binary")], 3)


def test_large_strings_and_empty_columns() -> None:
    text = ["Trino rocks", "", None, "日本"]
    for version in (1, 2):
        small = bucket_hashes([pa.array(text)], [parse_type("string")], version)
        large = bucket_hashes([pa.array(text, pa.large_string())], [parse_type("string")], version)
        assert small.tolist() == large.tolist()
        for kind, _ in VECTORS:
            assert bucket_hashes([array(kind, [])], [parse_type(kind)], version).tolist() == []


def hashes_of(columns: list[pa.Array], kinds: list[ColumnType], version: int) -> list[int]:
    if not is_exact(columns[0].type):
        return bucket_hashes(columns, kinds, version).tolist()
    nulls = np.asarray(columns[0].is_null())
    seconds, nanos = (np.asarray(p.fill_null(0)) for p in columns[0].flatten())
    hashes = hash_seconds(seconds, nanos, version).view(np.int32)
    return np.where(nulls, 0, hashes).tolist()


@pytest.mark.parametrize("hive", ["hive3", "hive4"])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_rows_are_in_the_buckets_that_hive_chose(name: str, hive: str) -> None:
    """Hive's own hash() and murmur_hash(), and the bucket it wrote each row to."""
    lines = (DATA / hive / "expected" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    expected = {(r["row__id"]["bucketid"], r["row__id"]["rowid"]): r for r in rows}
    kinds = [parse_type(kind) for kind in KINDS[name]]
    count = 8 if name == "b_multi" else 4
    seen = 0
    for path in sorted((DATA / hive / name).glob("delta_*/bucket_*")):
        events = read_events(str(path), exact=True)
        columns = events.column("row").combine_chunks().flatten()[-len(kinds) :]
        keys = zip(events["bucket"].to_pylist(), events["rowId"].to_pylist(), strict=True)
        wanted = [expected[key] for key in keys]
        for version in (1, 2):
            if all(is_bucketable(kind, version) for kind in kinds):
                hashes = hashes_of(columns, kinds, version)
                assert hashes == [row[f"h{version}"] for row in wanted]
                if version == (1 if name == "b_v1" else 2):
                    numbers = [(h & 0x7FFFFFFF) % count for h in hashes]
                    # ORC gave back another value than Hive hashed: its last second before 1970.
                    bent = [name == "b_timestamp" and row["k"] == 8 for row in wanted]
                    found = {n for n, b in zip(numbers, bent, strict=True) if not b}
                    assert found <= {int(path.name.split("_")[1])}
        seen += len(wanted)
    assert seen == len(expected) > (2 if name == "b_boolean" else 50)
