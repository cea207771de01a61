"""A bare directory, named in every way a caller may name it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import AcidSqlError, ConfigError
from acidsql.ports.engine import TableSnapshot
from acidsql.session.acid_directory import directory_snapshot


@pytest.fixture
def partitioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a b" / "d=1" / "delta_0000001_0000001_0000").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "a b"


def snapshot(path: Any, **given: Any) -> TableSnapshot:
    arguments = {"schema": "k int", "partitioned_by": "d int", "write_ids": None, **given}
    return directory_snapshot(path, storage=LocalStorage(), row_id=True, **arguments)


@pytest.mark.parametrize("path", ["a b", "./a b/", "a b/../a b", "file:a b", Path("a b")])
def test_files_have_the_whole_path_that_spark_lists_them_under(
    partitioned: Path, path: Any
) -> None:
    [place] = snapshot(path).partitions
    assert place.location == f"{partitioned}/d=1"
    assert snapshot(f"file://{partitioned.parent}/a%20b/").partitions == (place,)


def test_none_is_no_partition_column(partitioned: Path) -> None:
    [place] = snapshot(partitioned / "d=1", partitioned_by=None).partitions
    assert (place.name, place.location) == (None, f"{partitioned}/d=1")


@pytest.mark.parametrize(
    "given",
    [
        {"schema": None},
        {"schema": 1},
        {"partitioned_by": ["d"]},
        {"write_ids": 5},
        {"stored_as": 5},
        {"field_delimiter": None},
    ],
)
def test_what_is_no_text_is_refused(partitioned: Path, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="must be a string, not a"):
        snapshot(partitioned, **given)


@pytest.mark.parametrize("path", [None, 5, b"a b", "a\0b"])
def test_what_is_no_path_is_refused(partitioned: Path, path: Any) -> None:
    with pytest.raises(AcidSqlError, match="path of read_acid must"):
        snapshot(path)
