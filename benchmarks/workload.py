"""What is timed: the queries and statements, the same text for every engine."""

from __future__ import annotations

from dataclasses import dataclass

READS = ("q6", "q1", "full", "point", "part")
MERGE_ROWS = {"merge_two": 2, "merge": 60_000, "merge_delete": 60_000, "merge_million": 1_000_000}
UPDATES = ("update", "update_row", "update_tenth", "update_all")
DELETES = ("delete", "delete_half")
WRITES = (*DELETES, *UPDATES, *MERGE_ROWS)
COMPACT = "compact"
STEPS = ("load", *READS, *WRITES, COMPACT)
READS_AFTER_DELETE = ("q6", "q1", "full")

KEYS = ("l_orderkey", "l_linenumber")

DELETED_BY_MERGE = "l_returnflag = 'R'"
"""The matched rows that `merge_delete` deletes: about a quarter."""

# Above every l_quantity of TPC-H, so that a lost update shows in the sums.
SET_COLUMN, SET_VALUE = "l_quantity", "99"

Q6 = """
SELECT sum(l_extendedprice * l_discount) AS revenue
FROM {table}
WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
  AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24
"""
Q1 = """
SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty,
  sum(l_extendedprice) AS sum_base_price,
  sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
  avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc,
  count(*) AS count_order
FROM {table}
WHERE l_shipdate <= DATE '1998-09-02'
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus
"""
CHECK = """
SELECT count(*), sum(l_discount), sum(l_quantity), sum(l_orderkey) FROM {table}
"""


def merge_source(step: str) -> str:
    """The name of the view that a MERGE reads, and of its file."""
    return f"{step}_source"


@dataclass(frozen=True)
class Workload:
    """The statements for lineitem of one scale factor."""

    scale: float

    @property
    def point(self) -> str:
        """One row in the middle of the table; TPC-H uses the order keys 0 to 7 of every 32."""
        return f"l_orderkey = {32 * round(93_750 * self.scale) + 7} AND l_linenumber = 1"

    @property
    def part(self) -> str:
        """Some thirty rows, scattered: the table is sorted by other columns."""
        return f"l_partkey = {round(100_000 * self.scale)}"

    def where(self, step: str) -> str:
        conditions = {
            "delete": "l_orderkey % 100 = 8",
            "delete_half": "l_orderkey % 2 = 0",
            "update": "l_orderkey % 100 = 7",
            "update_row": self.point,
            "update_tenth": "l_orderkey % 10 = 7",
            "update_all": "true",
        }
        return conditions[step]

    def query(self, kind: str, table: str) -> str:
        queries = {
            "q6": Q6,
            "q1": Q1,
            "point": f"SELECT * FROM {{table}} WHERE {self.point}",
            "part": f"SELECT * FROM {{table}} WHERE {self.part} ORDER BY {', '.join(KEYS)}",
        }
        return queries[kind].format(table=table).strip()

    def statement(self, step: str, table: str) -> str:
        """The write of ``step``."""
        if step in DELETES:
            return f"DELETE FROM {table} WHERE {self.where(step)}"
        if step in MERGE_ROWS:
            source = merge_source(step)
            on = " AND ".join(f"t.{key} = s.{key}" for key in KEYS)
            deleted = f"t.{DELETED_BY_MERGE}"
            first = f"WHEN MATCHED AND {deleted} THEN DELETE " if step == "merge_delete" else ""
            return (
                f"MERGE INTO {table} t USING {source} s ON {on} {first}"
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            )
        return f"UPDATE {table} SET {SET_COLUMN} = {SET_VALUE} WHERE {self.where(step)}"
