"""read_acid of insert-only directories, whose format is said or found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acidsql.errors import ConfigError, StorageError
from acidsql.session.session import Session

INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"
STORED = {
    "ORC": "STORED AS ORC",
    "PARQUET": "STORED AS PARQUET",
    "AVRO": "STORED AS AVRO",
    "TEXTFILE": "ROW FORMAT DELIMITED FIELDS TERMINATED BY ';' STORED AS TEXTFILE",
}


def written(session: Session, format: str) -> None:
    session.execute(
        f"CREATE TABLE t (id int, s string) PARTITIONED BY (p int) {STORED[format]} {INSERT_ONLY}"
    )
    session.execute("INSERT INTO t VALUES (1, 'a', 1), (2, NULL, 1), (3, 'ORC', 2)")
    session.execute("INSERT OVERWRITE TABLE t PARTITION (p = 1) VALUES (4, 'b')")
    session.execute("INSERT INTO t VALUES (5, 'PAR1', 2)")


@pytest.mark.parametrize("format", STORED)
def test_the_format_is_found_or_said(session: Session, warehouse: Path, format: str) -> None:
    written(session, format)

    def rows(**more: Any) -> list[tuple[Any, ...]]:
        frame = session.read_acid(
            str(warehouse / "t"), schema="id int, s string", partitioned_by="p int",
            field_delimiter=";", **more,
        )  # fmt: skip
        return sorted(map(tuple, frame.collect()))

    expected = [(3, "ORC", 2), (4, "b", 1), (5, "PAR1", 2)]
    assert rows() == rows(stored_as=format.lower()) == expected
    assert rows(valid_write_ids="default.t:2:2::") == [(3, "ORC", 2), (4, "b", 1)]


def test_what_does_not_go_together_is_an_error(session: Session, warehouse: Path) -> None:
    written(session, "TEXTFILE")
    path, schema = str(warehouse / "t"), "id int, s string"
    for more, message in (
        ({"stored_as": "RCFILE"}, "stored_as must be one of ORC, PARQUET, AVRO, TEXTFILE"),
        ({"stored_as": "PARQUET", "row_id": True}, "rows stored as PARQUET have no row ids"),
        ({"field_delimiter": "||"}, "field_delimiter must be one ASCII character"),
    ):
        with pytest.raises(ConfigError, match=message):
            session.read_acid(path, schema=schema, partitioned_by="p int", **more)
    delta = next((warehouse / "t" / "p=2").glob("delta_*"))
    (delta / "000009_0").write_bytes(b"PAR1 and so on")
    with pytest.raises(StorageError, match="differ in their format"):
        session.read_acid(path, schema=schema, partitioned_by="p int")
    (warehouse / "t" / "p=2" / "000000_0").write_bytes(b"1;an original file")
    with pytest.raises(StorageError, match="not the directory of an insert-only table"):
        session.read_acid(path, schema=schema, partitioned_by="p int", stored_as="TEXTFILE")


def test_a_directory_without_files_has_no_rows(session: Session, tmp_path: Path) -> None:
    for said in (None, *STORED):
        frame = session.read_acid(str(tmp_path), schema="id int", stored_as=said)
        assert frame.collect() == []
