"""What a failed write leaves behind: its own directories, found again by their write id."""

from __future__ import annotations

import logging

from acidsql.engines.output import Target, remove_attempts
from acidsql.errors import AcidSqlError
from acidsql.layout.dir_names import BaseDir, DeltaDir, parse_directory
from acidsql.model.ids import WriteId
from acidsql.model.table import TableKind
from acidsql.storage import Storage

_log = logging.getLogger(__name__)


def discard_write(target: Target, storage: Storage) -> None:
    """Remove every directory of the target's write id. Never raises: nobody sees them anyway."""
    if target.kind is TableKind.PLAIN:
        remove_attempts(target)
        return
    for location in sorted({target.location, *target.locations.values()}):
        try:
            for path in _directories_of(storage, location, target.write_id):
                storage.remove(f"{location}/{path}")
        except AcidSqlError:
            _log.warning("could not remove what a failed write left in %s", location, exc_info=True)


def _directories_of(storage: Storage, location: str, write_id: WriteId) -> set[str]:
    found = set()
    for file in storage.list_files(location):
        parts = file.path.split("/")
        for depth, part in enumerate(parts[:-1], 1):
            directory = parse_directory(part)
            if directory is not None and _write_ids(directory) == {write_id}:
                found.add("/".join(parts[:depth]))
    return found


def _write_ids(directory: BaseDir | DeltaDir) -> set[WriteId]:
    # No compactor makes a base of a write id that is open, so this one is an overwrite's.
    if isinstance(directory, BaseDir):
        return {directory.write_id}
    return {directory.min_write_id, directory.max_write_id}
