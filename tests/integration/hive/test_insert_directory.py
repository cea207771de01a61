"""INSERT OVERWRITE DIRECTORY leaves the lines of text that Hive leaves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import acidsql
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive

ROW = (
    "SELECT 1, 'ä b', '', CAST(NULL AS string), true, CAST(1.5 AS double),"
    " CAST(1.25 AS decimal(9,2)), DATE '2026-01-02', TIMESTAMP '2026-01-02 03:04:05.6'"
)


def lines(place: Path) -> Sequence[str]:
    files = (p for p in sorted(place.iterdir()) if p.name[0] not in "._")
    return [line for p in files for line in p.read_text().splitlines()]


@pytest.mark.parametrize("clause", ["", "ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"])
def test_text_is_that_of_hive(hive: Hive, spark: Any, tmp_path: Path, clause: str) -> None:
    def statement(name: str) -> str:
        return f"INSERT OVERWRITE LOCAL DIRECTORY '{tmp_path / name}' {clause} {ROW}"

    hive.run(statement("hive"))
    with acidsql.connect(tmp_path / "w", spark=spark) as session:
        session.execute(statement("ours"))
    assert lines(tmp_path / "ours") == lines(tmp_path / "hive")
