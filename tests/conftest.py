"""One Spark for the tests of a process, started as acidsql starts its own, and fresh warehouses."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

import acidsql
from tests.jvm import SPARK_CONF, with_archive

if TYPE_CHECKING:
    from acidsql.session.session import Session
    from tests.postgres import Postgres

# This reaches the JVMs of child processes, too.
os.environ["SPARK_SUBMIT_OPTS"] = with_archive()

# How long an example takes is the machine's business. Each target of make takes one profile.
for profile, examples in {"unit": 5, "short": 30, "thorough": 100}.items():
    settings.register_profile(profile, deadline=None, max_examples=examples)
settings.load_profile("short")

MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 << 30
"""More than a run of all tests leaves behind."""


def pytest_configure() -> None:
    """Temporary directories are in memory, if the machine has room for them.

    A write is synced there at once, and a test waits for thousands. What a test stops or kills
    loses nothing by it, as only the machine's power would tell.
    """
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM_BYTES:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported and collected stays: no garbage collection need look at it, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test with the marker ``one_in(n)``, all but each n-th one are thorough.

    The logic tests, the longest file, come first, so that no process waits for them in the end.
    """
    items.sort(key=lambda item: "tests/logic/" not in item.nodeid)
    numbers: Counter[str] = Counter()
    for item in items:
        marker = item.get_closest_marker("one_in")
        if marker and not item.get_closest_marker("thorough"):
            test = item.nodeid.partition("[")[0]
            if numbers[test] % marker.args[0]:
                item.add_marker("thorough")
            numbers[test] += 1


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one SparkSession; nobody else stops it."""
    from acidsql.engines.spark.session import SparkHolder

    holder = SparkHolder(None, SPARK_CONF)
    yield holder.get()
    holder.close()


@pytest.fixture(autouse=True)
def reader_of_small_files(request: pytest.FixtureRequest) -> None:
    """In every second test with Spark, Spark reads small files; in the others the driver does.

    In half of the former tests it reads event files flat, in the others their columns are fields.
    """
    turn = zlib.crc32(request.node.name.encode()) % 4
    if "spark" in request.fixturenames and turn % 2:
        monkeypatch = request.getfixturevalue("monkeypatch")
        monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
        if turn == 3:
            monkeypatch.setattr("acidsql.engines.spark.event_format.FLAT_BYTES_MIN", 0)


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
