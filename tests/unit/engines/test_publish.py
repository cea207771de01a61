"""Two writers publish into the same directory of a plain table at the same time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.arrow import ArrowStorage
from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.spark.runner import SparkEngine
from acidsql.ports.storage import Storage
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy

POLICY = TxnPolicy(strict_locking=False, lock_retries=0)
"""Not strict: as Hive, writers of a plain table then share its lock."""


class Overtaken(LocalStorage):
    """Once, between the choice of a name and its use, something else happens."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = meanwhile

    def rename(self, source: str, target: str) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        super().rename(source, target)


class OvertakenByCopy(ArrowStorage):
    """The same where a rename replaces what is there, as on an object store."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__(pafs.LocalFileSystem())
        self.meanwhile: Callable[[], object] | None = meanwhile

    def exists(self, path: str) -> bool:
        is_there = super().exists(path)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return is_there


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(lambda: 1_000_000, POLICY, str(tmp_path / "w"))


def connect(store: MemoryStore, storage: Storage, tmp_path: Path) -> Session:
    return Session(
        store=store, engine=SparkEngine(storage, None, {}), storage=storage, policy=POLICY,
        warehouse=str(tmp_path / "w"), user="u", host="h",
    )  # fmt: skip


def lines(directory: Path) -> list[str]:
    """The rows of a text table, from the files that readers see."""
    return sorted(
        line
        for file in directory.iterdir()
        if not file.name.startswith(("_", "."))
        for line in file.read_text().splitlines()
    )


@pytest.mark.parametrize("slow", [Overtaken, OvertakenByCopy])
@pytest.mark.parametrize("statement", ["INSERT", "LOAD"])
def test_of_two_writers_none_loses_rows(
    tmp_path: Path, store: MemoryStore, slow: Callable[..., Storage], statement: str
) -> None:
    (tmp_path / "w").mkdir()
    for number in (1, 2):
        (tmp_path / f"in_{number}").write_text(f"{number}\n")

    def write(session: Session, number: int) -> None:
        if statement == "INSERT":
            session.execute(f"INSERT INTO t VALUES ({number})")
        else:
            session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/in_{number}' INTO TABLE t")

    with connect(store, LocalStorage(), tmp_path) as quick:
        quick.execute("CREATE TABLE t (k int) STORED AS TEXTFILE")
        storage = slow(lambda: write(quick, 1))
        with connect(store, storage, tmp_path) as overtaken:
            write(overtaken, 2)
    assert lines(tmp_path / "w" / "t") == ["1", "2"]
