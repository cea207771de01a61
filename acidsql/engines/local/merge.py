"""A merge: a compaction makes one file of the files of a bucket. And how many run at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from acidsql.ports.storage import Storage
from acidsql.process.threads import in_threads


class Merge(Protocol):
    """The files of one bucket to be merged into one, by a thread or a Spark task."""

    @property
    def directory(self) -> str:
        """Where the file goes."""
        ...

    @property
    def name(self) -> str:
        """The name that the file must have in the end."""
        ...

    @property
    def bytes(self) -> int:
        """The size of the files that are merged."""
        ...

    def for_task(self) -> Merge:
        """The same merge as a small value that can be pickled."""
        ...

    def run(self, storage: Storage, name: str) -> bool:
        """Write the file under this name, durably. False, and no file, if it would hold nothing.

        StorageError or CorruptFileError if files cannot be read or written.
        """
        ...


Run = Callable[[Sequence[Merge]], Sequence[bool]]
"""Carries merges out, each under its own name. Whether each has written its file."""


def as_threads(storage: Storage) -> Run:
    """Carries merges out in threads of this process, as many at once as there are CPUs."""

    def run(merges: Sequence[Merge]) -> Sequence[bool]:
        return in_threads(lambda merge: merge.run(storage, merge.name), merges, None)

    return run
