"""One Spark session for the property tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from acidsql.engines.spark.session import SparkHolder


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    holder = SparkHolder(None, {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"})
    yield holder.get()
    holder.close()


# How long an example takes is the machine's business.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
