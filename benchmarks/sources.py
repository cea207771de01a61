"""The data: TPC-H lineitem from tpchgen-cli, and the rows that MERGE brings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from workload import MERGE_ROWS, merge_source

LINEITEM = "lineitem.parquet"
ROWS_OF_GROUP = 125_000
NEW_KEYS_FROM = 1_000_000_000


def make_sources(scale: float, directory: Path) -> None:
    """Make the files in ``directory`` that are not there."""
    directory.mkdir(parents=True, exist_ok=True)
    if not (directory / LINEITEM).exists():
        make_lineitem(scale, directory)
    for step, rows in MERGE_ROWS.items():
        path = directory / f"{merge_source(step)}.parquet"
        if not path.exists():
            make_merge_source(directory / LINEITEM, path, rows)


def make_lineitem(scale: float, directory: Path) -> None:
    generator = Path(sys.executable).with_name("tpchgen-cli")
    arguments = ["parquet", "-s", str(scale), "--output-dir", str(directory)]
    subprocess.run([str(generator), *arguments, "--tables", "lineitem"], check=True)


def make_merge_source(source: Path, target: Path, rows: int) -> None:
    """Write ``rows`` rows: half change a row of lineitem, half have an order key of their own.

    Drawn with a fixed seed, scattered over the table, in the table's order.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(source) as lineitem:
        there = lineitem.metadata.num_rows
        size = min(rows, there)
        drawn = np.random.default_rng(1).choice(there, size, replace=False)
        changed = rows_at(lineitem, np.sort(drawn[: size // 2]))
        new = rows_at(lineitem, np.sort(drawn[size // 2 :]))

    changed = replaced(changed, "l_comment", pa.array(["merged"] * changed.num_rows))
    changed = replaced(changed, "l_quantity", pc.add(changed["l_quantity"], 50))
    new = replaced(new, "l_orderkey", pc.add(new["l_orderkey"], NEW_KEYS_FROM))
    rows = pa.concat_tables([changed, new])
    # Spark's tasks share a file by its row groups.
    pq.write_table(rows, target, compression="zstd", row_group_size=ROWS_OF_GROUP)


def rows_at(file, places):
    """The rows at these places of a Parquet file, which ascend. Texts have the plain type."""
    import numpy as np
    import pyarrow as pa

    plain = pa.schema(
        pa.field(f.name, pa.string() if pa.types.is_string_view(f.type) else f.type)
        for f in file.schema_arrow
    )
    found, first = [], 0
    for group in range(file.num_row_groups):
        end = first + file.metadata.row_group(group).num_rows
        inside = places[np.searchsorted(places, first) : np.searchsorted(places, end)]
        found.append(file.read_row_group(group).cast(plain).take(inside - first))
        first = end
    return pa.concat_tables(found)


def replaced(table, column, values):
    """``table`` with other values in one column, its type kept."""
    index = table.schema.get_field_index(column)
    field = table.schema.field(index)
    return table.set_column(index, field, values.cast(field.type))
