"""Local files, some written by Hadoop, which keeps checksums beside them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pyarrow.fs as pafs
import pytest

from acidsql.errors import PathExistsError, StorageError
from acidsql.filesystems import ArrowStorage, LocalStorage, rename_by_link, rename_exclusively
from acidsql.layout.listing import ListedFile
from acidsql.model.own_path import OwnPath
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
    STORAGE.remove(OwnPath(str(hadoops), "d/000001_0"))
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
            storage.remove(OwnPath(str(tmp_path), place.name))

    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(remove_all) for _ in range(3)]:
            done.result()
    assert list(tmp_path.iterdir()) == []


BOTH = pytest.mark.parametrize(
    "storage", [STORAGE, ArrowStorage(pafs.LocalFileSystem())], ids=["local", "arrow"]
)


@pytest.mark.parametrize("rename", [rename_exclusively, rename_by_link])
def test_of_two_files_that_want_one_name_one_gets_it(
    tmp_path: Path, rename: Callable[[Path, Path], None]
) -> None:
    for number in range(50):
        sources = [tmp_path / f"{number}_{writer}" for writer in range(3)]
        for source in sources:
            source.write_text(source.name)
        target, together = tmp_path / f"{number}", Barrier(3)

        def go(source: Path, target: Path = target, together: Barrier = together) -> bool:
            together.wait()
            try:
                rename(source, target)
            except FileExistsError:
                return False
            return True

        with ThreadPoolExecutor(3) as threads:
            won = list(threads.map(go, sources))
        assert sum(won) == 1
        assert target.read_text() == sources[won.index(True)].name
        losers = [s for s, has_won in zip(sources, won, strict=True) if not has_won]
        assert all(s.read_text() == s.name for s in losers)


@pytest.mark.parametrize("rename", [rename_exclusively, rename_by_link])
def test_a_directory_replaces_none_that_holds_something(
    tmp_path: Path, rename: Callable[[Path, Path], None]
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    with pytest.raises(OSError, match=r"exists|not empty"):
        rename(tmp_path / "a", tmp_path / "b")
    rename(tmp_path / "a", tmp_path / "c")
    assert names(tmp_path) == ["b", "c"]
    assert names(tmp_path / "b") == ["b"]


def test_a_file_gets_a_name_where_there_are_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", no_links)
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with pytest.raises(FileExistsError):
        rename_by_link(tmp_path / "a", tmp_path / "b")
    rename_by_link(tmp_path / "a", tmp_path / "c")
    assert (tmp_path / "b").read_text() == "b"
    assert names(tmp_path) == ["b", "c"]


@BOTH
def test_a_rename_makes_the_parents_it_needs(tmp_path: Path, storage: Storage) -> None:
    for source in ("file", "directory/file"):
        (tmp_path / source).parent.mkdir(exist_ok=True)
        (tmp_path / source).write_text(source)
    storage.rename(str(tmp_path / "file"), str(tmp_path / "x" / "y" / "file"))
    storage.rename(str(tmp_path / "directory"), str(tmp_path / "x" / "z" / "d"))
    assert (tmp_path / "x" / "y" / "file").read_text() == "file"
    assert (tmp_path / "x" / "z" / "d" / "file").read_text() == "directory/file"


@BOTH
def test_a_rename_onto_something_is_refused(tmp_path: Path, storage: Storage) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with pytest.raises(PathExistsError, match="the target exists"):
        storage.rename(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (tmp_path / "b").read_text() == "b"


def test_new_directories_are_durable_up_to_the_first_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[str] = set()

    def fsync(descriptor: int, really: Callable[[int], None] = os.fsync) -> None:
        really(descriptor)
        synced.add(os.readlink(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr("os.fsync", fsync)
    (tmp_path / "file").touch()
    for number, make in enumerate(
        (
            lambda path: STORAGE.make_directory(f"{path}/d"),
            lambda path: STORAGE.write_file(f"{path}/f", b""),
            lambda path: STORAGE.rename(str(tmp_path / "file"), f"{path}/f"),
        )
    ):
        synced.clear()
        make(str(tmp_path / f"{number}" / "b" / "c"))
        new = [tmp_path / f"{number}", tmp_path / f"{number}" / "b"]
        assert synced >= {str(p) for p in (tmp_path, *new, new[-1] / "c")}


STRANGE = [
    "",
    ".",
    "..",
    "/",
    "//",
    "relative",
    "/w/..",
    "/w/../x",
    "/w/./x",
    "/w//x",
    "/w/x\0",
    "/w/",
]


@BOTH
@pytest.mark.parametrize("path", STRANGE, ids=repr)
def test_nothing_is_changed_by_a_path_that_does_not_lead_straight_down(
    tmp_path: Path, storage: Storage, path: str
) -> None:
    (tmp_path / "here").write_text("here")
    (tmp_path / "w").mkdir()
    strange = path.replace("/w", f"{tmp_path}/w", 1)
    for change in (
        lambda: storage.remove_location(strange),
        lambda: storage.remove(OwnPath(strange, "here")),
        lambda: storage.rename(strange, str(tmp_path / "there")),
        lambda: storage.rename(str(tmp_path / "here"), strange),
        lambda: storage.make_directory(strange),
    ):
        with pytest.raises(StorageError, match="no plain absolute path"):
            change()
    assert names(tmp_path) == ["here", "w"]


@BOTH
@pytest.mark.parametrize(
    "path", ["", "/", ".", "..", "../here", "a/../../here", "a//b", "a/", "x\0"], ids=repr
)
def test_nothing_is_removed_but_below_a_location(
    tmp_path: Path, storage: Storage, path: str
) -> None:
    (tmp_path / "here").write_text("here")
    (tmp_path / "w" / "a").mkdir(parents=True)
    with pytest.raises(StorageError, match="no plain absolute path"):
        storage.remove(OwnPath(f"{tmp_path}/w", path))
    assert names(tmp_path) == ["here", "w"]
    assert names(tmp_path / "w") == ["a"]


def test_nothing_is_removed_behind_a_link_but_the_link_itself(tmp_path: Path) -> None:
    location, other = tmp_path / "t", tmp_path / "other"
    (other / "delta").mkdir(parents=True)
    location.mkdir()
    (location / "p=1").symlink_to(other)
    with pytest.raises(StorageError, match="a link leads out of"):
        STORAGE.remove(OwnPath(str(location), "p=1/delta"))
    STORAGE.remove(OwnPath(str(location), "p=1"))
    assert names(location) == []
    assert names(other) == ["delta"]


def test_a_location_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "there" / "delta" / "d").mkdir(parents=True)
    (tmp_path / "t").symlink_to(tmp_path / "there")
    STORAGE.remove(OwnPath(str(tmp_path / "t"), "delta/d"))
    STORAGE.remove(OwnPath(str(tmp_path / "t"), "delta"))
    assert names(tmp_path / "there") == []


def test_one_place_has_one_resolved_path(tmp_path: Path) -> None:
    (tmp_path / "a b" / "c").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a b")
    same = [f"{tmp_path}/a b/c", f"{tmp_path}/link/../a b/c/", f"{tmp_path}/link/c"]
    same.append(f"file://{tmp_path}/a%20b/c")
    assert {STORAGE.resolve(path) for path in same} == {os.path.realpath(tmp_path / "a b" / "c")}


def test_a_path_with_a_nul_is_an_error_of_the_storage() -> None:
    for look in (STORAGE.open_input, STORAGE.resolve):
        with pytest.raises(StorageError):
            look("/w/a\0b")
