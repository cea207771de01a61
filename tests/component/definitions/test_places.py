"""What is not a table's own is not taken, not moved and not removed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.fs as pafs
import pytest

import acidsql
from acidsql.backends.memory.store import MemoryStore
from acidsql.backends.storage.arrow import ArrowStorage
from acidsql.backends.storage.file_system_uri import FileSystemUri
from acidsql.errors import AcidSqlError, AnalysisError, ConfigError, StorageError
from acidsql.execution.places import is_below
from acidsql.execution.scope import Bounds
from acidsql.model.names import TableName
from acidsql.ports.catalog import Place
from acidsql.session.session import Session
from acidsql.txn.policy import TxnPolicy
from tests.component.definitions.conftest import STORES
from tests.python_engine import PythonEngine

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
TEXT = "STORED AS TEXTFILE"


def everything(place: Path) -> set[str]:
    """Every path below a directory but the store's own."""
    paths = (str(p.relative_to(place)) for p in place.rglob("*"))
    return {p for p in paths if ".acidsql.db" not in p}


def furnish(session: Session, tmp_path: Path) -> Session:
    """Two databases, a table in each of three, links to some of them."""
    for text in (
        f"CREATE TABLE t (k int) {ACID}",
        "INSERT INTO t VALUES (1)",
        f"CREATE TABLE plain (k int) {TEXT}",
        "INSERT INTO plain VALUES (1)",
        "CREATE DATABASE a",
        f"CREATE DATABASE b LOCATION '{tmp_path}/b'",
        f"CREATE TABLE a.t (k int) {ACID}",
        f"CREATE TABLE far (k int) STORED AS ORC LOCATION '{tmp_path}/far/1'"
        " TBLPROPERTIES ('transactional' = 'true')",
    ):
        session.execute(text)
    (tmp_path / "link").symlink_to(tmp_path / "w")
    (tmp_path / "up").symlink_to(tmp_path)
    return session


@pytest.fixture
def home(session: Session, tmp_path: Path) -> Session:
    return furnish(session, tmp_path)


@pytest.fixture(scope="module", params=STORES)
def shared_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Session, Path]]:
    """A home and its parent directory, for tests that leave all of it as it was."""
    directory = tmp_path_factory.mktemp("shared")
    with acidsql.connect(directory / "w", metastore=request.param) as session:
        yield furnish(session, directory), directory


