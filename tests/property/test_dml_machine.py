"""Random DML, compaction, cleaning and ANALYZE on real Spark; DuckDB says what the rows must be.

ACIDSQL_SOAK_STEPS=<n> runs n steps per example, and more examples.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections import Counter
from typing import Any

import duckdb
import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from acidsql.backends.memory.store import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark import deletes, gateway, job, places, small_files
from acidsql.engines.spark.runner import SparkEngine
from acidsql.errors import CardinalityError
from acidsql.model.names import TableName
from acidsql.orc import set_columns
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.checks import check_table

SOAK_STEPS = int(os.environ.get("ACIDSQL_SOAK_STEPS", "0"))
STEPS = SOAK_STEPS or 7
EXAMPLES = 10 if SOAK_STEPS else 1
PHASES = (Phase.explicit, Phase.generate, *([Phase.shrink] if SOAK_STEPS else []))
"""A step takes a second, so only the long run looks for the least example of a failure."""
ROWS_MAX = 150

PLAIN = "k int, s string, v decimal(9,2), d date"
KINDS = {
    "unbucketed": (PLAIN, ""),
    "bucketed": (PLAIN, "CLUSTERED BY (k) INTO 3 BUCKETS"),
    "partitioned": (PLAIN, "PARTITIONED BY (p string) CLUSTERED BY (k, s) INTO 2 BUCKETS"),
}
NAME = TableName("default", "t")

COUNTED = "SELECT count(*) FROM t"
SUMMARY = (
    "SELECT count(*), count(k), min(k), max(k), count(s), min(s), max(s), count(v), min(v), max(v),"
    " count(d), min(d), max(d) FROM t"
)

keys = st.integers(0, 9)
nullable_keys = st.one_of(st.none(), keys)
texts = st.one_of(st.none(), st.sampled_from(["a", "b", "ä€", "it's", "", " "]))
decimals = st.one_of(st.none(), st.decimals(-999, 999, places=2))
dates = st.one_of(st.none(), st.sampled_from(["1969-12-31", "2020-02-29", "2024-06-01"]))
partitions = st.one_of(st.none(), st.sampled_from(["x", "y/z", "100%"]))
rows = st.tuples(nullable_keys, texts, decimals, dates, partitions)

conditions = st.one_of(
    keys.map(lambda k: f"t.k = {k}"),
    keys.map(lambda k: f"t.k > {k} AND t.v < 100.5"),
    st.tuples(keys, keys).map(lambda ks: f"t.k BETWEEN {min(ks)} AND {max(ks)}"),
    st.sets(keys, min_size=1).map(lambda ks: f"t.k IN ({', '.join(map(str, sorted(ks)))})"),
    keys.map(lambda k: f"(t.s = 'a' OR t.k = {k})"),
    st.sampled_from(
        [
            "t.k IS NULL",
            "t.s IS NOT NULL",
            "t.v >= -10.25",
            "t.d = DATE '2020-02-29'",
            "t.d < DATE '2021-01-01'",
            "t.s > 'a'",
            "NOT (t.k = 3)",
            "true",
            "t.k % 2 = 0",
            "t.k < (SELECT max(o.k) FROM t AS o WHERE o.k < 7)",
        ]
    ),
)
WHOLE = "t.p >= 'x' AND t.p < 'y'"
WHOLE_PARTITIONS = ["'x' = t.p", "(t.p IN ('x', 'a', '')) AND t.p > 'b'", "t.p BETWEEN '1' AND '9'"]
"""What is true of all rows of a partition, or of none."""
partition_conditions = st.sampled_from(["t.p = 'x'", "t.p IS NULL", "t.p > 'x'", "t.p <> '100%'"])
expressions = st.sampled_from(
    [
        ("", ""),
        ("", ""),
        (
            "WITH q (n) AS (SELECT k FROM t WHERE v > 0), r AS (SELECT n + 1 AS n FROM q) ",
            " AND t.k IN (SELECT n FROM r)",
        ),
        (
            "WITH q AS (SELECT min(k) AS low, max(k) AS high FROM t) ",
            " AND t.k > (SELECT low FROM q) AND t.k <= (SELECT high FROM q)",
        ),
    ]
)
"""A WITH, and a condition that names its expressions."""
assignments = st.sampled_from(
    ["v = v + 1", "v = NULL", "d = DATE '2021-12-31', v = 7", "v = k", "d = NULL"]
)
text_assignments = st.sampled_from(["s = 'z'", "s = s || '!'", "s = NULL, v = -v"])
moves = st.sampled_from(["k = (k + 1) % 10", "k = 10 - k, v = 3", "k = NULL", "s = 'k', k = k % 7"])
partition_moves = st.sampled_from(
    ["p = 'x'", "p = NULL, v = 1", "p = 'n' || k, k = k % 3", "s = 'q', p = 'y/z'"]
)
"""Assignments of columns that decide in which partition or bucket a row lies."""
matched_legs = st.sampled_from(
    [
        ("WHEN MATCHED THEN UPDATE SET k = (q.k + 1) % 10, v = q.v",),
        ("WHEN MATCHED AND q.v > 0 THEN UPDATE SET k = t.k % 4", "WHEN MATCHED THEN DELETE"),
        (),
        ("WHEN MATCHED THEN UPDATE SET v = q.v, d = q.d",),
        ("WHEN MATCHED AND q.v > 0 THEN UPDATE SET v = t.v + q.v",),
        ("WHEN MATCHED THEN DELETE",),
        ("WHEN MATCHED AND t.v < q.v THEN DELETE",),
        ("WHEN MATCHED AND q.v > 0 THEN DELETE", "WHEN MATCHED THEN UPDATE SET d = q.d"),
        ("WHEN MATCHED AND q.s = 'a' THEN UPDATE SET v = 0", "WHEN MATCHED THEN DELETE"),
        (
            "WHEN MATCHED AND q.v > 0 THEN UPDATE SET v = q.v",
            "WHEN MATCHED AND t.v > 0 THEN UPDATE SET d = q.d, v = -t.v",
            "WHEN MATCHED AND t.k > 6 THEN DELETE",
            "WHEN MATCHED AND q.s IS NULL THEN UPDATE SET d = NULL",
            "WHEN MATCHED THEN DELETE",
        ),
    ]
)
legs_by_source = st.sampled_from(
    [
        (),
        (),
        ("WHEN NOT MATCHED BY SOURCE AND t.k < 3 THEN DELETE",),
        ("WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = coalesce(t.v, 0) + 1",),
        ("WHEN NOT MATCHED BY SOURCE AND t.k > 6 THEN UPDATE SET k = t.k - 6, d = NULL",),
        (
            "WHEN NOT MATCHED BY SOURCE AND t.k % 2 = 0 THEN UPDATE SET v = t.k",
            "WHEN NOT MATCHED BY SOURCE AND t.s = 'a' THEN DELETE",
            "WHEN NOT MATCHED BY SOURCE AND t.d IS NULL THEN UPDATE SET d = DATE '2021-01-02'",
        ),
    ]
)
MATCHED = re.compile(r"WHEN MATCHED(?: AND (.+))? THEN (?:UPDATE|DELETE).*")
insert_conditions = st.sampled_from(
    [(), ("",), ("AND q.k > 3",), ("AND q.s IS NOT NULL",), ("AND q.k > 5", "AND q.v > 0", "")]
)


def literal(value: Any, kind: str) -> str:
    if value is None:
        return f"CAST(NULL AS {kind})"
    if kind == "int":
        return str(value)
    if kind.startswith("decimal"):
        return f"CAST({value} AS {kind})"
    quoted = "'" + str(value).replace("'", "''") + "'"
    return f"DATE {quoted}" if kind == "date" else quoted


class DmlMachine(RuleBasedStateMachine):
    """One table and its twin in DuckDB."""

    kind: str
    spark: Any

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.mkdtemp()
        self.policy = TxnPolicy()
        self.now_ms = 0
        self.store = MemoryStore(self._tick, self.policy, self.directory)
        storage = LocalStorage()
        self.session = Session(
            store=self.store,
            engine=SparkEngine(storage, self.spark, {}),
            storage=storage,
            policy=self.policy,
            warehouse=self.directory,
            user="u",
            host="h",
        )
        self.duck = duckdb.connect()
        columns, clause = KINDS[self.kind]
        self.partitioned = self.kind == "partitioned"
        self.types = [c.split()[1] for c in columns.split(", ")] + ["string"] * self.partitioned
        self.columns = ["k", "s", "v", "d", "p"][: len(self.types)]
        self.into = f"t ({', '.join(self.columns)})"
        self.added: list[str] = []
        self.session.execute(
            f"CREATE TABLE t ({columns}) {clause} STORED AS ORC"
            " TBLPROPERTIES ('transactional' = 'true')"
        )
        both = columns + (", p string" if self.partitioned else "")
        self.duck.execute(f"CREATE TABLE t ({both})")
        self.session.execute("SET acidsql.allow.row.movement = true")

    def _tick(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def teardown(self) -> None:
        self.session.close()
        self.duck.close()
        shutil.rmtree(self.directory)

    # -- statements, the same for both -------------------------------------------------------------

    def run(self, sql: str) -> Any:
        result = self.session.execute(sql)
        self.duck.execute(sql)
        return result

    def values(self, given: list[tuple[Any, ...]]) -> str:
        lines = [
            "(" + ", ".join(map(literal, row[: len(self.types)], self.types)) + ")" for row in given
        ]
        return "VALUES " + ", ".join(lines)

    def condition(self, data: st.DataObject) -> str:
        if self.partitioned and data.draw(st.booleans()):
            return f"{data.draw(conditions)} AND {data.draw(partition_conditions)}"
        return data.draw(conditions)

    @initialize(given=st.lists(rows, min_size=5, max_size=20))
    def first_rows(self, given: list[tuple[Any, ...]]) -> None:
        self.run(f"INSERT INTO {self.into} {self.values(given)}")

    @rule(given=st.lists(rows, min_size=1, max_size=6))
    def insert_values(self, given: list[tuple[Any, ...]]) -> None:
        result = self.run(f"INSERT INTO {self.into} {self.values(given)}")
        assert result.rows_inserted == len(given)

    @rule(data=st.data())
    def insert_select(self, data: st.DataObject) -> None:
        condition = self.condition(data)
        count = self.duck.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchall()[0][0]
        if len(self.expected()) + count > ROWS_MAX:
            return
        behind = ", t.p" if self.partitioned else ""
        result = self.run(
            f"INSERT INTO {self.into} SELECT (t.k + 3) % 10, t.s, t.v, t.d{behind} FROM t"
            f" WHERE {condition}"
        )
        assert result.rows_inserted == count

    @rule(given=st.lists(rows, min_size=1, max_size=6), computed=st.booleans())
    def overwrite(self, given: list[tuple[Any, ...]], computed: bool) -> None:
        select = "SELECT * FROM " if computed else ""
        result = self.session.execute(
            f"INSERT OVERWRITE TABLE {self.into} {select}{self.values(given)}"
        )
        assert result.rows_inserted == len(given)
        if not self.partitioned:
            self.duck.execute("DELETE FROM t")
        for row in given if self.partitioned else ():
            self.duck.execute(
                f"DELETE FROM t WHERE p IS NOT DISTINCT FROM {literal(row[4], 'string')}"
            )
        self.duck.execute(f"INSERT INTO {self.into} {self.values(given)}")

    @rule(data=st.data())
    def overwrite_with_itself(self, data: st.DataObject) -> None:
        condition = self.condition(data)
        self.session.execute(f"INSERT OVERWRITE t SELECT * FROM t WHERE {condition}")
        kept = f"SELECT DISTINCT p FROM t WHERE {condition}"
        reached = f" AND EXISTS (FROM ({kept}) AS k WHERE k.p IS NOT DISTINCT FROM t.p)"
        self.duck.execute(
            f"DELETE FROM t WHERE ({condition}) IS NOT TRUE{reached if self.partitioned else ''}"
        )

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        names = self.store.partitions(NAME)
        if not names:
            self.run("TRUNCATE TABLE t")
            return
        value = data.draw(st.sampled_from([p.name.values[0] for p in names]))
        text = literal(value, "string") if value is not None else "NULL"
        self.session.execute(f"TRUNCATE TABLE t PARTITION (p = {text})")
        self.duck.execute(f"DELETE FROM t WHERE p IS NOT DISTINCT FROM {text}")

    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        moved = [partition_moves] if self.partitioned else []
        change = data.draw(st.one_of(assignments, text_assignments, moves, *moved))
        if self.added and data.draw(st.booleans()):
            change = f"{data.draw(st.sampled_from(self.added))} = k"
        with_, condition, count = self.rows_to_change(data)
        result = self.run(f"{with_}UPDATE t SET {change} WHERE {condition}")
        assert result.rows_updated == count

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        with_, condition, count = self.rows_to_change(data)
        result = self.run(f"{with_}DELETE FROM t WHERE {condition}")
        assert result.rows_deleted == count

    @rule(data=st.data())
    def delete_whole(self, data: st.DataObject) -> None:
        """All rows of some partitions, or of the table."""
        where = ""
        if self.partitioned:
            where = f" WHERE {data.draw(st.sampled_from([WHOLE, *WHOLE_PARTITIONS]))}"
        count = self.duck.execute(f"SELECT count(*) FROM t{where}").fetchall()[0][0]
        result = self.run(f"DELETE FROM t{where}")
        assert result.rows_deleted == count

    def rows_to_change(self, data: st.DataObject) -> tuple[str, str, int]:
        """A WITH or nothing, a condition, and how many rows meet it."""
        with_, more = data.draw(expressions)
        condition = self.condition(data) + more
        query = f"{with_}SELECT count(*) FROM t WHERE {condition}"
        return with_, condition, self.duck.execute(query).fetchall()[0][0]

    @rule(
        given=st.lists(rows, min_size=1, max_size=6),
        legs=matched_legs,
        by_source=legs_by_source,
        inserts=insert_conditions,
        extra=st.sampled_from(["", " AND t.v > 0", " AND q.s = t.s", " AND t.k < 5"]),
        order=st.sampled_from(["", " ORDER BY v"]),
    )
    def merge(
        self,
        given: list[tuple[Any, ...]],
        legs: tuple[str, ...],
        by_source: tuple[str, ...],
        inserts: tuple[str, ...],
        extra: str,
        order: str,
    ) -> None:
        """A large source with an order is moved by its keys; another one is read twice."""
        if not legs and not by_source:
            inserts = inserts or ("",)
        source = f"({self.values(given)}) AS q({', '.join(self.columns)})"
        on = f"t.k = q.k{extra}"
        if self.partitioned and len(given) % 2:
            on += " AND q.p = t.p"
        clauses = [*legs, *by_source]
        for number, condition in enumerate(inserts):
            first = f"q.k + {number}" if number else "q.k"
            values = ", ".join([first, *(f"q.{name}" for name in self.columns[1:])])
            row = f"({', '.join(self.columns)}) VALUES ({values})"
            clauses.append(f"WHEN NOT MATCHED {condition} THEN INSERT {row}")
        before = self.expected()
        sql = f"MERGE INTO t USING (SELECT * FROM {source}{order}) AS q ON {on} {' '.join(clauses)}"
        matches = (
            f"SELECT t.rowid AS r FROM t JOIN {source} ON {on} GROUP BY t.rowid HAVING count(*) > 1"
        )
        if not self.duck.execute(matches).fetchall():
            self.run(sql)
        elif self.is_ambiguous(legs, f"t JOIN {source} ON {on}"):
            with pytest.raises(CardinalityError):
                self.session.execute(sql)
        else:
            self.session.execute(sql)
            self.adopt(before, (*legs, *by_source))

    def is_ambiguous(self, legs: tuple[str, ...], joined: str) -> bool:
        """Whether a leg updates a row on which another of its matches acts, too."""
        whens = []
        for number, leg in enumerate(legs):
            found = MATCHED.fullmatch(leg)
            assert found is not None
            whens.append(f"WHEN {found[1] or 'true'} THEN {number}")
        updates = [str(number) for number, leg in enumerate(legs) if "UPDATE" in leg]
        if not updates:
            return False
        acting = f"SELECT t.rowid AS r, CASE {' '.join(whens)} ELSE -1 END AS leg FROM {joined}"
        wrong = (
            f"SELECT r FROM ({acting}) WHERE leg >= 0 GROUP BY r"
            f" HAVING count(*) > 1 AND bool_or(leg IN ({', '.join(updates)}))"
        )
        return bool(self.duck.execute(wrong).fetchall())

    def adopt(self, before: Counter[Any], legs: tuple[str, ...]) -> None:
        """Where DuckDB refuses or has its own rules, take over what was read back."""
        found = check_table(self.store, NAME)
        if not legs:
            assert not before - Counter(found)
        self.duck.execute("DELETE FROM t")
        columns = self.shown()
        marks = ", ".join("?" * len(columns))
        self.duck.executemany(f"INSERT INTO t ({', '.join(columns)}) VALUES ({marks})", found or [])

    @rule()
    def add_column(self) -> None:
        if len(self.added) < 2:
            self.added.append(self.new_name())
            self.run(f"ALTER TABLE t ADD COLUMN {self.added[-1]} int")

    @rule(data=st.data())
    def rename_column(self, data: st.DataObject) -> None:
        if self.added:
            index, name = data.draw(st.integers(0, len(self.added) - 1)), self.new_name()
            self.run(f"ALTER TABLE t RENAME COLUMN {self.added[index]} TO {name}")
            self.added[index] = name

    def new_name(self) -> str:
        """One that another column may have had, so that names in files mislead."""
        return next(name for name in ("x", "y", "z") if name not in self.added)

    @rule(kind=st.sampled_from(["minor", "major", "rebalance"]), data=st.data())
    def compact(self, kind: str, data: st.DataObject) -> None:
        before = self.row_ids()
        places = [""]
        if self.partitioned:
            names = self.store.partitions(NAME)
            if not names:
                return
            value = data.draw(st.sampled_from([p.name.values[0] for p in names]))
            places = [f"PARTITION (p = {'NULL' if value is None else repr(value)}) "]
        order = ""
        if kind == "rebalance":
            order = data.draw(st.sampled_from(["", "ORDER BY k DESC", "ORDER BY s, v"]))
            kind += f"' CLUSTERED INTO {data.draw(st.integers(1, 3))} BUCKETS"
        else:
            kind += "'"
        self.session.execute(f"ALTER TABLE t {places[0]}COMPACT '{kind} AND WAIT {order}")
        is_new = kind.startswith("rebalance") and KINDS[self.kind][1].count("CLUSTERED") == 0
        assert is_new or self.row_ids() == before

    @rule(data=st.data())
    def analyze(self, data: st.DataObject) -> None:
        """The invariants below compare its answers, now and after later steps."""
        columns = data.draw(st.sampled_from(["", "FOR COLUMNS", "FOR COLUMNS k, s"]))
        self.session.execute(f"ANALYZE TABLE t COMPUTE STATISTICS {columns}")
        [(line,), *_] = self.session.execute(f"EXPLAIN {COUNTED}").fetchall()[1:]
        assert "answered from the statistics" in line

    @rule()
    def clean(self) -> None:
        self.session.run_cleaner()

    def row_ids(self) -> Counter[Any]:
        return Counter(map(repr, self.session.execute("SELECT row__id, * FROM t").fetchall()))

    # -- what must hold ----------------------------------------------------------------------------

    def shown(self) -> list[str]:
        """The columns as acidsql orders them: those added before that of the partition."""
        return [*self.columns[:4], *self.added, *self.columns[4:]]

    def expected(self) -> Counter[Any]:
        return Counter(self.duck.execute(f"SELECT {', '.join(self.shown())} FROM t").fetchall())

    @invariant()
    def same_rows(self) -> None:
        expected = self.expected()
        assert Counter(check_table(self.store, NAME)) == expected
        assert Counter(self.session.execute("SELECT * FROM t").fetchall()) == expected

    @invariant()
    def same_summary(self) -> None:
        for query in (COUNTED, SUMMARY):
            expected = self.duck.execute(query).fetchall()
            assert self.session.execute(query).fetchall() == expected


PATHS: dict[str, dict[tuple[Any, str], Any]] = {
    "driver": {(small_files, "FILE_BYTES_MAX"): 16 << 10, (small_files, "FILES_MIN"): 1},
    "mixed": {
        (job, "DRIVER_BYTES_MAX"): 5000,
        (job, "DRIVER_ROWS_MIN"): 1,
        (gateway, "java_classes"): lambda spark: None,  # as over Spark Connect
        (small_files, "FILE_BYTES_MAX"): 1500,
        (small_files, "FILES_MIN"): 1,
    },
    "distributed": {
        (job, "DRIVER_BYTES_MAX"): 0,
        (job, "DRIVER_ROWS_MIN"): 0,
        (deletes, "BROADCAST_BYTES_MAX"): 0,
        (places, "MAP_FILES_MAX"): 0,
        (small_files, "FILE_BYTES_MAX"): 0,
        (set_columns, "SMALL_BYTES"): 0,
    },
}
SHORT = [
    ("unbucketed", "mixed"),
    ("bucketed", "distributed"),
    ("partitioned", "driver"),
]
ALL = [(kind, path) for kind in KINDS for path in PATHS]


@pytest.mark.parametrize(("kind", "path"), ALL if SOAK_STEPS else SHORT)
def test_rows_are_those_of_duckdb(
    kind: str, path: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for (module, name), value in PATHS[path].items():
        monkeypatch.setattr(module, name, value)

    class Machine(DmlMachine):
        pass

    Machine.kind, Machine.spark = kind, spark
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            phases=PHASES,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
