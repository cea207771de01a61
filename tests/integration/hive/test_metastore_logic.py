"""The logic files that say so, on the metastore of a real Hive."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import acidsql
from tests.integration.hive.process import Hive
from tests.logic.test_logic import HERE, run_file

pytestmark = pytest.mark.hive

FILES = sorted(HERE.glob("*.slt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file(path: Path, hive: Hive, client: acidsql.Session) -> None:
    empty(hive, client)
    run_file(path, client, hive.warehouse)
    empty(hive, client)


def empty(hive: Hive, client: acidsql.Session) -> None:
    """Every file begins with a metastore that has nothing in it."""
    client.execute("USE default")
    for row in hive.run("SHOW DATABASES"):
        name = row["database_name"]
        if name != "default":
            hive.run(f"DROP DATABASE `{name}` CASCADE")
    for row in hive.run("SHOW TABLES IN default"):
        hive.run(f"DROP TABLE default.`{row['tab_name']}`")
    shutil.rmtree(hive.warehouse, ignore_errors=True)
    hive.warehouse.mkdir()
