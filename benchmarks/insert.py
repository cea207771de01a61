"""How long session.insert takes beside pyarrow's own ORC writer, for one table in memory.

    python benchmarks/insert.py [rows]

Each round writes the same rows once with pyarrow (one ORC file, the same codec) and then once by
session.insert into each table. The ratios are the medians of three rounds.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import orc

import acidsql

ROUNDS = 3
COLUMNS = (
    "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int,"
    " l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2),"
    " l_tax decimal(15,2), l_returnflag string, l_linestatus string, l_shipdate date,"
    " l_commitdate date, l_receiptdate date, l_shipinstruct string, l_shipmode string,"
    " l_comment string"
)
ACID = "TBLPROPERTIES ('transactional' = 'true')"
TABLES = {
    "one file": f"CREATE TABLE one_file ({COLUMNS}) {ACID}",
    "8 buckets": (
        f"CREATE TABLE buckets ({COLUMNS}) CLUSTERED BY (l_orderkey) INTO 8 BUCKETS {ACID}"
    ),
    "100 partitions": (f"CREATE TABLE partitions ({COLUMNS}) PARTITIONED BY (part int) {ACID}"),
    "100 partitions, 4 buckets": (
        f"CREATE TABLE both ({COLUMNS}) PARTITIONED BY (part int)"
        f" CLUSTERED BY (l_orderkey) INTO 4 BUCKETS {ACID}"
    ),
}
NAMES = dict(zip(TABLES, ("one_file", "buckets", "partitions", "both"), strict=True))


def lineitem(rows: int) -> pa.Table:
    """Rows like those of TPC-H's lineitem."""
    random = np.random.default_rng(0)

    def decimals(low: int, high: int) -> pa.Array:
        cents = pa.array(random.integers(low, high, rows))
        whole = cents.cast(pa.decimal128(19, 0))
        hundredth = pa.scalar("0.01").cast(pa.decimal128(3, 2))
        return pa.compute.multiply(whole, hundredth).cast(pa.decimal128(15, 2))

    def choice(*texts: str) -> pa.Array:
        return pa.array(texts).take(pa.array(random.integers(0, len(texts), rows)))

    days = random.integers(8036, 10562, rows).astype(np.int32)
    words = ["carefully", "final", "deposits", "sleep", "quickly", "ironic", "requests", "above"]
    comments = [" ".join(random.choice(words, random.integers(2, 6))) for _ in range(5000)]
    return pa.table(
        {
            "l_orderkey": np.sort(random.integers(1, rows * 4 + 1, rows)),
            "l_partkey": random.integers(1, 200_000, rows),
            "l_suppkey": random.integers(1, 10_000, rows),
            "l_linenumber": random.integers(1, 8, rows).astype(np.int32),
            "l_quantity": decimals(100, 5100),
            "l_extendedprice": decimals(90_000, 10_000_000),
            "l_discount": decimals(0, 11),
            "l_tax": decimals(0, 9),
            "l_returnflag": choice("R", "A", "N"),
            "l_linestatus": choice("O", "F"),
            "l_shipdate": pa.array(days).cast(pa.date32()),
            "l_commitdate": pa.array(days + 30).cast(pa.date32()),
            "l_receiptdate": pa.array(days + 12).cast(pa.date32()),
            "l_shipinstruct": choice("DELIVER IN PERSON", "COLLECT COD", "NONE"),
            "l_shipmode": choice("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"),
            "l_comment": choice(*comments),
        }
    )


def seconds(work: Callable[..., object], *args: object, **options: object) -> float:
    started = time.perf_counter()
    work(*args, **options)
    return time.perf_counter() - started


def main(rows: int) -> None:
    data = lineitem(rows)
    part = pa.array(np.random.default_rng(1).integers(0, 100, rows).astype(np.int32))
    placed = data.append_column("part", part)
    times: dict[str, list[float]] = {"pyarrow": []}
    with tempfile.TemporaryDirectory() as place, acidsql.connect(f"{place}/warehouse") as session:
        for statement in TABLES.values():
            session.execute(statement)
        for _ in range(ROUNDS):
            file = str(Path(place, "plain.orc"))
            times["pyarrow"].append(seconds(orc.write_table, data, file, compression="snappy"))
            for label, name in NAMES.items():
                given = placed if "partitions" in label else data
                times.setdefault(label, []).append(seconds(session.insert, name, given))
    print(f"{rows:,} rows of 16 columns; pyarrow: {statistics.median(times['pyarrow']):.2f} s")
    for label in NAMES:
        ratios = [a / b for a, b in zip(times[label], times["pyarrow"], strict=True)]
        took = statistics.median(times[label])
        print(f"{label:28} {took:6.2f} s   {statistics.median(ratios):5.2f} x pyarrow")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
