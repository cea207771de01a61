"""What a failed write leaves behind: its own deltas, found again by their write id."""

from __future__ import annotations

import logging

from acidsql.engines.output import Target
from acidsql.errors import AcidSqlError
from acidsql.layout.dir_names import parse_delta
from acidsql.model.ids import WriteId
from acidsql.storage import Storage

_log = logging.getLogger(__name__)


def discard_write(target: Target, storage: Storage) -> None:
    """Remove every delta of the target's write id. Never raises: nobody can see them anyway."""
    for location in sorted({target.location, *target.locations.values()}):
        try:
            for path in _deltas_of(storage, location, target.write_id):
                storage.remove(f"{location}/{path}")
        except AcidSqlError:
            _log.warning("could not remove what a failed write left in %s", location, exc_info=True)


def _deltas_of(storage: Storage, location: str, write_id: WriteId) -> set[str]:
    found = set()
    for file in storage.list_files(location):
        parts = file.path.split("/")
        for depth, part in enumerate(parts[:-1], 1):
            delta = parse_delta(part)
            if delta is not None and delta.min_write_id == delta.max_write_id == write_id:
                found.add("/".join(parts[:depth]))
    return found
