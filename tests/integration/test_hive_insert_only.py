"""Insert-only tables as Hive 3 and Hive 4 wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acidsql import Session
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark.runner import SparkEngine
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import Column, FileFormat, Table
from acidsql.model.types import PrimitiveType
from acidsql.ports.engine import PartitionLocation, TableSnapshot

DATA = Path(__file__).parents[1] / "data" / "hive-written" / "states" / "insertonly"
STATES = [
    pytest.param(
        hive, path.stem, id=f"{hive}-{path.stem}", marks=pytest.mark.thorough if at % 2 else ()
    )
    for first, hive in enumerate(("hive3", "hive4"))
    for at, path in enumerate(sorted((DATA / hive / "expected").glob("*.jsonl")), first)
]
"""Both Hives left the same states: each is short for one of them in turn."""
COLUMNS = (Column("id", PrimitiveType("int")), Column("v", PrimitiveType("string")))


def printed(hive: str, state: str) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    """The snapshot of a state in Hive's words, and the rows Hive printed."""
    expected = DATA / hive / "expected"
    snapshot = (expected / f"{state}.snapshot").read_text().splitlines()
    lines = map(json.loads, (expected / f"{state}.jsonl").read_text().splitlines())
    return dict(line.split(" ", 1) for line in snapshot), sorted((r["id"], r["v"]) for r in lines)


def test_there_are_states() -> None:
    assert len(STATES) == 16


@pytest.mark.parametrize(("hive", "state"), STATES)
def test_the_rows_are_those_hive_saw(hive: str, state: str, spark: Any) -> None:
    texts, expected = printed(hive, state)
    write_ids = ValidWriteIdList.parse(texts["validWriteIds"])
    table = Table(
        TableName.parse(write_ids.table),
        COLUMNS,
        str(DATA / hive / state),
        parameters={"transactional": "true", "transactional_properties": "insert_only"},
        format=FileFormat.TEXT if state == "8-text" else FileFormat.ORC,
    )
    snapshot = TableSnapshot(table, (PartitionLocation(None, table.location),), write_ids)
    engine = SparkEngine(LocalStorage(), spark, {})
    rows = engine.table(snapshot, ValidTxnList.parse(texts["validTxns"])).rows()
    assert sorted(rows) == expected


@pytest.mark.parametrize(("hive", "state"), STATES)
def test_a_bare_directory_has_the_rows_hive_saw(hive: str, state: str, session: Session) -> None:
    texts, rows = printed(hive, state)
    frame = session.read_acid(
        str(DATA / hive / state),
        schema="id int, v string",
        valid_write_ids=texts["validWriteIds"],
        valid_txns=texts["validTxns"],
    )
    assert sorted(map(tuple, frame.collect())) == rows