def test_a_table_of_another_database_lies_in_the_dropped_one(
    home: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hive makes such a table. A metastore is asked for the tables of the database around."""
    inside = f"{tmp_path}/w/t/inside"
    store = home._store
    store.create_table(
        replace(
            store.table(TableName("default", "plain")), name=TableName("a", "x"), location=inside
        )
    )
    (tmp_path / "w" / "t" / "inside").mkdir()
    every = store.places

    def near(location: str) -> Iterator[Place]:
        is_near = location.rpartition("/")[0] == f"{tmp_path}/w"
        return (p for p in every(location) if not is_near or p.table.database == "default")

    monkeypatch.setattr(store, "places", near)
    message = home.execute("DROP TABLE t").message
    assert f"{tmp_path}/w/t stays: it holds {inside} of table a.x." in message
    assert (tmp_path / "w" / "t" / "inside").exists()


def test_a_database_that_is_dropped_meanwhile_is_in_nobodys_way(
    home: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at the end of a session with temporary tables."""
    every = home._store.databases
    monkeypatch.setattr(home._store, "databases", lambda: [*every(), "gone"])
    home.execute(f"CREATE TABLE u (k int) LOCATION '{tmp_path}/u'")
    assert home.execute("DROP TABLE u").message == "OK"


TAKEN = [
    "{w}",
    "{w}/",
    "{w}/x/..",
    "{w}/../w",
    "file://{w}",
    "{tmp}",
    "/",
    "{tmp}/link",
    "{tmp}/up",
    "{w}/t",
    "{w}/t/deep/er",
    "{w}/plain",
    "{tmp}/link/t",
    "{w}/a.db",
    "{w}/a.db/t/x",
    "{w}/a.db/x",
    "{tmp}/b",
    "{tmp}/b/x",
    "{tmp}/far",
    "{tmp}/far/1",
    "{tmp}/far/1/delta_0000001_0000001_0000",
]


@pytest.mark.parametrize("place", TAKEN)
def test_no_table_lies_where_something_else_does(
    shared_home: tuple[Session, Path], place: str
) -> None:
    home, tmp_path = shared_home
    location = place.format(w=tmp_path / "w", tmp=tmp_path)
    before = everything(tmp_path)
    home.execute(f"CREATE TABLE p (k int) PARTITIONED BY (d int) {ACID}")
    for text in (
        f"CREATE TABLE new (k int) {TEXT} LOCATION '{location}'",
        f"CREATE TABLE new LIKE t LOCATION '{location}'",
        f"ALTER TABLE p ADD PARTITION (d = 1) LOCATION '{location}'",
    ):
        with pytest.raises(AnalysisError):
            home.execute(text)
    home.execute("DROP TABLE p")
    assert everything(tmp_path) == before


@pytest.mark.parametrize("place", ["{w}", "{tmp}", "{tmp}/link", "{w}/t", "{w}/a.db", "{w}/a.db/x"])
def test_no_database_lies_where_something_else_does(
    shared_home: tuple[Session, Path], place: str
) -> None:
    home, tmp_path = shared_home
    location = place.format(w=tmp_path / "w", tmp=tmp_path)
    with pytest.raises(AnalysisError, match=r"belongs to|lies in"):
        home.execute(f"CREATE DATABASE new LOCATION '{location}'")
    assert ("new",) not in home.execute("SHOW DATABASES").fetchall()


def test_the_store_s_directory_is_nobody_s(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    url = f"sqlite:///{tmp_path}/store/txns.db"
    with acidsql.connect(str(tmp_path / "w"), metastore=url) as session:
        for place in ("store", "store/txns.db", "store/txns.db-wal"):
            with pytest.raises(AnalysisError, match="belongs to the store"):
                session.execute(f"CREATE TABLE t (k int) {TEXT} LOCATION '{tmp_path}/{place}'")
        session.execute(f"CREATE TABLE t (k string) {TEXT}")
        for local in ("", "LOCAL"):
            path = f"{tmp_path}/store/txns.db"
            with pytest.raises(AnalysisError, match="lies in the store"):
                session.execute(f"LOAD DATA {local} INPATH '{path}' INTO TABLE t")
    assert (tmp_path / "store" / "txns.db").exists()


def test_a_relative_location_is_written_as_an_absolute_one(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session.execute(
        "CREATE TABLE t (k int) STORED AS ORC LOCATION 'some/../here/t'"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    session.execute("INSERT INTO t VALUES (1)")
    assert (tmp_path / "here" / "t" / "delta_0000001_0000001_0000").is_dir()
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    "path", ["{w}/plain", "{w}/plain/000000_0", "{tmp}/link/plain", "{w}/t", "file://{w}/plain"]
)
def test_nothing_is_moved_out_of_a_table(shared_home: tuple[Session, Path], path: str) -> None:
    home, tmp_path = shared_home
    home.execute(f"CREATE TABLE new (k int) {TEXT}")
    before = everything(tmp_path)
    source = path.format(w=tmp_path / "w", tmp=tmp_path)
    with pytest.raises(AnalysisError, match=r"lies in table default\.(plain|t)"):
        home.execute(f"LOAD DATA INPATH '{source}' INTO TABLE new")
    assert everything(tmp_path) == before
    home.execute("DROP TABLE new")


@pytest.mark.parametrize("start", ["", "file://", "file:"])
@pytest.mark.parametrize("local", ["", "LOCAL "])
@pytest.mark.parametrize("what", ["in", "in/", "in/data.txt"])
def test_data_is_loaded_from_files_and_directories(
    session: Session, tmp_path: Path, start: str, local: str, what: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "data.txt").write_text("7\n")
    session.execute(f"CREATE TABLE t (k int) {TEXT}")
    session.execute(f"LOAD DATA {local}INPATH '{start}{tmp_path}/{what}' INTO TABLE t")
    assert [p.read_text() for p in (tmp_path / "w" / "t").iterdir()] == ["7\n"]
    assert (tmp_path / "in" / "data.txt").exists() == bool(local)


def test_a_directory_at_the_root_is_listed(session: Session) -> None:
    session.execute(f"CREATE TABLE t (k string) {TEXT}")
    for path in ("/etc", "/etc/"):
        with pytest.raises(AnalysisError, match="source contains directory: /etc/"):
            session.execute(f"LOAD DATA INPATH '{path}' INTO TABLE t")


@pytest.mark.parametrize("local", ["", "LOCAL "])
def test_a_path_that_cannot_be_read_is_an_error_with_its_name(
    session: Session, tmp_path: Path, local: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute(f"CREATE TABLE t (k string) {TEXT}")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f").write_text("x")

    def refuse(self: Path, *_: object, really: Callable[..., object] = Path.open) -> object:
        if self.name == "f":
            raise PermissionError(13, "Permission denied", str(self))
        return really(self, *_)

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(StorageError, match=r"in/f.*Permission denied"):
        session.execute(f"LOAD DATA {local}INPATH '{tmp_path}/in' INTO TABLE t")
    with pytest.raises(AcidSqlError):
        session.execute(f"LOAD DATA {local}INPATH '{tmp_path}/a\\0b' INTO TABLE t")


def test_files_of_others_stay_where_a_user_said_a_table_lies(
    session: Session, tmp_path: Path
) -> None:
    place = tmp_path / "mine"
    session.execute(
        f"CREATE TABLE t (k int) PARTITIONED BY (p int) STORED AS ORC LOCATION '{place}'"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    for name in ("thesis.txt", "p=2/thesis.txt", "old/thesis.txt"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("dear")
    result = session.execute("DROP TABLE t")
    assert everything(place) == {
        "thesis.txt", "p=2", "p=2/thesis.txt", "old", "old/thesis.txt",
    }  # fmt: skip
    assert result.message is not None
    said = "stays with 3 files of others: old/thesis.txt, p=2/thesis.txt, thesis.txt"
    assert said in result.message
    assert session.execute("SHOW TABLES").fetchall() == []


def test_one_file_of_others_stays(session: Session, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    stored, properties = ACID.split(" TBL")
    session.execute(f"CREATE TABLE t (k int) {stored} LOCATION '{place}' TBL{properties}")
    (place / "thesis.txt").write_text("dear")
    message = session.execute("DROP TABLE t").message
    assert message == f"OK\n{place} stays with 1 file of others: thesis.txt"


def test_a_directory_of_nothing_but_a_table_goes(session: Session, tmp_path: Path) -> None:
    for number, kind in enumerate((ACID, "STORED AS PARQUET", TEXT)):
        stored, _, properties = kind.partition(" TBL")
        rest = f"TBL{properties}" if properties else ""
        place = tmp_path / f"d{number}"
        session.execute(f"CREATE TABLE t (k int) {stored} LOCATION '{place}' {rest}")
        session.execute("INSERT INTO t VALUES (1)")
        assert session.execute("DROP TABLE t").message == "OK"
        assert not place.exists()


def test_what_was_there_before_a_plain_table_stays(session: Session, tmp_path: Path) -> None:
    place = tmp_path / "home"
    for name in ("thesis.txt", "deep/er/thesis.txt"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("dear")
    before = everything(place)
    session.execute(f"CREATE TABLE t (k string) {TEXT} LOCATION '{place}'")
    result = session.execute("DROP TABLE t")
    assert everything(place) == before
    assert f"{place} stays" in str(result.message)
    session.execute(f"CREATE TABLE p (k string) PARTITIONED BY (d int) {TEXT}")
    session.execute(f"ALTER TABLE p ADD PARTITION (d = 1) LOCATION '{place}'")
    result = session.execute("ALTER TABLE p DROP PARTITION (d = 1)")
    assert everything(place) == before
    assert f"{place} stays" in str(result.message)


@pytest.mark.parametrize("location", ["", "file:", "file://"])
def test_an_empty_location_is_not_the_working_directory(session: Session, location: str) -> None:
    session.execute(f"CREATE TABLE p (k string) PARTITIONED BY (d int) {TEXT}")
    for text in (
        f"CREATE TABLE t (k string) {TEXT} LOCATION '{location}'",
        f"ALTER TABLE p ADD PARTITION (d = 1) LOCATION '{location}'",
        f"CREATE DATABASE a LOCATION '{location}'",
    ):
        with pytest.raises(AnalysisError):
            session.execute(text)


def test_files_of_others_stay_where_a_user_said_a_partition_lies(
    session: Session, tmp_path: Path
) -> None:
    session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (p int) {ACID}")
    session.execute(f"ALTER TABLE t ADD PARTITION (p = 1) LOCATION '{tmp_path}/mine'")
    session.execute("INSERT INTO t VALUES (1, 1)")
    (tmp_path / "mine" / "thesis.txt").write_text("dear")
    result = session.execute("ALTER TABLE t DROP PARTITION (p = 1)")
    assert everything(tmp_path / "mine") == {"thesis.txt"}
    assert result.message is not None
    assert "thesis.txt" in result.message
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "w"]


BAD = [
    "{w}",
    "{w}/.",
    "{w}/..",
    "{w}/../precious",
    "/",
    "{tmp}",
    "{w}/good",
    "{tmp}/link/good",
    "{w}/good/x",
]


@pytest.mark.parametrize("place", BAD)
def test_what_an_older_catalog_holds_is_dropped_without_harm(
    session: Session, tmp_path: Path, place: str
) -> None:
    session.execute(f"CREATE TABLE good (k int) {ACID}")
    session.execute("INSERT INTO good VALUES (1)")
    session.execute(f"CREATE TABLE bad (k int) {ACID}")
    (tmp_path / "w" / "bad").rmdir()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("dear")
    (tmp_path / "link").symlink_to(tmp_path / "w")
    store = session._store
    bad = store.table(TableName("default", "bad"))
    location = place.format(w=tmp_path / "w", tmp=tmp_path)
    store.drop_table(bad.name)
    store.create_table(replace(bad, location=location))
    before = everything(tmp_path)
    assert session.execute("SHOW TABLES").fetchall() == [("bad",), ("good",)]
    result = session.execute("DROP TABLE bad")
    assert session.execute("SHOW TABLES").fetchall() == [("good",)]
    assert everything(tmp_path) == before
    assert result.message is not None
    assert f"{location} stays: it " in result.message


def test_a_table_of_an_older_catalog_with_a_hostile_name_is_dropped_without_harm(
    tmp_path: Path,
) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("dear")
    with acidsql.connect(str(tmp_path / "w"), metastore="memory:") as session:
        session.execute(f"CREATE TABLE t (k int) {ACID}")
        rows = session._store.table_rows  # type: ignore[attr-defined]
        table = rows.pop(TableName("default", "t"))
        name = TableName("default", "../precious")
        rows[name] = replace(table, name=name, location=f"{tmp_path}/w/../precious")
        assert session.execute("SHOW TABLES").fetchall() == [("../precious",)]
        session.execute("ALTER TABLE `../precious` RENAME TO rescued")
        assert session.execute("SHOW TABLES").fetchall() == [("rescued",)]
        session.execute("DROP TABLE rescued")
    assert (tmp_path / "precious" / "file").read_text() == "dear"


def test_dropping_a_database_leaves_what_others_have_in_it(
    session: Session, tmp_path: Path
) -> None:
    session.execute("CREATE DATABASE a")
    session.execute("CREATE DATABASE b")
    session.execute(f"CREATE TABLE a.t (k int) {ACID}")
    session.execute(f"CREATE TABLE b.t (k int) {ACID}")
    session.execute("INSERT INTO b.t VALUES (1)")
    store = session._store
    table = store.table(TableName("b", "t"))
    store.drop_table(table.name)
    store.create_table(replace(table, location=f"{tmp_path}/w/a.db/t/b"))
    (tmp_path / "w" / "b.db" / "t").rename(tmp_path / "w" / "a.db" / "t" / "b")
    message = session.execute("DROP DATABASE a CASCADE").message
    assert (tmp_path / "w" / "a.db" / "t" / "b" / "delta_0000001_0000001_0000").is_dir()
    assert message is not None
    assert "of table b.t" in message


@pytest.mark.parametrize("leads_to", ["a.db/t", "a.db", "../far/1", "../far", "t", ".", "p/d=1"])
def test_a_link_is_no_partition_if_it_leads_into_anothers(
    home: Session, tmp_path: Path, leads_to: str
) -> None:
    home.execute(f"CREATE TABLE p (k int) PARTITIONED BY (d int) {ACID}")
    home.execute("INSERT INTO p VALUES (1, 1)")
    (tmp_path / "w" / "p" / "d=2").symlink_to(tmp_path / "w" / leads_to)
    before = everything(tmp_path)
    with pytest.raises(AnalysisError, match=r"belongs to|lies in that of"):
        home.execute("MSCK REPAIR TABLE p")
    assert home.execute("SHOW PARTITIONS p").fetchall() == [("d=1",)]
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    "text", ["INSERT INTO p VALUES (5, 2)", "ALTER TABLE p ADD PARTITION (d = 2)"]
)
def test_no_new_partition_is_made_through_a_link(home: Session, tmp_path: Path, text: str) -> None:
    """Where a new partition will be, somebody has put a link to another table."""
    home.execute(f"CREATE TABLE p (k int) PARTITIONED BY (d int) {ACID}")
    (tmp_path / "w" / "p" / "d=2").symlink_to(tmp_path / "w" / "plain")
    before = everything(tmp_path)
    with pytest.raises(AcidSqlError, match=r"a link leads from|belongs to"):
        home.execute(text)
    assert everything(tmp_path) == before
    assert home.execute("SHOW PARTITIONS p").fetchall() == []
    home.execute("INSERT INTO p VALUES (5, 3)")
    assert home.execute("SHOW PARTITIONS p").fetchall() == [("d=3",)]


def test_a_link_to_what_is_nobodys_is_a_partition(home: Session, tmp_path: Path) -> None:
    home.execute(f"CREATE TABLE p (k int) PARTITIONED BY (d int) {ACID}")
    home.execute("INSERT INTO p VALUES (1, 1)")
    shutil.move(tmp_path / "w/p/d=1/delta_0000001_0000001_0000", tmp_path / "kept/delta_1_1")
    (tmp_path / "w" / "p" / "d=2").symlink_to(tmp_path / "kept")
    home.execute("MSCK REPAIR TABLE p")
    assert home.execute("SHOW PARTITIONS p").fetchall() == [("d=1",), ("d=2",)]


@pytest.mark.parametrize("how", ["", "LOCAL "])
@pytest.mark.parametrize("uri", ["{}", "file://{}", "file:{}"])
def test_a_file_is_loaded_by_its_path_and_by_its_uri(
    session: Session, tmp_path: Path, how: str, uri: str
) -> None:
    place = tmp_path / "a b"
    place.mkdir()
    (place / "f").write_text("1\n")
    session.execute(f"CREATE TABLE plain (k int) {TEXT}")
    path = str(place / "f") if uri == "{}" else str(place / "f").replace(" ", "%20")
    session.execute(f"LOAD DATA {how}INPATH '{uri.format(path)}' INTO TABLE plain")
    assert [p.read_text() for p in (tmp_path / "w" / "plain").iterdir()] == ["1\n"]
    assert (place / "f").exists() == bool(how)


# -- allowed roots ---------------------------------------------------------------------------------


def bounded(tmp_path: Path, roots: str) -> Session:
    config = {"acidsql.allowed.roots": roots}
    return acidsql.connect(str(tmp_path / "w"), metastore="memory:", config=config)


OUTSIDE = [
    "{tmp}/out",
    "{tmp}/w/../out",
    "{tmp}/w/link",
    "file://{tmp}/out",
    "s3a://b/x",
    "{tmp}/ww",
]


@pytest.mark.parametrize("place", OUTSIDE)
def test_nothing_outside_of_the_allowed_roots_is_reached(tmp_path: Path, place: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "f").write_text("1\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "link").symlink_to(tmp_path / "out")
    location = place.format(tmp=tmp_path)
    with bounded(tmp_path, str(tmp_path / "w")) as session:
        session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (p int) {ACID}")
        session.execute(f"CREATE TABLE plain (k int) {TEXT}")
        for text in (
            f"CREATE TABLE new (k int) {TEXT} LOCATION '{location}'",
            f"CREATE EXTERNAL TABLE new (k int) {TEXT} LOCATION '{location}'",
            f"CREATE TABLE new LIKE plain LOCATION '{location}'",
            f"CREATE TABLE new STORED AS TEXTFILE LOCATION '{location}' AS SELECT 1 AS k",
            f"CREATE DATABASE new LOCATION '{location}'",
            f"ALTER TABLE t ADD PARTITION (p = 1) LOCATION '{location}'",
            f"LOAD DATA INPATH '{location}' INTO TABLE plain",
            f"LOAD DATA LOCAL INPATH '{location.removeprefix('s3a:/')}' INTO TABLE plain",
        ):
            with pytest.raises(AnalysisError, match="outside of what is allowed"):
                session.execute(text)
        with pytest.raises(AnalysisError, match="outside of what is allowed"):
            session.read_acid(location, schema="k int")
    assert everything(tmp_path / "out") == {"f"}


@pytest.mark.parametrize("link", ["x", "delta_0000001_0000001_0000"])
def test_a_link_below_a_root_leads_nowhere_else(
    tmp_path: Path, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, or a directory with one, inside of a directory that is allowed."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "f").write_text("1\n")
    place = tmp_path / "w" / "in"
    place.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    (place / link).symlink_to(tmp_path / "out" / "f" if link == "x" else tmp_path / "out")
    with bounded(tmp_path, str(tmp_path / "w")) as session:
        session.execute(f"CREATE TABLE plain (k int) {TEXT}")
        for text in (
            f"CREATE EXTERNAL TABLE new (k int) {TEXT} LOCATION '{place}'",
            f"LOAD DATA INPATH '{place}' INTO TABLE plain",
            f"LOAD DATA LOCAL INPATH '{place}' INTO TABLE plain",
            "LOAD DATA LOCAL INPATH 'w/in' INTO TABLE plain",
        ):
            with pytest.raises(AnalysisError, match="outside of what is allowed"):
                session.execute(text)
        with pytest.raises(AnalysisError, match="outside of what is allowed"):
            session.read_acid(str(place), schema="k int")


def test_a_link_below_a_root_is_no_partition(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with bounded(tmp_path, str(tmp_path / "w")) as session:
        session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (p int) {ACID}")
        (tmp_path / "w" / "t" / "p=1").symlink_to(tmp_path / "out")
        with pytest.raises(AnalysisError, match="outside of what is allowed"):
            session.execute("MSCK REPAIR TABLE t")


def test_what_lies_below_a_root_is_reached(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f").write_text("1\n")
    with bounded(tmp_path, f"{tmp_path}/in , file://{tmp_path}/w") as session:
        session.execute(f"CREATE TABLE t (k int) {TEXT} LOCATION '{tmp_path}/in/t'")
        session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/in/f' INTO TABLE t")
        session.execute("DROP TABLE t")
    assert everything(tmp_path / "in") == {"f"}


def test_a_warehouse_outside_of_the_roots_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="outside of what is allowed"):
        bounded(tmp_path, str(tmp_path / "other"))
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize("roots", ["", "relative", "/a,,/b", "/a, b"])
def test_roots_are_absolute(tmp_path: Path, roots: str) -> None:
    with pytest.raises(ConfigError, match=r"acidsql\.allowed\.roots"):
        bounded(tmp_path, roots)


# -- other file systems ----------------------------------------------------------------------------

WAREHOUSE = "s3://key:sEcReT@bucket/w"


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    """What lies in the bucket of the warehouse."""
    (tmp_path / "bucket" / "w").mkdir(parents=True)
    return tmp_path / "bucket"


def remote_storage(tmp_path: Path, warehouse: str = WAREHOUSE) -> ArrowStorage:
    files = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    return ArrowStorage(files, FileSystemUri.of(warehouse, "bucket"))


def over_a_bucket(tmp_path: Path, bounds: Bounds) -> Session:
    storage = remote_storage(tmp_path)
    policy = TxnPolicy()
    session = Session(
        store=MemoryStore(lambda: 0, policy, WAREHOUSE),
        engine=PythonEngine(storage, None, {}),
        storage=storage,
        policy=policy,
        warehouse=WAREHOUSE,
        user="u",
        host="h",
        bounds=bounds,
    )
    session.execute(f"CREATE TABLE t (k string) {TEXT}")
    return session


@pytest.fixture
def remote(bucket: Path, tmp_path: Path) -> Iterator[Session]:
    with over_a_bucket(tmp_path, Bounds()) as session:
        yield session


@pytest.mark.parametrize(
    "location",
    ["hdfs://bucket/x", "s3://other/x", "gs://bucket/x", "file:///x", "s3a://key:sE/cReT@other/x"],
)
def test_nothing_lies_in_another_file_system(
    remote: Session, tmp_path: Path, location: str
) -> None:
    remote.execute(f"CREATE TABLE p (k int) PARTITIONED BY (d int) {ACID}")
    before = everything(tmp_path)
    for text in (
        f"CREATE TABLE new (k int) {TEXT} LOCATION '{location}'",
        f"CREATE EXTERNAL TABLE new (k int) {TEXT} LOCATION '{location}'",
        f"CREATE TABLE new LIKE t LOCATION '{location}'",
        f"CREATE TABLE new STORED AS TEXTFILE LOCATION '{location}' AS SELECT 1 AS k",
        f"CREATE DATABASE new LOCATION '{location}'",
        f"ALTER TABLE p ADD PARTITION (d = 1) LOCATION '{location}'",
    ):
        with pytest.raises(StorageError, match="another file system than the ware") as caught:
            remote.execute(text)
        assert "cReT" not in str(caught.value)
    assert everything(tmp_path) == before
    assert remote.execute("SHOW TABLES").fetchall() == [("p",), ("t",)]
    assert remote.execute("SHOW DATABASES").fetchall() == [("default",)]


@pytest.mark.parametrize("place", ["hdfs://bucket/x", "s3n://other/x"])
def test_nothing_is_read_from_another_file_system(
    remote: Session, bucket: Path, place: str
) -> None:
    (bucket / "x").mkdir()
    (bucket / "x" / "f").write_text("1\n")
    with pytest.raises(StorageError, match="another file system than the warehouse"):
        remote.execute(f"LOAD DATA INPATH '{place}' INTO TABLE t")
    with pytest.raises(StorageError, match="another file system than the warehouse"):
        remote.read_acid(place, schema="k int")
    assert everything(bucket) == {"w", "w/t", "x", "x/f"}


@pytest.mark.parametrize(
    "place", ["s3a://bucket/w/t", "s3n://bucket//w/t/x", "/w/t", "s3://bucket:1/w", "s3://bucket"]
)
def test_another_spelling_of_a_place_is_that_place(remote: Session, place: str) -> None:
    with pytest.raises(AnalysisError, match=r"belongs to|no path of a directory") as caught:
        remote.execute(f"CREATE TABLE new (k int) {TEXT} LOCATION '{place}'")
    assert "cReT" not in f"{caught.value} {caught.value.detail}"


@pytest.mark.parametrize("place", ["s3a://bucket/far/n", "/far/n", "s3://bucket/far/n/"])
def test_a_location_is_written_as_the_warehouse_is(
    remote: Session, bucket: Path, place: str
) -> None:
    remote.execute(f"CREATE TABLE new (k int) {TEXT} LOCATION '{place}'")
    location = remote._store.table(TableName("default", "new")).location
    assert location == "s3://key:sEcReT@bucket/far/n"
    assert (bucket / "far" / "n").is_dir()


def test_what_lies_in_another_file_system_is_dropped_without_harm(
    remote: Session, bucket: Path
) -> None:
    store = remote._store
    bad = store.table(TableName("default", "t"))
    store.drop_table(bad.name)
    store.create_table(replace(bad, location="hdfs://bucket/w/t"))
    (bucket / "w" / "t" / "000000_0").write_text("1\n")
    message = remote.execute("DROP TABLE t").message
    assert message is not None
    assert "stays: it lies in another file system than the warehouse" in message
    assert (bucket / "w" / "t" / "000000_0").exists()


@pytest.mark.parametrize("start", ["", "file://"])
def test_local_files_are_loaded_into_a_warehouse_elsewhere(
    bucket: Path, tmp_path: Path, start: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f").write_text("1\n")
    (tmp_path / "out").write_text("2\n")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    roots = ("s3://bucket/w", f"file://{tmp_path}/in", "hdfs://nn/")
    with over_a_bucket(tmp_path, Bounds((), roots)) as session:
        session.execute(f"LOAD DATA LOCAL INPATH '{start}{tmp_path}/in/f' INTO TABLE t")
        assert [p.read_text() for p in (bucket / "w" / "t").iterdir()] == ["1\n"]
        for path in ("out", "in", "in/link", "bucket/w/t"):
            with pytest.raises(AnalysisError, match="outside of what is allowed"):
                session.execute(f"LOAD DATA LOCAL INPATH '{start}{tmp_path}/{path}' INTO TABLE t")
        with pytest.raises(AnalysisError, match="outside of what is allowed"):
            session.execute("LOAD DATA INPATH 'hdfs://nn/x' INTO TABLE t")


def test_the_store_s_file_is_not_loaded_into_a_warehouse_elsewhere(
    bucket: Path, tmp_path: Path
) -> None:
    (tmp_path / "txns.db").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "txns.db")
    with over_a_bucket(tmp_path, Bounds((str(tmp_path / "txns.db"),))) as session:
        for path in ("txns.db", "link"):
            with pytest.raises(AnalysisError, match="lies in the store"):
                session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/{path}' INTO TABLE t")


def test_roots_of_another_file_system_hold_nothing_of_this_one(tmp_path: Path) -> None:
    storage = remote_storage(tmp_path)
    for root in ("hdfs://bucket/w", "file:///w", "s3://other/w", "s3://bucket/ww", "w"):
        assert not is_below("s3://bucket/w/t", [root], storage)
        assert is_below("s3://bucket/w/t", [root, "s3a://bucket/w/"], storage)
    assert not is_below("/w/t", ["s3://bucket/w"], storage.local)
    assert not is_below("hdfs://nn/w", ["hdfs://nn/w"], storage)


def test_a_root_without_a_scheme_is_of_this_machine() -> None:
    config = {"acidsql.allowed.roots": "/w,file:///x"}
    with pytest.raises(ConfigError, match="outside of what is allowed"):
        acidsql.connect("mock://nn/w", metastore="memory:", config=config)
    config = {"acidsql.allowed.roots": "/in,mock://nn/w"}
    with acidsql.connect("mock://nn/w", metastore="memory:", config=config) as session:
        for place in ("/in/x", "mock://nn/in/x"):
            with pytest.raises(AnalysisError, match="outside of what is allowed"):
                session.execute(f"CREATE TABLE t (k int) {TEXT} LOCATION '{place}'")
