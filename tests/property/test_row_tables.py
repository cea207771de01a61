"""Random inserts, overwrites, compactions of plain and insert-only tables beside a list of rows."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import acidsql
from acidsql.engines.spark import job

INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
KINDS = {
    "plain-text": ("STORED AS TEXTFILE", False),
    "plain-orc-partitioned": ("PARTITIONED BY (p string) STORED AS ORC", True),
    "insert-only-parquet": (f"STORED AS PARQUET {INSERT_ONLY}", False),
    "insert-only-orc-partitioned": (
        f"PARTITIONED BY (p string) CLUSTERED BY (k) INTO 2 BUCKETS STORED AS ORC {INSERT_ONLY}",
        True,
    ),
    "insert-only-text": (
        f"CLUSTERED BY (s) INTO 2 BUCKETS STORED AS TEXTFILE {INSERT_ONLY}",
        False,
    ),
}
Row = tuple[Any, ...]

rows = st.tuples(
    st.one_of(st.none(), st.integers(0, 9)),
    st.one_of(st.none(), st.sampled_from(["a", "", " ", "it's", "ä€", "\\", '"', ","])),
    st.sampled_from([None, "x", "y/z"]),
)
some_rows = st.lists(rows, min_size=1, max_size=5)


def text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


class RowsMachine(RuleBasedStateMachine):
    """One table and the list of its rows."""

    kind: str
    spark: Any

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.mkdtemp()
        self.session = acidsql.connect(self.directory, metastore="memory:", spark=self.spark)
        clause, self.partitioned = KINDS[self.kind]
        self.session.execute(f"CREATE TABLE t (k int, s string) {clause}")
        self.rows: list[Row] = []

    def teardown(self) -> None:
        self.session.close()
        shutil.rmtree(self.directory)

    def source(self, given: list[Row], computed: bool) -> str:
        width = 3 if self.partitioned else 2
        values = ", ".join(f"({', '.join(map(text, row[:width]))})" for row in given)
        if not computed:
            return f"VALUES {values}"
        return f"SELECT CAST(col1 AS int), * EXCEPT (col1) FROM (VALUES {values})"

    def cut(self, given: list[Row]) -> list[Row]:
        return [row if self.partitioned else row[:2] for row in given]

    @rule(given=some_rows, computed=st.booleans())
    def insert(self, given: list[Row], computed: bool) -> None:
        result = self.session.execute(f"INSERT INTO t {self.source(given, computed)}")
        assert result.rows_inserted == len(given)
        self.rows += self.cut(given)

    @rule(given=some_rows, computed=st.booleans())
    def overwrite(self, given: list[Row], computed: bool) -> None:
        self.session.execute(f"INSERT OVERWRITE TABLE t {self.source(given, computed)}")
        reached = {row[2] for row in given} if self.partitioned else set()
        kept = [row for row in self.rows if self.partitioned and row[2] not in reached]
        self.rows = kept + self.cut(given)

    @rule(least=st.integers(0, 9))
    def overwrite_with_itself(self, least: int) -> None:
        self.session.execute(f"INSERT OVERWRITE TABLE t SELECT * FROM t WHERE k >= {least}")
        found = [row for row in self.rows if row[0] is not None and row[0] >= least]
        reached = {row[2] for row in found} if self.partitioned else set()
        self.rows = found + [r for r in self.rows if self.partitioned and r[2] not in reached]

    @rule()
    def truncate(self) -> None:
        self.session.execute("TRUNCATE TABLE t")
        self.rows = []

    @precondition(lambda self: self.kind.startswith("insert-only"))
    @rule(kind=st.sampled_from(["minor", "major"]), cleaned=st.booleans())
    def compact(self, kind: str, cleaned: bool) -> None:
        places = [""]
        if self.partitioned:
            places = [f"PARTITION (p = {text(p)})" for p in sorted({r[2] or "" for r in self.rows})]
        for place in places:
            clause = place.replace("''", "NULL")
            self.session.execute(f"ALTER TABLE t {clause} COMPACT '{kind}' AND WAIT")
        if cleaned:
            self.session.run_cleaner()

    @invariant()
    def same_rows(self) -> None:
        found = self.session.execute("SELECT * FROM t").fetchall()
        assert Counter(found) == Counter(self.rows)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "examples",
    [pytest.param(1, id="short"), pytest.param(5, id="long", marks=pytest.mark.thorough)],
)
def test_rows_are_those_of_the_list(
    kind: str, examples: int, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind != "plain-text":  # by tasks, where the driver is not forced to
        monkeypatch.setattr(job, "DRIVER_BYTES_MAX", 0)
        monkeypatch.setattr(job, "DRIVER_ROWS_MIN", 0)

    class Machine(RowsMachine):
        pass

    Machine.kind, Machine.spark = kind, spark
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=6,
            phases=(Phase.explicit, Phase.generate),
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
