#!/usr/bin/env python3
"""Time compactions beside copying the same files, and beside pyarrow reading and writing them.

Lineitem is two deltas of two buckets each. Each pair is measured in turn, in processes of their
own; the figures are medians, and the range of all samples. No Spark runs.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc
from sources import LINEITEM, make_lineitem

from acidsql.backends.storage.locations import storage_for
from acidsql.engines.local.compact import compact
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from acidsql.orc.footer import read_tail
from acidsql.orc.merge import merge_major
from acidsql.orc.merge_rows import MergeInput, MergeOutput
from acidsql.orc.writer import CODECS, VERSION_FILE_CONTENT, EventWriter
from acidsql.plans.compact import CompactPlan
from acidsql.ports.engine import PartitionLocation, TableSnapshot

WORK = Path(__file__).resolve().parent / "work" / "compaction"
P0 = 1 << 29
CODEC = "zlib"
STRIPE_BYTES = 8 << 20
"""Small enough for twenty stripes at scale 1; Hive's inserts have this size."""
BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Goal:
    what: str
    ours: str
    beside: str
    limit: float


GOALS = (
    Goal("minor, nothing deleted / copying the files", "minor", "copy", 2),
    Goal("major, a tenth of the stripes hit / all hit", "major-tenth", "major-all", 0.25),
    Goal("major, all stripes hit / pyarrow reading and writing", "major-all", "pyarrow", 1.2),
)


def columns(schema: pa.Schema) -> tuple[Column, ...]:
    names = {"int64": "bigint", "int32": "int", "string": "string", "date32[day]": "date"}

    def kind(field: pa.Field) -> str:
        if pa.types.is_decimal(field.type):
            return f"decimal({field.type.precision},{field.type.scale})"
        return names[str(field.type)]

    return tuple(Column(field.name, parse_type(kind(field))) for field in schema)


def lineitem(scale: float) -> pq.ParquetFile:
    WORK.mkdir(parents=True, exist_ok=True)
    if not (WORK / LINEITEM).exists():
        make_lineitem(scale, WORK)
    return pq.ParquetFile(WORK / LINEITEM)


def make_table(scale: float) -> None:
    """Two deltas of two buckets, and two delete deltas that a measurement links in."""
    source, schema = lineitem(scale), lineitem_schema()
    batches = source.iter_batches(BATCH_ROWS)
    files = [(write_id, bucket) for write_id in (1, 2) for bucket in range(2)]
    left = -(-source.metadata.num_rows // BATCH_ROWS)
    for at, (write_id, bucket) in enumerate(files):
        count = left // (len(files) - at)
        left -= count
        path = WORK / "table" / f"delta_{write_id:07d}_{write_id:07d}_0000"
        path.mkdir(parents=True, exist_ok=True)
        (path / "_orc_acid_version").write_bytes(VERSION_FILE_CONTENT)
        name = str(path / f"bucket_{bucket:05d}")
        with EventWriter(name, columns(schema), CODEC, stripe_bytes=STRIPE_BYTES) as writer:
            for batch in itertools.islice(batches, count):
                (rows,) = pa.Table.from_batches([batch]).cast(schema).to_batches()
                writer.write_inserts(rows, WriteId(write_id), P0 + (bucket << 16))
    for kind, share in (("tenth", 0.1), ("all", 1.0)):
        for bucket in range(2):
            doomed = _doomed(bucket, share)
            path = WORK / kind / "delete_delta_0000003_0000003_0000"
            path.mkdir(parents=True, exist_ok=True)
            (path / "_orc_acid_version").write_bytes(VERSION_FILE_CONTENT)
            with EventWriter(str(path / f"bucket_{bucket:05d}"), columns(schema), CODEC) as writer:
                writer.write_deletes(doomed, WriteId(3))


def _doomed(bucket: int, share: float) -> pa.RecordBatch:
    """Every hundredth row of this share of the stripes, the first ones."""
    found: list[tuple[int, int]] = []
    paths = sorted((WORK / "table").glob(f"*/bucket_{bucket:05d}"))
    tails = [read_tail(str(path)) for path in paths]
    left = max(1, round(share * sum(len(tail.stripes) for tail in tails)))
    for write_id, tail in enumerate(tails, 1):
        rows = sum(stripe.rows for stripe in tail.stripes[:left])
        left = max(0, left - len(tail.stripes))
        found += [(write_id, number) for number in range(0, rows, 100)]
    write_ids, numbers = (np.array(part, np.int64) for part in zip(*found, strict=True))
    property_ = pa.array(np.full(len(found), P0 + (bucket << 16), np.int32))
    return pa.record_batch(
        [pa.array(write_ids), property_, pa.array(numbers)],
        names=["originalTransaction", "bucket", "rowId"],
    )


def fresh(deletes: str | None) -> Path:
    """The table under a new directory, with hard-linked files."""
    target = WORK / "run"
    shutil.rmtree(target, ignore_errors=True)
    for source in ["table", *([deletes] if deletes else [])]:
        shutil.copytree(WORK / source, target, copy_function=os.link, dirs_exist_ok=True)
    return target


def run_compaction(kind: str, deletes: str | None) -> None:
    path = fresh(deletes)
    of = columns(lineitem_schema())
    table = Table(TableName("default", "t"), of, str(path), parameters={"orc.compress": CODEC})
    snapshot = TableSnapshot(
        table, (PartitionLocation(None, str(path)),), ValidWriteIdList("default.t", WriteId(3))
    )
    plan = CompactPlan(table=table.name, partition=None, type=kind)
    warm_up(of)
    started = time.perf_counter()
    assert compact(plan, snapshot, ValidTxnList(TxnId(9)), storage_for(str(path)), TxnId(5))
    report(time.perf_counter() - started)


def warm_up(of: tuple[Column, ...]) -> None:
    """Load what a compaction loads: a service has done this long ago."""
    path = WORK / "warm"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for name in ("a", "b"):
        with EventWriter(str(path / name), of, CODEC) as writer:
            first = next(pq.ParquetFile(WORK / LINEITEM).iter_batches(1))
            rows = pa.Table.from_batches([first]).cast(lineitem_schema()).to_batches()[0]
            writer.write_inserts(rows, WriteId(ord(name)), P0)
    inputs = [MergeInput(str(path / name), name) for name in ("a", "b")]
    seen = ValidWriteIdList("default.t", WriteId(999))
    merge_major(inputs, [], seen, MergeOutput(str(path / "out"), of, CODEC))


def lineitem_schema() -> pa.Schema:
    schema = pq.read_schema(WORK / LINEITEM)
    return pa.schema(
        [
            pa.field(f.name, pa.string() if pa.types.is_string_view(f.type) else f.type)
            for f in schema
        ]
    )


def run_copy() -> None:
    """Copy the files as a compaction writes its own: durable before it goes on."""
    storage = storage_for(str(WORK))
    target = WORK / "run"
    shutil.rmtree(target, ignore_errors=True)
    started = time.perf_counter()
    for source in sorted((WORK / "table").glob("*/*")):
        copy = target / source.relative_to(WORK / "table")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        storage.put_file(str(copy), str(copy))
    report(time.perf_counter() - started)


def run_pyarrow() -> None:
    """Read and write the same rows with bare pyarrow, a thread for each bucket."""
    shutil.rmtree(WORK / "run", ignore_errors=True)
    (WORK / "run").mkdir()
    started = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(_rewrite, range(2)))
    report(time.perf_counter() - started)


