"""What Hive wrote is read as Hive read it: every state of every warehouse in tests/data."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections import Counter
from collections.abc import Container
from decimal import Decimal
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.orc.footer import read_tail
from acidsql.orc.reader import read_events, read_row_ids
from acidsql.orc.schema import EVENT_COLUMNS
from acidsql.session import Session
from tests.hive_written import STATES, hive_rows, snapshot_of

ALL_TYPES = """
  id int, ti tinyint, si smallint, i int, bi bigint, f float, d double, dec1 decimal(10,2),
  dec2 decimal(38,18), s string, c char(10), vc varchar(20), dt date, ts timestamp, bin binary,
  bo boolean, arr array<int>, mp map<string,int>, st struct<a:int,b:string>,
  nest array<struct<k:string,v:map<int,array<double>>>>
"""

TABLES = [
    # case, states, columns, partition columns
    ("alltypes", "[0-9]*", ALL_TYPES, ""),
    ("bucketed", "b_multi", "a int, b string, c date", ""),
    ("bucketed", "b_int-*", "k int, v int", ""),
    ("bucketed", "b_v1", "k int, v string", ""),
    ("bucketed", "b_decimal", "k int, v decimal(10,2)", ""),
    ("bucketed", "b_varchar", "k int, v varchar(20)", ""),
    ("bucketed", "b_char", "k int, v char(20)", ""),
    ("bucketed", "b_*", "k int, v {type}", ""),
    ("converted", "[!m]*", "id int, v string", ""),
    ("employee", "*", "id int, name string, salary int", ""),
    ("evolution", "1-*", "id int, name string, amount int, extra string", ""),
    ("evolution", "2-*", "id int, fullname string, amount int, extra string", ""),
    ("evolution", "[3-5]-*", "id int, fullname string, amount bigint, extra string", ""),
    ("evolution", "ev2-*", "id int, fullname string, amount int", ""),
    ("evolution", "p1", "id int, name string, extra int", "p int"),
    ("evolution", "p2-*", "id int, name string, extra int, extra2 int", "p int"),
    ("overwrite", "p*", "id int, v string", "p int"),
    ("overwrite", "*", "id int, v string", ""),
    ("partitioned", "*", "id int, v string", "d string, k int"),
    ("streaming", "*", "id int, v string", ""),
]


def columns_of(case: str, state: str) -> tuple[str, str]:
    for name, pattern, columns, keys in TABLES:
        if name == case and fnmatch(state, pattern):
            return columns.format(type=state.removeprefix("b_")), keys
    raise LookupError(f"{case}: {state}")


def expected_states(case: str, hive: str) -> list[str]:
    """The states of which Hive printed the rows of a full-ACID table."""
    printed = (STATES / case / hive / "expected").glob("*.jsonl")
    found = sorted(p.stem for p in printed if p.with_suffix(".snapshot").exists())
    return [s for s in found if any(c == case and fnmatch(s, p) for c, p, _, _ in TABLES)]


def canonical(row: dict[str, Any], chars: Container[str] = ()) -> str:
    """One spelling of a row, whoever printed it; the padding of char columns does not count."""
    row = {k: v.rstrip(" ") if v is not None and k in chars else v for k, v in row.items()}
    return json.dumps({k: plain(v) for k, v in row.items()}, sort_keys=True)


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dicts; times to the microsecond, which is all that Spark has."""
    match value:
        case datetime.datetime():
            return to_the_microsecond(value.isoformat(" "))
        case datetime.date():
            return value.isoformat()
        case Decimal():
            whole, _, fraction = format(value, "f").partition(".")
            return f"{whole}.{fraction}".rstrip("0").rstrip(".")
        case bytes() | bytearray():
            return bytes(value).decode()
        case float() if not math.isfinite(value):
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        case float():
            return float(f"{value:.6g}")
        case str():
            return to_the_microsecond(value)
        case dict():
            return {str(k): plain(v) for k, v in value.items()}
        case tuple() | list():
            return [plain(v) for v in value]
    return value


def connected(hive: str, tmp_path: Path, spark: Any) -> Session:
    """A session that matches the columns of older files as this Hive does."""
    by_position = "true" if hive == "hive4" else "false"
    config = {"orc.force.positional.evolution": by_position}
    return acidsql.connect(tmp_path / "warehouse", spark=spark, config=config)


def to_the_microsecond(text: str) -> str:
    """A time of day without trailing zeros; any other text as it is."""
    time, dot, fraction = text.rpartition(".")
    if not (dot and fraction.isdigit() and time[-3:-2] == ":"):
        return text
    return f"{time}.{fraction[:6]}".rstrip("0").rstrip(".")


@pytest.mark.parametrize("hive", ["hive3", "hive4"])
@pytest.mark.parametrize("case", sorted({case for case, *_ in TABLES}))
def test_every_state(case: str, hive: str, spark: Any, tmp_path: Path) -> None:
    wrong = {}
    with connected(hive, tmp_path, spark) as session:
        for state in expected_states(case, hive):
            columns, keys = columns_of(case, state)
            chars = set(re.findall(r"(\w+) char\(", columns))
            snapshot = snapshot_of(case, hive, state)
            directory = STATES / case / hive / state
            if not directory.exists():  # Hive left it empty
                directory = tmp_path / state
                directory.mkdir()
            frame = session.read_acid(
                str(directory),
                schema=columns,
                partitioned_by=keys,
                valid_write_ids=snapshot["validWriteIds"],
                valid_txns=snapshot["validTxns"],
                row_id=True,
            )
            assert frame.columns[0] == "row__id"
            found = Counter(canonical(r.asDict(recursive=True), chars) for r in frame.collect())
            expected = Counter(canonical(r, chars) for r in hive_rows(case, hive, state))
            if found != expected:
                wrong[state] = (found - expected, expected - found)
    assert wrong == {}


def test_files_of_a_real_hive() -> None:
    files = [f for f in sorted(STATES.parent.glob("**/bucket_*")) if is_whole(f)]
    assert len(files) > 300
    for file in files:
        events = read_events(str(file), exact=True)
        assert tuple(events.schema.names) == EVENT_COLUMNS
        assert events.num_rows == read_tail(str(file)).rows == read_row_ids(str(file)).num_rows


def is_whole(file: Path) -> bool:
    """Not what a streaming writer still had open."""
    return file.stat().st_size > 0 and not file.with_name(f"{file.name}_flush_length").exists()
