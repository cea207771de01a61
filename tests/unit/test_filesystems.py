"""Local files, some written by Hadoop, which keeps checksums beside them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pyarrow.fs as pafs
import pytest

from acidsql.filesystems import ArrowStorage, LocalStorage
from acidsql.layout.listing import ListedFile
from acidsql.storage import Storage

STORAGE = LocalStorage()


@pytest.fixture
def hadoops(tmp_path: Path) -> Path:
    """A file with Hadoop's checksum beside it."""
    (tmp_path / ".000000_0.crc").write_bytes(b"sum of old")
    (tmp_path / "000000_0").write_bytes(b"old")
    return tmp_path


def names(place: Path) -> list[str]:
    return sorted(p.name for p in place.iterdir())


def test_a_checksum_is_not_listed(hadoops: Path) -> None:
    (hadoops / ".hidden").write_bytes(b"x")
    assert STORAGE.list_files(str(hadoops)) == [ListedFile(".hidden", 1), ListedFile("000000_0", 3)]


def test_a_checksum_goes_with_its_file(hadoops: Path) -> None:
    STORAGE.rename(str(hadoops / "000000_0"), str(hadoops / "d" / "000001_0"))
    assert names(hadoops) == ["d"]
    assert names(hadoops / "d") == [".000001_0.crc", "000001_0"]
    STORAGE.remove(str(hadoops / "d" / "000001_0"))
    assert names(hadoops / "d") == []


def test_no_checksum_of_another_file_is_left(hadoops: Path) -> None:
    (hadoops / "000000_0").unlink()  # by somebody who knows nothing of checksums
    (hadoops / "new").write_bytes(b"new")
    STORAGE.rename(str(hadoops / "new"), str(hadoops / "000000_0"))
    assert names(hadoops) == ["000000_0"]
    for write in (
        lambda path: STORAGE.write_file(path, b"written"),
        lambda path: STORAGE.put_file(path, path),
    ):
        (hadoops / ".000000_0.crc").write_bytes(b"sum of old")
        write(str(hadoops / "000000_0"))
        assert names(hadoops) == ["000000_0"]


@pytest.mark.parametrize("storage", [STORAGE, ArrowStorage(pafs.LocalFileSystem())])
def test_several_remove_the_same(tmp_path: Path, storage: Storage) -> None:
    places = [tmp_path / f"d{number}" for number in range(30)]
    for place in places:
        (place / "inside").mkdir(parents=True)
        for number in range(5):
            (place / "inside" / f"f{number}").touch()
    together = Barrier(3)

    def remove_all() -> None:
        together.wait()
        for place in places:
            storage.remove(str(place))

    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(remove_all) for _ in range(3)]:
            done.result()
    assert list(tmp_path.iterdir()) == []
