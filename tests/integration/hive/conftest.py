"""One Hive of each version, one after the other."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import acidsql
from tests.integration.hive.cases import Case
from tests.integration.hive.one_metastore import Turns
from tests.integration.hive.process import Hive
from tests.integration.hive.shared import Shared

ROOT = Path(__file__).parents[3]
BUILD = Path(os.environ.get("ACIDSQL_HIVE_BUILD", ROOT / "build" / "hive"))
"""Where `make interop` has put what runner/build.sh makes."""


VERSIONS = [4, 3]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test runs on one of the two Hives, in turn; on the other one it is `thorough`.

    What is for one of them only is no test of the other. What is `thorough` on both takes no turn.
    """
    items[:] = [item for item in items if not _is_for_another(item)]
    items[:] = [i for i in items if _version(i) is None or _version(i) in _known(i)]
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if (version := _version(item)) is not None:
            tests.setdefault(item.nodeid.replace(f"hive{version}", "hive"), []).append(item)
    turns = itertools.cycle(VERSIONS)
    for pair in tests.values():
        if len(pair) > 1 and pair[0].get_closest_marker("thorough") is None:
            turn = next(turns)
            for item in pair:
                if _version(item) != turn:
                    item.add_marker(pytest.mark.thorough)


def _known(item: pytest.Item) -> Sequence[int]:
    """The Hives that a test is for."""
    versions: Sequence[int] = _parameters(item).get("versions", VERSIONS)
    return versions


def _version(item: pytest.Item) -> int | None:
    version = _parameters(item).get("hive")
    return version if isinstance(version, int) else None


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return getattr(getattr(item, "callspec", None), "params", {})


def _is_for_another(item: pytest.Item) -> bool:
    given = _parameters(item)
    case = given.get("case")
    return isinstance(case, Case) and case.version not in (None, given.get("hive"))


@pytest.fixture(scope="session", params=VERSIONS, ids=["hive4", "hive3"])
def hive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hive]:
    """Started once per version; pytest orders the tests so that only one is there at a time."""
    home = tmp_path_factory.mktemp(f"hive{request.param}")
    with Hive(request.param, BUILD, home, free_port()) as hive:
        yield hive


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="session")
def peer(hive: Hive, spark: Any) -> Iterator[acidsql.Session]:
    """The one session over Hive's warehouse: txn ids of both go on from test to test."""
    with acidsql.connect(str(hive.warehouse), metastore="memory:", spark=spark) as session:
        yield session


IMPATIENT = {"hive.lock.sleep.between.retries": "100ms", "hive.lock.numretries": "3"}


@pytest.fixture(scope="session")
def client(hive: Hive, spark: Any) -> Iterator[acidsql.Session]:
    """The one session over Hive's own metastore."""
    with _client(hive, spark) as session:
        yield session


@pytest.fixture(scope="session")
def second(hive: Hive, spark: Any) -> Iterator[acidsql.Session]:
    """Another one."""
    with _client(hive, spark) as session:
        yield session


def _client(hive: Hive, spark: Any) -> acidsql.Session:
    url = hive.metastore_url
    return acidsql.connect(str(hive.warehouse), metastore=url, spark=spark, config=IMPATIENT)


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """A name for a database of the test's own."""
    return "".join(c if c.isalnum() else "_" for c in request.node.name.lower())


@pytest.fixture
def live(hive: Hive, client: acidsql.Session, database: str) -> Turns:
    """A database of the one metastore, in two hands."""
    return Turns(hive, client, f"live_{database}")


@pytest.fixture
def shared(hive: Hive, peer: acidsql.Session, database: str) -> Shared:
    """A database of the test's own, in two hands."""
    return Shared(hive, peer, database)
