"""What the names in a directory that was written elsewhere say about its writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from acidsql.layout.dir_names import (
    BaseDir,
    DeltaDir,
    highest_write_id,
    is_hidden,
    parse_bucket_file,
    parse_directory,
    parse_original_file,
)
from acidsql.layout.listing import ListedFile
from acidsql.model.ids import NO_TXN, BucketId, TxnId, WriteId

ORIGINAL_WRITE_IDS = WriteId(10_000_000)
"""The write ids up to this one stay free when a table with original files becomes ACID (Hive)."""


@dataclass(frozen=True, slots=True)
class History:
    """The bases and deltas of a listing with their paths, and its files outside of them.

    ``buckets`` are the bucket numbers of all data files. ``strange`` are files that are neither in
    such a directory nor named as a writer without ACID names them.
    """

    directories: tuple[tuple[str, BaseDir | DeltaDir], ...] = ()
    originals: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()
    buckets: frozenset[BucketId] = frozenset()

    @property
    def highest_write_id(self) -> WriteId:
        """The highest write id that any writer has used; 0 if there is none.

        Where there are original files it is at least `ORIGINAL_WRITE_IDS`.
        """
        ids = [highest_write_id(directory) for _, directory in self.directories]
        kept = [ORIGINAL_WRITE_IDS] if self.originals else []
        return max([WriteId(0), *ids, *kept])

    @property
    def visibility_ids(self) -> frozenset[TxnId]:
        """The txn ids of the compactors whose output is there."""
        return frozenset(d.visibility_id for _, d in self.directories if d.visibility_id != NO_TXN)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that could hold rows."""
        return not (self.directories or self.originals or self.strange)


def history(files: Iterable[ListedFile]) -> History:
    """The history of a table or partition, or of all partitions of a table, by its listing.

    >>> seen = history([ListedFile("d=1/delta_3_5_v20/bucket_00000", 9), ListedFile("base_2/x", 9)])
    >>> seen.highest_write_id, sorted(seen.visibility_ids)
    (5, [20])
    """
    directories: dict[str, BaseDir | DeltaDir] = {}
    originals: list[str] = []
    strange: list[str] = []
    buckets: set[BucketId] = set()
    for file in files:
        *parents, name = file.path.split("/")
        at = next((i for i, part in enumerate(parents) if parse_directory(part)), None)
        if any(map(is_hidden, parents[:at])):
            continue
        if at is not None:
            found = parse_directory(parents[at])
            assert found is not None
            directories["/".join(parents[: at + 1])] = found
            bucket = parse_bucket_file(name)
            buckets |= set() if bucket is None else {bucket.bucket_id}
        elif not is_hidden(name):
            original = parse_original_file(name)
            buckets |= set() if original is None else {original.bucket_id}
            (strange if original is None else originals).append(file.path)
    return History(
        tuple(sorted(directories.items())), tuple(originals), tuple(strange), frozenset(buckets)
    )
