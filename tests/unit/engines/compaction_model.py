"""A table that is written and compacted, and what must be read of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa

from acidsql.engines.changes import ChangeLeg, ChangeWriter, writing_order
from acidsql.engines.local.compact import compact
from acidsql.engines.local.rebalance import rebalance
from acidsql.engines.output import Output
from acidsql.engines.publish import publish
from acidsql.engines.rows import Placement, write_rows
from acidsql.engines.target import TABLE_ITSELF, Target
from acidsql.layout.dir_names import METADATA_FILE
from acidsql.layout.obsolete import obsolete
from acidsql.model.ids import StatementId, TxnId, WriteId
from acidsql.model.own_path import OwnPath
from acidsql.model.snapshot import ValidTxnList
from acidsql.model.table import Table
from acidsql.plans.compact import CompactPlan
from tests.unit.engines.tables import EVERYTHING, NAME, STORAGE, changes, contents, snapshot
from tests.unit.engines.tables import target as target_of

RowKey = tuple[int, int, int]
Kind = Literal["minor", "major"]


@dataclass
class Model:
    """A table on disk and what must be read of it."""

    of: Table
    rows: dict[RowKey, int | None] = field(default_factory=dict)
    write_id: int = 0
    txn_id: int = 0
    aborted: list[int] = field(default_factory=list)

    @property
    def write_target(self) -> Target:
        return target_of(self.of, self.write_id)

    def insert(self, given_values: list[int | None], *, commit: bool = True) -> None:
        self.write_id += 1
        rows = pa.table({"k": pa.array(given_values, pa.int32())})
        buckets = Placement.of(self.of).buckets(rows, self.write_id % 2).tolist()
        with Output(self.write_target) as output:
            codes = pa.array([0] * rows.num_rows).to_numpy()
            write_rows(
                output, rows, codes, [TABLE_ITSELF], Placement.of(self.of), StatementId(0),
                self.write_id % 2,
            )  # fmt: skip
        publish(output.files, output.target)
        if not commit:
            self.aborted.append(self.write_id)
            return
        numbers: dict[int, int] = {}
        for value, bucket in zip(given_values, buckets, strict=True):
            number = numbers[bucket] = numbers.get(bucket, -1) + 1
            self.rows[self.write_id, 1 << 29 | bucket << 16, number] = value

    def change(self, chosen: list[RowKey], *, update: bool, commit: bool = True) -> None:
        self.write_id += 1
        statement = StatementId(self.write_id % 3)
        table_of_changes = changes(
            [(0, *row_id, 0) for row_id in chosen],
            {"k": pa.array([self._changed(self.rows[r]) for r in chosen], pa.int32())},
        )
        with Output(self.write_target) as output:
            leg = ChangeLeg(statement, is_update=update)
            ChangeWriter(output, [TABLE_ITSELF], [leg]).write(writing_order(table_of_changes))
        publish(output.files, output.target)
        if not commit:
            self.aborted.append(self.write_id)
            return
        numbers: dict[int, int] = {}
        for row_id in sorted(chosen, key=lambda r: (r[1] >> 16 & 4095, r)):
            old = self.rows.pop(row_id)
            if update:
                bucket = row_id[1] >> 16 & 4095
                number = numbers[bucket] = numbers.get(bucket, -1) + 1
                new = (self.write_id, 1 << 29 | bucket << 16 | statement, number)
                self.rows[new] = self._changed(old)

    @staticmethod
    def _changed(value: int | None) -> int | None:
        return value

    def compact(self, kind: Kind) -> bool:
        write_ids = snapshot(self.of, self.write_id, self.aborted)
        compactor = type(write_ids)(
            self.of, write_ids.partitions, write_ids.write_ids.for_compactor()
        )
        plan = CompactPlan(table=NAME, partition=None, type=kind)
        self.txn_id += 1
        return compact(plan, compactor, EVERYTHING, STORAGE, TxnId(self.txn_id))

    def rebalance(self, buckets: int | None = None) -> None:
        """New row ids for all rows: their write id is the next one, their order stays."""
        self.write_id += 1
        write_ids = snapshot(self.of, self.write_id, self.aborted)
        compactor = type(write_ids)(
            self.of, write_ids.partitions, write_ids.write_ids.for_compactor()
        )
        plan = CompactPlan(table=NAME, partition=None, type="rebalance", buckets=buckets)
        self.txn_id += 1
        own = WriteId(self.write_id)
        rebalance(plan, compactor, EVERYTHING, STORAGE, TxnId(self.txn_id), own)
        values = [value for _, value in sorted(self.rows.items())]
        files = buckets or self.files_of_rows()
        per_file = max(1, -(-len(values) // files))
        self.rows = {
            (self.write_id, 1 << 29 | n // per_file << 16, n): value
            for n, value in enumerate(values)
        }

    def files_of_rows(self) -> int:
        """How many buckets the base of the last rebalance, which is the newest directory, has."""
        newest = Path(self.of.location) / f"base_{self.write_id:07d}"
        return len([p for p in newest.iterdir() if p.name.startswith("bucket_")])

    def clean(self) -> None:
        files = STORAGE.list_files(self.of.location)
        markers = {
            f.path.rpartition("/")[0]: "compacted" for f in files if f.path.endswith(METADATA_FILE)
        }
        write_ids = snapshot(self.of, self.write_id, self.aborted).write_ids
        for path in obsolete(files, write_ids, ValidTxnList(TxnId(10**9)), markers):
            STORAGE.remove(OwnPath(self.of.location, path))

    def check(self) -> None:
        (seen,) = contents(self.of, self.write_id, aborted=self.aborted)
        assert {row_id: row["k"] for row_id, row in seen.rows.items()} == self.rows
        assert not [p for p in Path(self.of.location).iterdir() if p.name.startswith("_")]
