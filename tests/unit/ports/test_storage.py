"""Listings of directories in which others are at work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import MissingFileError
from acidsql.ports.storage import list_marked_files


class MovingStorage(LocalStorage):
    """Before each of the first readings something else happens."""

    def __init__(self, *events: Callable[[], object]) -> None:
        self.events = list(events)

    def open_input(self, path: str) -> Any:
        if self.events:
            self.events.pop(0)()
        return super().open_input(path)


def directory(parent: Path, name: str, marker: str) -> Path:
    path = parent / name
    path.mkdir()
    (path / "_metadata_acid").write_text(marker)
    (path / "bucket_00000").touch()
    return path


def test_what_goes_while_it_is_listed(tmp_path: Path) -> None:
    hidden = directory(tmp_path, "_tmp_base_0000003", "new")
    old = directory(tmp_path, "base_0000002", "old")

    def clean() -> None:
        (old / "_metadata_acid").unlink()
        (old / "bucket_00000").unlink()
        old.rmdir()

    storage = MovingStorage(lambda: hidden.rename(tmp_path / "base_0000003"), clean)
    files, markers = list_marked_files(str(tmp_path), storage)
    assert markers == {"base_0000003": "new"}
    assert [f.path for f in files] == ["base_0000003/_metadata_acid", "base_0000003/bucket_00000"]


def test_what_is_listed_and_never_there_is_an_error(tmp_path: Path) -> None:
    directory(tmp_path, "base_0000002", "old")

    class Broken(LocalStorage):
        def open_input(self, path: str) -> BinaryIO:
            raise MissingFileError(f"cannot read {path}")

    with pytest.raises(MissingFileError, match="base_0000002/_metadata_acid"):
        list_marked_files(str(tmp_path), Broken())
