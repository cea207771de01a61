"""Removal of what a failed write left: its own directories, which are found by their ids."""

from __future__ import annotations

import logging

from acidsql.engines.publish import remove_attempts
from acidsql.engines.target import Target
from acidsql.errors import AcidSqlError
from acidsql.layout.dir_names import BaseDir, DeltaDir, parse_directory
from acidsql.model.own_path import OwnPath
from acidsql.model.table import TableKind
from acidsql.ports.storage import Storage

_log = logging.getLogger(__name__)


def discard_write(target: Target, statement_ids: range, storage: Storage) -> None:
    """`undo_write` for an aborted write: no reader sees what stays. Never raises."""
    try:
        undo_write(target, statement_ids, storage)
    except AcidSqlError:
        place = target.location
        _log.warning("could not remove what a failed write left in %s", place, exc_info=True)


def undo_write(target: Target, statement_ids: range, storage: Storage) -> None:
    """Remove every directory of these statements; other statements may share the write id.

    StorageError if something may be left.
    """
    if target.kind is TableKind.PLAIN:
        remove_attempts(target)
        return
    for location in sorted({target.location, *target.locations.values()}):
        for path in _directories_of(storage, location, target, statement_ids):
            storage.remove(OwnPath(location, path))


def _directories_of(
    storage: Storage, location: str, target: Target, statement_ids: range
) -> set[str]:
    found = set()
    for file in storage.list_files(location):
        parts = file.path.split("/")
        for depth, part in enumerate(parts[:-1], 1):
            directory = parse_directory(part)
            if directory is not None and _is_of(directory, target, statement_ids):
                found.add("/".join(parts[:depth]))
    return found


def _is_of(directory: BaseDir | DeltaDir, target: Target, statement_ids: range) -> bool:
    # No compactor makes a base of a write id that is open, so this one is an overwrite's.
    if isinstance(directory, BaseDir):
        return target.overwrite and directory.write_id == target.write_id
    return (
        directory.min_write_id == directory.max_write_id == target.write_id
        and directory.statement_id in statement_ids
    )
