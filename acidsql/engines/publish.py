"""Files of attempts get their names, or are removed: what the driver does with them."""

from __future__ import annotations

import contextlib
import itertools
import logging
import uuid
from collections.abc import Sequence

from acidsql.engines.target import ATTEMPT, OutputFile, Target
from acidsql.errors import AcidSqlError, MissingFileError, PathExistsError
from acidsql.layout.dir_names import (
    VERSION_FILE,
    lies_hidden,
    parse_bucket_file,
)
from acidsql.model.own_path import OwnPath
from acidsql.model.table import TableKind
from acidsql.orc.writer import VERSION_FILE_CONTENT
from acidsql.ports.storage import Storage, without_login

_log = logging.getLogger(__name__)


def publish(files: Sequence[OutputFile], target: Target) -> list[OwnPath]:
    """Rename the files to their names, and give each ACID directory its format version.

    The paths that a later abort may remove.
    """
    if target.kind is TableKind.PLAIN:
        return _publish_plain(files, target)
    storage = target.storage
    # Files of LOAD DATA have no event columns, so their directory gets no format version.
    for directory in sorted({f.directory for f in files if parse_bucket_file(f.name)}):
        storage.write_file(f"{directory}/{VERSION_FILE}", VERSION_FILE_CONTENT)
    for file in files:
        storage.rename(f"{file.directory}/{file.attempt}", f"{file.directory}/{file.name}")
    return sorted({target.own(f.partition, f.directory) for f in files})


def _publish_plain(files: Sequence[OutputFile], target: Target) -> list[OwnPath]:
    """Publish files beside those of a plain table; an overwrite then removes the old ones.

    In this order readers never find fewer rows than before. The paths that an abort may remove;
    after an overwrite there are none.
    """
    storage = target.storage
    places = {f.directory: f.partition for f in files}
    old = {directory: plain_files(directory, storage) for directory in places}
    published: list[OwnPath] = []
    try:
        for file in files:
            path = _publish_beside(file, old[file.directory], storage)
            published.append(target.own(file.partition, path))
    except BaseException:
        discard(published, storage)
        raise
    if not target.overwrite:
        return published
    for directory, names in old.items():
        for name in names:
            storage.remove(target.own(places[directory], f"{directory}/{name}"))
    return []


def _publish_beside(file: OutputFile, old: Sequence[str], storage: Storage) -> str:
    """Rename a file to the first name that is free. Its path.

    Other writers may publish at the same time: no lock excludes them.
    """
    attempt = f"{file.directory}/{file.attempt}"
    if not storage.renames_exclusively:
        # Its name for tasks ends at the dot (Hive Utilities.FILE_NAME_TO_TASK_ID_REGEX).
        path = f"{file.directory}/{file.name}.{uuid.uuid4().hex}"
        storage.rename(attempt, path)
        return path
    taken = set(old)
    for number in itertools.count():
        # Hive Utilities.COPY_KEYWORD.
        name = file.name if number == 0 else f"{file.name}_copy_{number}"
        if name not in taken:
            with contextlib.suppress(PathExistsError):
                storage.rename(attempt, f"{file.directory}/{name}")
                return f"{file.directory}/{name}"
    raise AssertionError("there is always another number")


def plain_files(directory: str, storage: Storage) -> list[str]:
    """The paths of the files below a directory that are not hidden, relative to it."""
    paths = [f.path for f in storage.list_files(directory)]
    return [p for p in paths if not lies_hidden(p)]


def remove_attempts(target: Target) -> None:
    """Remove the hidden files and directories of a write, which its token names. Never raises."""
    storage = target.storage
    for location in sorted({target.location, *target.locations.values()}):
        try:
            for path in _attempts(storage, location, target.token):
                storage.remove(OwnPath(location, path))
        except AcidSqlError:
            _log.warning("could not remove what a write left in %s", location, exc_info=True)


def _attempts(storage: Storage, location: str, token: str) -> set[str]:
    """The paths below a location, of files and directories, whose names begin with the token's."""
    found = set()
    for file in storage.list_files(location):
        names = file.path.split("/")
        for depth, name in enumerate(names, 1):
            if name.startswith(f"{ATTEMPT}{token}"):
                found.add("/".join(names[:depth]))
                break
    return found


def discard(paths: Sequence[OwnPath], storage: Storage) -> None:
    """Remove the paths of a failed write. One that stays is logged; no reader sees it."""
    for own in paths:
        try:
            storage.remove(own)
        except AcidSqlError:  # the first error must win
            _log.warning("could not remove %s, which no reader uses", own, exc_info=True)


def require_copied(paths: Sequence[str], storage: Storage) -> None:
    """MissingFileError if a file that LOAD DATA has copied is gone: another session may have it."""
    gone = next((path for path in paths if not storage.exists(path)), None)
    if gone is not None:
        raise MissingFileError(
            f"{without_login(gone)} is gone since it was copied",
            detail="Another session may have loaded it, and its rows would be there twice.",
        )


def discard_moved(paths: Sequence[str], storage: Storage) -> None:
    """Remove files that LOAD DATA has copied into a table. One that cannot be removed is logged."""
    for path in paths:
        try:
            storage.remove_location(path)
        except AcidSqlError:  # the rows are committed
            _log.warning("could not remove %s, which was loaded", path, exc_info=True)
