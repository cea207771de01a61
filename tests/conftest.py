"""One Spark for all tests, started as acidsql starts its own, and sessions on fresh warehouses."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import acidsql

if TYPE_CHECKING:
    from acidsql.session.session import Session
    from tests.postgres import Postgres

SPARK_CONF = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
}
"""Small: the tests are about rows, not about their number."""


def pytest_collection_finish() -> None:
    """What was imported and collected stays: no garbage collection need look at it again."""
    gc.freeze()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one SparkSession; nobody else stops it."""
    from acidsql.engines.spark.session import SparkHolder

    holder = SparkHolder(None, SPARK_CONF)
    yield holder.get()
    holder.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The one server, started by the first test that asks for it."""
    from tests.postgres import running

    with running() as server:
        yield server


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    return tmp_path / "warehouse"


@pytest.fixture
def session(warehouse: Path, spark: Any) -> Iterator[Session]:
    """A session on an empty warehouse."""
    with acidsql.connect(warehouse, spark=spark) as session:
        yield session
