"""Texts in Hadoop's block codecs: read where they are what their names say, else an error."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acidsql
from acidsql.errors import CorruptFileError
from acidsql.session.session import Session

CODECS = {"snappy": "snappy", "lz4": "lz4_raw"}


def block(data: bytes, codec: str) -> bytes:
    """A block of one chunk, as Hadoop's BlockCompressorStream writes it."""
    chunk = pa.Codec(CODECS[codec]).compress(data, asbytes=True)
    return struct.pack(">ii", len(data), len(chunk)) + chunk


@pytest.fixture
def session(tmp_path: Path, spark: Any) -> Iterator[Session]:
    with acidsql.connect(tmp_path / "w", spark=spark) as session:
        yield session


def over(session: Session, directory: Path, content: bytes, codec: str) -> None:
    directory.mkdir()
    (directory / f"a.{codec}").write_bytes(content)
    session.execute(f"CREATE EXTERNAL TABLE e (v string) LOCATION '{directory}'")


@pytest.mark.parametrize("codec", CODECS)
def test_blocks_are_read(session: Session, tmp_path: Path, codec: str):
    content = block(b"one\ntwo\n", codec) + block(b"three\n", codec)
    over(session, tmp_path / "given", content, codec)
    assert session.execute("SELECT * FROM e").fetchall() == [("one",), ("two",), ("three",)]
    session.execute("CREATE TABLE parts (k string) PARTITIONED BY (p string) STORED AS TEXTFILE")
    (tmp_path / "loaded").mkdir()
    (tmp_path / "loaded" / f"x.{codec}").write_bytes(block(b"k\x01p\n", codec))
    session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path / 'loaded'}' INTO TABLE parts")
    assert session.execute("SELECT * FROM parts").fetchall() == [("k", "p")]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "content",
    [
        b"some text, of which Hadoop would take the first bytes for a size\n",
        b"abc",
        struct.pack(">ii", 10, 1 << 30) + b"x" * 20,
        struct.pack(">ii", 1 << 30, 20) + b"x" * 10,
        struct.pack(">ii", -1, 5) + b"x" * 20,
        struct.pack(">ii", 10, -5) + b"x" * 20,
        struct.pack(">ii", 1, 500) + b"x" * 500,
    ],
    ids=["text", "short", "large chunk", "cut", "negative block", "negative chunk", "too long"],
)
def test_other_files_are_an_error(session: Session, tmp_path: Path, codec: str, content: bytes):
    over(session, tmp_path / "given", content, codec)
    with pytest.raises(CorruptFileError, match=f"a.{codec} is not what its name says"):
        session.execute("SELECT * FROM e").fetchall()
    assert session.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize("codec", CODECS)
def test_files_without_rows(session: Session, tmp_path: Path, codec: str):
    over(session, tmp_path / "given", b"\0\0\0\0", codec)
    (tmp_path / "given" / f"b.{codec}").write_bytes(b"")
    assert session.execute("SELECT * FROM e").fetchall() == []
