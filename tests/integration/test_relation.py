"""Files that Spark reads: exactly those that are named, or an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow import orc

from acidsql.engines.spark import relation
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.event_files import WHOLE
from acidsql.engines.spark.relation import Kind, read_files
from acidsql.errors import SnapshotExpiredError, StorageError

NAMES = ["a b", "%20", "e:f", "[1]{x,y}*?\\", "ü\n é", "\t", "plus+&=#", "\u2028", "😀", "k=1", "d"]
WAYS = ["relation", "reader"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """By classes of Spark's, and as where Spark has none of the kind that is known here."""
    if request.param == "reader":
        monkeypatch.setattr(relation, "_SOURCES", "org.apache.spark.missing")
    found: str = request.param
    return found


def written(path: Path, kind: Kind, number: int) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = pa.table({"k": [number]})
    match kind:
        case "orc":
            orc.write_table(rows, path)
        case "parquet":
            pyarrow.parquet.write_table(rows, path)
        case "text":
            path.write_text(f"{number}\n")
    return str(path)


@pytest.mark.parametrize("kind", ["orc", "parquet", "text"])
def test_files_of_any_name(spark: Any, tmp_path: Path, way: str, kind: Kind) -> None:
    """A name is no pattern, and what looks like a partition is none."""
    paths = [written(tmp_path / n / "000000_0", kind, i) for i, n in enumerate(NAMES)]
    schema = "value string" if kind == "text" else "k bigint"
    frame = read_files(spark, kind, schema, WHOLE, paths)
    assert frame.columns == ["value" if kind == "text" else "k"]
    assert sorted(int(value) for (value,) in frame.collect()) == list(range(len(NAMES)))


def test_many_files(spark: Any, tmp_path: Path, way: str) -> None:
    paths = [written(tmp_path / f"{i:03}", "orc", i) for i in range(100)]
    frame = read_files(spark, "orc", "k bigint", WHOLE, paths)
    assert frame.selectExpr("count(*)", "sum(k)").collect() == [(100, 4950)]


def test_a_file_that_is_gone(spark: Any, tmp_path: Path, way: str) -> None:
    paths = [written(tmp_path / name, "orc", 1) for name in ("there", "gone")]
    (tmp_path / "gone").unlink()
    with pytest.raises(SnapshotExpiredError), clear_errors():
        read_files(spark, "orc", "k bigint", WHOLE, paths)


@pytest.mark.parametrize("name", ["_hidden", ".hidden", "_a\nb", "file._COPYING_"])
def test_a_name_that_spark_passes_over(spark: Any, tmp_path: Path, way: str, name: str) -> None:
    paths = [written(tmp_path / each, "orc", 1) for each in ("there", name)]
    with pytest.raises(StorageError, match="Spark does not read the file"):
        read_files(spark, "orc", "k bigint", WHOLE, paths)


def test_no_two_frames_are_equal(spark: Any, tmp_path: Path, way: str) -> None:
    paths = [written(tmp_path / "file", "orc", 1)]
    first, second = (read_files(spark, "orc", "k bigint", WHOLE, paths) for _ in range(2))
    assert first.sameSemantics(first)
    assert not first.sameSemantics(second)
    assert first.unionAll(second).collect() == [(1,), (1,)]
    assert first.join(second, first.k == second.k).collect() == [(1, 1)]
