"""Local files, some written by Hadoop, which keeps checksums beside them; and URIs of others."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier

import pyarrow.fs as pafs
import pytest

from acidsql.backends.storage.arrow import ArrowStorage
from acidsql.backends.storage.exclusive_rename import rename_by_link, rename_exclusively
from acidsql.backends.storage.file_system_uri import FileSystemUri
from acidsql.backends.storage.local import LocalStorage
from acidsql.backends.storage.locations import storage_for
from acidsql.errors import (
    AcidSqlError,
    ConfigError,
    MissingFileError,
    PathExistsError,
    StorageError,
)
from acidsql.layout.listing import ListedFile
from acidsql.model.own_path import OwnPath
from acidsql.ports.storage import Storage

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


def test_a_name_may_leave_no_room_for_a_checksum(hadoops: Path) -> None:
    long, longer = "x" * 252, "y" * 255
    STORAGE.write_file(str(hadoops / long), b"new")
    STORAGE.rename(str(hadoops / long), str(hadoops / longer))
    STORAGE.remove(OwnPath(str(hadoops), longer))
    assert names(hadoops) == [".000000_0.crc", "000000_0"]
    STORAGE.rename(str(hadoops / "000000_0"), str(hadoops / long))
    assert names(hadoops) == [long]
    STORAGE.rename(str(hadoops / long), str(hadoops / "000000_0"))
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
        lambda: storage.remove_empty(strange),
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


@BOTH
def test_only_what_is_empty_is_removed_as_such(tmp_path: Path, storage: Storage) -> None:
    for name in ("empty/inside/deep", "full/inside", "full/other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "empty" / "inside" / ".gone.crc").write_text("sum")
    (tmp_path / "full" / "inside" / "row").write_text("row")
    if storage is not STORAGE:
        (tmp_path / "empty" / "inside" / ".gone.crc").unlink()
    for name in ("empty", "full", "missing"):
        storage.remove_empty(f"{tmp_path}/{name}")
    assert names(tmp_path) == ["full"]
    assert names(tmp_path / "full") == ["inside", "other"]
    assert (tmp_path / "full" / "inside" / "row").read_text() == "row"


@BOTH
def test_what_comes_into_an_empty_directory_stays(
    tmp_path: Path, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t" / "delta"
    place.mkdir(parents=True)

    def comes(*_: object) -> None:
        monkeypatch.undo()
        (place / "row").write_text("row")

    listing, removing = storage.list_files, os.rmdir

    def listed(directory: str) -> list[ListedFile]:
        found = listing(directory)
        comes()
        return found

    def removed(*what: object, **how: object) -> None:
        comes()
        removing(*what, **how)  # type: ignore[arg-type]

    if storage is STORAGE:
        monkeypatch.setattr(os, "rmdir", removed)
    else:
        monkeypatch.setattr(storage, "list_files", listed)
    storage.remove_empty(f"{tmp_path}/t")
    assert (place / "row").read_text() == "row"
    assert names(tmp_path) == ["t"]


def test_a_link_to_an_empty_directory_is_removed_itself(tmp_path: Path) -> None:
    for name in ("empty", "full"):
        (tmp_path / name / "there").mkdir(parents=True)
        (tmp_path / f"to_{name}").symlink_to(tmp_path / name)
    (tmp_path / "full" / "row").touch()
    for name in ("empty", "full"):
        STORAGE.remove_empty(f"{tmp_path}/to_{name}")
    assert names(tmp_path) == ["empty", "full", "to_full"]
    assert names(tmp_path / "empty") == ["there"]


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


@pytest.mark.parametrize("name", ["bucket_00000", "d/bucket_00000", "delta_0000001_0000001"])
def test_a_link_to_nothing_is_no_missing_row(tmp_path: Path, name: str) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / name).symlink_to("/nowhere/at/all")
    with pytest.raises(StorageError, match=f"{name}: it is a link to nothing") as caught:
        STORAGE.list_files(str(tmp_path))
    assert caught.value.detail == "It leads to /nowhere/at/all."


def test_what_readers_pass_over_may_be_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "_tmp").mkdir()
    for name in (".#bucket_00000", "_tmp/bucket_00000"):  # as editors lock a file
        (tmp_path / name).symlink_to("user@host.1:2")
    assert STORAGE.list_files(str(tmp_path)) == []


def test_a_loop_of_links_is_not_nothing(tmp_path: Path) -> None:
    (tmp_path / "t").symlink_to(tmp_path / "t")
    for look in (STORAGE.list_files, STORAGE.list_directories, STORAGE.exists, STORAGE.is_missing):
        with pytest.raises(StorageError, match="levels of symbolic links"):
            look(str(tmp_path / "t"))


def test_an_error_of_the_system_is_not_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "stat", fail)
    monkeypatch.setattr(Path, "exists", lambda _: False)  # as in Python 3.14
    for look in (STORAGE.list_files, STORAGE.list_directories, STORAGE.exists, STORAGE.is_missing):
        with pytest.raises(StorageError, match="Input/output error"):
            look(str(tmp_path))


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


# -- file systems of others ------------------------------------------------------------------------


def standing_in(directory: Path, warehouse: str, root: str = "") -> ArrowStorage:
    """A storage over the warehouse's file system, whose files lie in a directory here."""
    files = pafs.SubTreeFileSystem(str(directory), pafs.LocalFileSystem())
    return ArrowStorage(files, FileSystemUri.of(warehouse, root))


