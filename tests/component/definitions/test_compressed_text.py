"""LOAD DATA gives files new names, so a text whose name says how to decompress it is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from acidsql.errors import InvalidValueError
from acidsql.model.names import TableName
from acidsql.session.session import Session


@pytest.mark.parametrize("name", ["a.gz", "b.BZ2", "c.txt.zst"])
def test_it_is_refused(session: Session, tmp_path: Path, name: str) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "1.txt").write_bytes(b"1\n")
    (given / name).write_bytes(gzip.compress(b"2\n"))
    session.execute("CREATE TABLE t (v string) STORED AS TEXTFILE")
    for place in (given, given / name):
        with pytest.raises(InvalidValueError, match=f"{name} is a compressed text"):
            session.execute(f"LOAD DATA LOCAL INPATH '{place}' INTO TABLE t")
    location = Path(session._store.table(TableName("default", "t")).location)
    assert list(location.iterdir()) == []
    assert sorted(path.name for path in given.iterdir()) == ["1.txt", name]
