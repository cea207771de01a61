"""ORC files without rows, as Hive leaves them, in tables whose files are looked at before."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.session.session import Session

POSITIONAL = "TBLPROPERTIES ('orc.force.positional.evolution' = 'true')"


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("properties", ["", POSITIONAL])
@pytest.mark.parametrize("kind", ["string", "date"])
def test_files_without_rows(
    session: Session, tmp_path: Path, kind: str, properties: str, rows: int
) -> None:
    place = tmp_path / "files"
    place.mkdir()
    stored = pa.date32() if kind == "date" else pa.string()
    schema = pa.schema([("a", pa.int32()), ("v", stored)])
    pa_orc.write_table(schema.empty_table(), place / "000000_0")
    (place / "000001_0").touch()
    if rows:
        filled = pa.table({"a": pa.array(range(rows), pa.int32()), "v": pa.nulls(rows, stored)})
        pa_orc.write_table(filled.cast(schema), place / "000002_0")
    session.execute(
        f"CREATE EXTERNAL TABLE t (a int, v {kind}) STORED AS ORC LOCATION '{place}' {properties}"
    )
    assert session.execute("SELECT count(*) FROM t").fetchall() == [(rows,)]
    names = session.execute("SELECT count(DISTINCT input__file__name) FROM t").fetchall()
    assert names == [(min(rows, 1),)]
