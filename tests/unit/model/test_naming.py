"""Names become directories only as one part of a path: an older catalog may hold any name."""

from __future__ import annotations

import pytest

from acidsql.errors import AnalysisError
from acidsql.model.names import PartitionName
from acidsql.model.naming import database_path, partition_path, table_path


@pytest.mark.parametrize("name", ["", ".", "..", "../other", "a/b", "a\\b", "a\nb", "/etc"])
def test_a_name_is_no_path(name: str) -> None:
    with pytest.raises(AnalysisError, match="cannot be the name of a directory"):
        table_path("/w", name)


@pytest.mark.parametrize("name", ["../other", "a/b", "/etc"])
def test_nor_is_one_of_a_database(name: str) -> None:
    with pytest.raises(AnalysisError, match="cannot be the name of a directory"):
        database_path("/w", name)


@pytest.mark.parametrize("value", ["..", "../x", "a/b", "/etc"])
def test_the_value_of_a_partition_is_escaped(value: str) -> None:
    path = partition_path("/w/t", PartitionName.of({"p": value}))
    assert path.rpartition("/")[0] == "/w/t"
