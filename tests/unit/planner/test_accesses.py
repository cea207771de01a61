"""What a write locks of its target: the one partition that its text names, or the table."""

from __future__ import annotations

import pytest

from acidsql.planner.accesses import write_accesses
from acidsql.plans.delete import DeletePlan
from acidsql.plans.merge import MergePlan
from acidsql.plans.update import UpdatePlan
from grammar_tests.planning import DeclaredNames, plan

TABLES = {
    "int": "t (v int) partitioned by (p int)",
    "string": "t (v int) partitioned by (p string)",
    "varchar": "t (v int) partitioned by (p varchar(3))",
    "date": "t (v int) partitioned by (p date)",
    "decimal": "t (v int) partitioned by (p decimal(3,1))",
    "two": "t (v int) partitioned by (d date, k bigint)",
    "none": "t (v int, p int)",
}
SOURCE = "MERGE INTO t USING (SELECT 1 AS v) s ON"


def locked(declared: str, sql: str) -> list[str]:
    """Operation and partition of each access to the target, ``*`` for all of them."""
    names = DeclaredNames.of([declared])
    found = plan(sql, [declared])
    assert isinstance(found, UpdatePlan | DeletePlan | MergePlan)
    [target] = names.tables.values()
    accesses = write_accesses(found, target)
    assert {a.dynamic for a in accesses} <= {bool(target.partition_columns), False}
    for access in accesses:
        assert access.dynamic == (bool(target.partition_columns) and access.partition is None)
    return [f"{a.operation.value} {a.partition or '*'}" for a in accesses]


@pytest.mark.parametrize(
    ("kind", "where", "partition"),
    [
        ("int", "p = 1", "p=1"),
        ("int", "1 = p AND v = 2", "p=1"),
        ("int", "(v = 2 AND (t.p = -1))", "p=-1"),
        ("int", "p IN (1)", "p=1"),
        ("int", "p = 1 AND p IN (1)", "p=1"),
        ("int", "p BETWEEN 1 AND 1", "*"),
        ("int", "p IN (1, 2)", "*"),
        ("int", "p = 1 AND p = 2", "*"),
        ("int", "p >= 1", "*"),
        ("int", "p = 1 OR v = 2", "*"),
        ("int", "NOT p = 1", "*"),
        ("int", "p = '1'", "*"),
        ("int", "p = v", "*"),
        ("int", "p IS NULL", "*"),
        ("int", "p = (SELECT 1)", "*"),
        ("string", "p = 'a/b c'", "p=a%2Fb c"),
        ("string", "p = 'A'", "p=A"),
        ("string", "p = ''", "*"),
        ("string", "p = 1", "*"),
        ("varchar", "p = 'ab'", "p=ab"),
        ("date", "p = DATE '2026-01-31'", "p=2026-01-31"),
        ("decimal", "p = 1.0", "*"),
        ("two", "k = 7 AND d = DATE '2026-01-31'", "d=2026-01-31/k=7"),
        ("two", "k = 7", "*"),
        ("none", "p = 1", "*"),
    ],
)
def test_update_and_delete(kind: str, where: str, partition: str) -> None:
    assert locked(TABLES[kind], f"UPDATE t SET v = 1 WHERE {where}") == [f"u {partition}"]
    assert locked(TABLES[kind], f"DELETE FROM t WHERE {where}") == [f"d {partition}"]


def test_without_a_condition() -> None:
    assert locked(TABLES["int"], "UPDATE t SET v = 1") == ["u *"]
    assert locked(TABLES["int"], "DELETE FROM t") == ["d *"]


def test_merge_changes_one_and_inserts_anywhere() -> None:
    sql = f"{SOURCE} t.v = s.v AND t.p = 1 WHEN MATCHED THEN DELETE"
    assert locked(TABLES["int"], sql) == ["d p=1"]
    both = f"{sql} WHEN NOT MATCHED THEN INSERT VALUES (s.v, 1)"
    assert locked(TABLES["int"], both) == ["d p=1", "i *"]


def test_merge_where_the_source_names_the_partition() -> None:
    sql = f"{SOURCE} t.v = s.v AND t.p = s.v WHEN MATCHED THEN UPDATE SET v = 2"
    assert locked(TABLES["int"], sql) == ["u *"]
    sql = f"{SOURCE} t.v = s.v AND s.v = 1 WHEN MATCHED AND t.p = 1 THEN UPDATE SET v = 2"
    assert locked(TABLES["int"], sql) == ["u *"]
