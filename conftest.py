"""Doctests are looked for only in the files that have any, and each module is imported once."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[None]:
    """To look through all objects of each file takes an eighth of the time of a collection."""
    collectors: list[Any] = yield
    if file_path.suffix != ".py":
        return collectors
    if b">>>" in file_path.read_bytes():
        _import_once(file_path.relative_to(Path(__file__).parent))
        return collectors
    return [c for c in collectors if type(c) is pytest.Module]


def _import_once(file: Path) -> None:
    """Import a module of the package by its name, before pytest imports it from its file.

    pytest imports the package around a file first. If that package imports the module, pytest would
    import the module a second time, with other classes of the same names.
    """
    if file.parts[0] == "acidsql":
        module = file.parent if file.name == "__init__.py" else file.with_suffix("")
        importlib.import_module(".".join(module.parts))
