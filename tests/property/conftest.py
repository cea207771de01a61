"""One Spark session for the property tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from acidsql.engines.spark.session import SparkHolder


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    holder = SparkHolder(None, {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"})
    yield holder.get()
    holder.close()
