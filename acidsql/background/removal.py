"""What is to be removed, and why; and its removal."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from acidsql.errors import MissingFileError
from acidsql.layout.dir_names import compaction_attempt, parse_compaction_attempt
from acidsql.layout.listing import ListedFile
from acidsql.model.ids import NO_TXN
from acidsql.model.own_path import OwnPath
from acidsql.ports.storage import Storage


class Why(Enum):
    """Why something may go. The value is the text of VACUUM."""

    COMPACTED = "replaced by a compaction"
    OVERWRITTEN = "replaced by an overwrite"
    ABORTED = "written by an aborted transaction"
    UNFINISHED = "left by a compaction that did not end"


@dataclass(frozen=True, slots=True)
class Doomed:
    """A directory, or an original file, that no reader can need. ``bytes`` are those of files."""

    path: OwnPath
    bytes: int
    why: Why


def doomed(
    location: str, paths: Iterable[str], files: Sequence[ListedFile], why: Why
) -> list[Doomed]:
    """What is to be removed below a location, with the bytes of its files by the listing."""
    return [Doomed(OwnPath(location, path), bytes_of(path, files), why) for path in paths]


def bytes_of(path: str, files: Sequence[ListedFile]) -> int:
    """The bytes of a file, or of all files of a directory.

    >>> bytes_of("delta_1_1", [ListedFile("delta_1_1/a", 3), ListedFile("delta_1_10/a", 9)])
    3
    """
    return sum(f.size for f in files if f.path == path or f.path.startswith(f"{path}/"))


def remove_all(found: Iterable[Doomed], storage: Storage, require_open: Callable[[], None]) -> None:
    """Remove directories and files, one after the other. What has gone meanwhile is passed over.

    ``require_open`` raises unless the transaction is still open whose lock keeps the table in
    place. Without the lock another table may stand there, with directories of the same names.
    """
    for one in found:
        # Asked each time: a process that stood still for longer than its time-out has no lock.
        require_open()
        if one.why is Why.UNFINISHED:
            _remove_unfinished(one.path, storage)
        else:
            storage.remove(one.path)


def _remove_unfinished(path: OwnPath, storage: Storage) -> None:
    """Remove the hidden directory of a compactor.

    It is renamed first, in one step: a compactor that still runs then finds nothing to publish.
    """
    parent, _, name = str(path).rpartition("/")
    renamed = compaction_attempt(parse_compaction_attempt(name) or NO_TXN, uuid.uuid4().hex)
    with suppress(MissingFileError):  # another cleaner was faster
        storage.rename(str(path), f"{parent}/{renamed}")
        storage.remove(OwnPath.of(path.location, f"{parent}/{renamed}"))
