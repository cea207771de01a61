"""A session that starts no Spark: literal rows are written in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import acidsql
from acidsql.session.session import Session

STORES = [
    pytest.param("memory:", id="memory"),
    pytest.param(None, id="sqlite", marks=[pytest.mark.sqlite, pytest.mark.thorough]),
]


@pytest.fixture(params=STORES)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(tmp_path / "w", metastore=request.param) as session:
        yield session