def _rewrite(bucket: int) -> None:
    import pyarrow.dataset as ds

    path = str(WORK / "run" / f"bucket_{bucket:05d}")
    with orc.ORCWriter(path, compression=CODECS[CODEC], stripe_size=64 << 20) as writer:
        for source in sorted((WORK / "table").glob(f"*/bucket_{bucket:05d}")):
            fragment = ds.OrcFileFormat().make_fragment(str(source), pa.fs.LocalFileSystem())
            for batch in fragment.to_batches(batch_size=BATCH_ROWS, use_threads=False):
                writer.write(pa.Table.from_batches([batch]))


def report(seconds: float) -> None:
    # Not ru_maxrss: a child begins with its parent's.
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": round(peak)}))


MEASURES: dict[str, Callable[[], None]] = {
    "minor": lambda: run_compaction("minor", None),
    "copy": run_copy,
    "major-tenth": lambda: run_compaction("major", "tenth"),
    "major-all": lambda: run_compaction("major", "all"),
    "pyarrow": run_pyarrow,
}


def main() -> int:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1, help="TPC-H scale factor (1)")
    parser.add_argument("--runs", type=int, default=3, help="samples of each (3)")
    parser.add_argument("--measure", choices=MEASURES, help="take one sample, in this process")
    options = parser.parse_args()
    if options.measure:
        MEASURES[options.measure]()
        return 0
    shutil.rmtree(WORK, ignore_errors=True)
    make_table(options.scale)
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in MEASURES}
    for _ in range(options.runs):
        for name in MEASURES:
            command = [sys.executable, __file__, "--measure", name]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            samples[name].append(json.loads(done.stdout))
    for name, taken in samples.items():
        seconds = sorted(sample["seconds"] for sample in taken)
        peak = max(sample["peak_mb"] for sample in taken)
        print(
            f"{name:12} {median(seconds):6.2f} s ({seconds[0]:.2f} to {seconds[-1]:.2f}),"
            f" peak of the process {peak:.0f} MB"
        )
    for goal in GOALS:
        ours, beside = (
            median(sample["seconds"] for sample in samples[name])
            for name in (goal.ours, goal.beside)
        )
        met = "met" if ours / beside <= goal.limit else "MISSED"
        print(f"{goal.what}: {ours / beside:.2f}, goal {goal.limit}: {met}")
    shutil.rmtree(WORK / "run", ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
