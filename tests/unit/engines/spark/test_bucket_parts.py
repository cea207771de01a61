"""Which tables get their new rows by parts."""

import pytest

from acidsql.engines.spark.bucket_parts import fits_bucket_parts
from acidsql.model.names import TableName
from acidsql.model.table import Bucketing, Column, Table, TableKind
from acidsql.model.types import parse_type

NARROW = ["bigint"] * 4


def table(buckets, types=NARROW, partitions=(), kind=TableKind.FULL_ACID):
    columns = tuple(Column(f"c{n}", parse_type(text)) for n, text in enumerate(types))
    parameters = {"transactional": "true"}
    if kind is TableKind.INSERT_ONLY:
        parameters["transactional_properties"] = "insert_only"
    if kind is TableKind.PLAIN:
        parameters = {}
    found = Table(
        TableName("d", "t"),
        columns,
        "/w/t",
        partitions,
        parameters=parameters,
        bucketing=Bucketing(("c0",), buckets) if buckets else None,
    )
    assert found.kind is kind
    return found


@pytest.mark.parametrize(
    ("buckets", "tasks", "fits"),
    [(0, 1, False), (1, 1, True), (64, 16, True), (64, 17, False), (65, 1, False)],
)
def test_buckets_and_tasks(buckets, tasks, fits):
    assert fits_bucket_parts(table(buckets), tasks) is fits


def test_a_task_that_joins_has_few_files_open():
    assert fits_bucket_parts(table(1), 256)
    assert not fits_bucket_parts(table(1), 257)


@pytest.mark.parametrize(
    ("types", "fits"),
    [
        (["int"] * 10, True),
        (["int"] * 11, False),
        (["struct<a:int,b:array<string>>"] * 2, True),
        (["struct<a:int,b:array<string>>"] * 3, False),
    ],
)
def test_a_task_has_few_columns_open(types, fits):
    """pyarrow takes memory for each column of each open file, however few rows there are."""
    assert fits_bucket_parts(table(64, types), 1) is fits


def test_other_tables():
    partitions = (Column("p", parse_type("int")),)
    assert not fits_bucket_parts(table(2, partitions=partitions), 1)
    assert not fits_bucket_parts(table(2, kind=TableKind.INSERT_ONLY), 1)
    assert not fits_bucket_parts(table(2, kind=TableKind.PLAIN), 1)
