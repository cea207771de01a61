"""Doctests are looked for only in the files that have any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[None]:
    """To look through all objects of each file takes an eighth of the time of a collection."""
    collectors: list[Any] = yield
    if file_path.suffix != ".py" or b">>>" in file_path.read_bytes():
        return collectors
    return [c for c in collectors if type(c) is pytest.Module]