BUCKET, NODE = "s3://bucket/w", "hdfs://nn1:8020/w"


def put(storage: Storage, path: str) -> None:
    with TemporaryDirectory() as directory:
        (Path(directory) / "new").touch()
        storage.put_file(f"{directory}/new", path)


VERBS: dict[str, Callable[[Storage, str], object]] = {
    "list_files": lambda s, path: s.list_files(path),
    "list_directories": lambda s, path: s.list_directories(path),
    "exists": lambda s, path: s.exists(path),
    "is_missing": lambda s, path: s.is_missing(path),
    "make_directory": lambda s, path: s.make_directory(path),
    "open_input": lambda s, path: s.open_input(path),
    "write_file": lambda s, path: s.write_file(path, b"new"),
    "put_file": put,
    "rename from": lambda s, path: s.rename(path, "/w/new"),
    "rename to": lambda s, path: s.rename("/w/t", path),
    "remove": lambda s, path: s.remove(OwnPath(path, "f")),
    "remove_location": lambda s, path: s.remove_location(path),
    "remove_empty": lambda s, path: s.remove_empty(path),
    "resolve": lambda s, path: s.resolve(path),
}


FOREIGN = [
    (BUCKET, "hdfs://bucket/w/t"),
    (BUCKET, "hdfs://other/w/t"),
    (BUCKET, "gs://bucket/w/t"),
    (BUCKET, "file:///bucket/w/t"),
    (BUCKET, "FILE:///bucket/w/t"),
    (BUCKET, "s3://other/w/t"),
    (BUCKET, "s3://Bucket/w/t"),
    (BUCKET, "s3://bucket%20/w/t"),
    (BUCKET, "s3a://bucket:x@other/w/t"),
    (NODE, "hdfs://nn2/w/t"),
    (NODE, "hdfs://nn1:9000/w/t"),
    (NODE, "viewfs://nn1/w/t"),
    (NODE, "s3://nn1:8020/w/t"),
    (NODE, "file:/w/t"),
    ("abfs://c@a.dfs.core.windows.net/w", "abfs://d@a.dfs.core.windows.net/w/t"),
    ("abfs://c@a.dfs.core.windows.net/w", "abfs://c@b.dfs.core.windows.net/w/t"),
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("warehouse", "path"), FOREIGN)
def test_a_path_of_another_file_system_is_refused(
    tmp_path: Path, warehouse: str, path: str, verb: str
) -> None:
    (tmp_path / "w" / "t").mkdir(parents=True)
    (tmp_path / "w" / "t" / "f").write_text("f")
    storage = standing_in(tmp_path, warehouse)
    with pytest.raises(StorageError, match="lies in another file system than the ware") as caught:
        VERBS[verb](storage, path)
    assert str(FileSystemUri.of(warehouse, "")) in caught.value.message
    assert path.rpartition("@")[2] in caught.value.message
    assert caught.value.hint
    assert {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")} == {"w", "w/t", "w/t/f"}


SAME = [
    (BUCKET, "s3://bucket/w/t"),
    (BUCKET, "s3a://bucket/w/t/"),
    (BUCKET, "S3N://bucket//w/./t"),
    (BUCKET, "s3://key:secret@bucket/w/t"),
    (BUCKET, "s3://bucket:9000/w/t"),
    (BUCKET, "/w/t"),
    (BUCKET, "/w/x/../t"),
    (BUCKET, "/../../w/t"),
    (BUCKET, "s3:///w/t"),
    (NODE, "hdfs://nn1/w/t"),
    (NODE, "hdfs://NN1:8020/w/t"),
    (NODE, "hdfs://ann@nn1/w/t"),
    (NODE, "hdfs:///w/t"),
    (NODE, "hdfs:/w/t"),
    (NODE, "/w/t"),
    ("viewfs://cluster/w", "viewfs://Cluster/w/t"),
    ("hdfs://[::1]:8020/w", "hdfs://[::1]/w/t"),
    ("hdfs:///w", "/w/t"),
    ("gs://bucket/w", "gcs://anonymous@bucket/w/t"),
    ("abfs://c:key@a.dfs.core.windows.net/w", "abfss://c@A.dfs.core.windows.net/w/t"),
]


@pytest.mark.parametrize("root", ["", "inside", "inside/"])
@pytest.mark.parametrize(("warehouse", "path"), SAME)
def test_one_place_of_a_file_system_has_one_name(
    tmp_path: Path, warehouse: str, path: str, root: str
) -> None:
    (tmp_path / root / "w" / "t" / "d").mkdir(parents=True)
    (tmp_path / root / "w" / "t" / "d" / "f").write_text("f")
    storage = standing_in(tmp_path, warehouse, root)
    assert storage.resolve(path) == storage.resolve(f"{warehouse}/t")
    assert storage.resolve(path).startswith(f"{storage.resolve('/')}/")
    assert storage.exists(f"{path}/d/f")
    assert storage.list_directories(path) == ["d"]
    with storage.open_input(f"{path}/d/f") as stream:
        assert stream.read() == b"f"


@pytest.mark.parametrize("name", ["a%20b", "a?b=c", "a#b", "p=a:b", "a\tb", "a@b", "ä b"])
@pytest.mark.parametrize("warehouse", [BUCKET, NODE])
def test_all_behind_the_authority_is_the_path(tmp_path: Path, warehouse: str, name: str) -> None:
    """As for Hadoop and Spark, which decode nothing and know neither options nor fragments."""
    storage = standing_in(tmp_path, warehouse)
    (tmp_path / "w").mkdir()
    storage.write_file(f"{warehouse}/{name}", b"x")
    assert names(tmp_path / "w") == [name]
    assert storage.resolve(f"/w/{name}") == f"{storage.resolve(warehouse)}/{name}"
    storage.remove(OwnPath(warehouse, name))
    assert names(tmp_path / "w") == []


def test_a_local_uri_is_cut_nowhere(tmp_path: Path) -> None:
    STORAGE.write_file(f"file://{tmp_path}/a%20b?c#d", b"x")
    assert names(tmp_path) == ["a b?c#d"]


def test_two_slashes_begin_an_authority(tmp_path: Path) -> None:
    storage = standing_in(tmp_path, BUCKET)
    assert storage.resolve("//bucket/w") == "s3://bucket/w"
    with pytest.raises(StorageError, match="another file system"):
        storage.resolve("//other/w")


@pytest.mark.parametrize("path", ["", "w/t", "s3:w", "."])
def test_a_relative_path_is_no_path_of_a_file_system(tmp_path: Path, path: str) -> None:
    with pytest.raises(StorageError, match="no absolute path"):
        standing_in(tmp_path, BUCKET).list_files(path)


@pytest.mark.parametrize("path", ["s3://bucket", "s3a://bucket:1"])
def test_a_root_is_not_removed(tmp_path: Path, path: str) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(StorageError, match="it is a root"):
        standing_in(tmp_path, BUCKET).remove_location(path)
    assert names(tmp_path) == ["f"]


def test_the_home_of_a_storage_is_that_of_its_location() -> None:
    storage = storage_for("mock://NN/a%20b/w")
    assert storage.resolve("/w") == "mock://nn/w"
    assert storage.resolve("mock://nn/a%20b/w") == "mock://nn/a%20b/w"
    storage.make_directory("mock://nn/a%20b/w/t")
    storage.write_file("mock://nn/a%20b/w/t/f", b"f")
    assert storage.list_files("/a%20b/w") == [ListedFile("t/f", 1)]
    assert storage.list_directories("mock:///") == ["a%20b"]
    for path in ("mock://other/w", "hdfs://nn/w"):
        with pytest.raises(StorageError, match="another file system than the warehouse, mock://nn"):
            storage.exists(path)


@pytest.mark.parametrize(
    "location", ["mock://nn/w?x=1", "mock://nn/w#x", "odd://nn/w", "s3a://b c/w", "x://[a/w"]
)
def test_a_warehouse_that_pyarrow_cannot_open(location: str) -> None:
    with pytest.raises(ConfigError):
        storage_for(location)


SECRETS = ["sEcReT", "sE/cReT", "sE@cReT", "sE:cReT", "sE%2FcReT", "/sE/cReT", "12/sEcReT"]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("verb", VERBS)
def test_no_error_shows_a_key(tmp_path: Path, verb: str, secret: str) -> None:
    (tmp_path / "w").write_text("no directory")
    for bucket in ("bucket", "other"):
        for storage in (standing_in(tmp_path, BUCKET), STORAGE):
            try:
                VERBS[verb](storage, f"s3://key:{secret}@{bucket}/w/t/../x")
            except AcidSqlError as error:
                _refuse_secret(error)


@pytest.mark.parametrize("secret", ["sE/cReT", "sE cReT"])
@pytest.mark.parametrize("scheme", ["s3", "s3a", "S3"])
def test_no_error_of_a_warehouse_shows_a_key(scheme: str, secret: str) -> None:
    with pytest.raises(ConfigError) as caught:
        storage_for(f"{scheme}://key:{secret}@bucket/w")
    _refuse_secret(caught.value)


def _refuse_secret(error: BaseException | None) -> None:
    while error is not None:
        shown = f"{error} {error!r} {getattr(error, 'detail', '')} {getattr(error, 'hint', '')}"
        assert "sE" not in shown
        assert "cReT" not in shown
        error = error.__cause__ or error.__context__


def test_files_of_this_machine_have_a_storage_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert STORAGE.local is STORAGE
    local = standing_in(tmp_path / "none", BUCKET).local
    assert local.exists(str(tmp_path / "f"))
    assert local.resolve(f"file://{tmp_path}/f") == os.path.realpath(tmp_path / "f")


@pytest.mark.parametrize("storage", [STORAGE, ArrowStorage(pafs.LocalFileSystem())])
def test_bytes_are_appended_where_the_caller_thinks_the_file_ends(
    tmp_path: Path, storage: Storage
) -> None:
    assert storage.appends
    path = str(tmp_path / "f")
    storage.write_file(path, b"abc")
    storage.append(path, b"def", 3)
    assert (tmp_path / "f").read_bytes() == b"abcdef"
    for wrong in (3, 7):
        with pytest.raises(StorageError, match="it has 6 bytes, not"):
            storage.append(path, b"x", wrong)
    with pytest.raises(MissingFileError):
        storage.append(str(tmp_path / "none"), b"x", 0)
    assert not (tmp_path / "none").exists()
    assert (tmp_path / "f").read_bytes() == b"abcdef"


def test_an_object_store_appends_nothing() -> None:
    storage = ArrowStorage(pafs._MockFileSystem())
    assert not storage.appends
    with pytest.raises(StorageError, match="whole object"):
        storage.append("/f", b"x", 0)
