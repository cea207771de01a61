"""The logic files that say so, on the metastore of a real Hive; `make interop` has the short form.

What the others show needs a cleaner of our own, or goes on where a metastore refuses: a second
compaction before the first one was cleaned up after, columns of types that do not go together.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import acidsql
from tests.integration.hive.cases import AT_LENGTH
from tests.integration.hive.one_metastore import compacting
from tests.integration.hive.process import Hive
from tests.logic.records import backends
from tests.logic.test_logic import HERE, run_file

pytestmark = pytest.mark.hive

ONLY_4 = {"table_name"}
"""A table's name has letters, digits and underscores alone in Hive 3."""
PATHS = [path for path in sorted(HERE.glob("*.slt")) if "metastore" in backends(path)]
FILES = [
    pytest.param(
        path,
        (4,) if path.stem in ONLY_4 else (3, 4),
        id=path.stem,
        marks=[pytest.mark.thorough] if number % 3 else [],
    )
    for number, path in enumerate(PATHS)
]
"""Every third file is in `make interop`: the records of all run on the other stores, too."""


@pytest.mark.parametrize(("path", "versions"), FILES)
def test_file(path: Path, versions: tuple[int, ...], hive: Hive, client: acidsql.Session) -> None:
    assert hive.version in versions
    empty(hive, client)
    with compacting(hive):
        run_file(path, client, hive.warehouse, whole=AT_LENGTH)
    empty(hive, client)


def empty(hive: Hive, client: acidsql.Session) -> None:
    """Every file begins with a metastore that has nothing in it."""
    client.execute("USE default")
    for row in hive.run("SHOW DATABASES"):
        name = row["database_name"]
        if name != "default":
            hive.run(f"DROP DATABASE `{name}` CASCADE")
    for row in hive.run("SHOW VIEWS IN default"):
        hive.run(f"DROP VIEW default.`{row['tab_name']}`")
    for row in hive.run("SHOW TABLES IN default"):
        hive.run(f"DROP TABLE default.`{row['tab_name']}`")
    shutil.rmtree(hive.warehouse, ignore_errors=True)
    hive.warehouse.mkdir()
