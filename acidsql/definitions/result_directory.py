"""A directory for the rows of a query: who may fill it, and how its files are replaced.

Two statements may fill a directory at the same time, and there is no lock of it. So a statement
publishes in steps, of which each is safe whatever another one does:

1. It writes its files in a hidden directory.
2. It puts its mark there, with a generation above all that it saw when it began. If another mark
   has this generation or a later one, it gives up.
3. It renames its files. If a later mark is there now, it removes them and gives up: the other
   statement may not have seen all of them.
4. It removes all entries of earlier generations.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable

from acidsql.errors import AcidSqlError, AnalysisError, WriteConflictError
from acidsql.layout.dir_names import lies_hidden
from acidsql.layout.result_dir import ResultDir, attempt_name, mark_name, result_dir, rows_name
from acidsql.model.own_path import OwnPath
from acidsql.ports.storage import Storage, without_login

_log = logging.getLogger(__name__)


class ResultDirectory:
    """The directory at a ``location``, as one statement fills it.

    AnalysisError for a directory with anything in it that no such statement has written.
    """

    def __init__(self, location: str, storage: Storage) -> None:
        self.location = location
        self._storage = storage
        self._generation = self._listed().generation + 1
        token = uuid.uuid4().hex
        self._attempt = attempt_name(self._generation, token)
        self._mark = mark_name(self._generation, token)

    @property
    def attempt(self) -> str:
        """The hidden directory in which the statement writes."""
        return f"{self.location}/{self._attempt}"

    def publish(self) -> None:
        """Replace the files by those of the attempt.

        WriteConflictError if another statement fills the directory. On any error the files that
        were there stay, unless another statement has replaced them.
        """
        self._claim()
        published: list[str] = []
        try:
            paths = [f.path for f in self._storage.list_files(self.attempt)]
            for number, path in enumerate(p for p in paths if not lies_hidden(p)):
                name = rows_name(number, self._generation)
                self._storage.rename(f"{self.attempt}/{path}", f"{self.location}/{name}")
                published.append(name)
            listed = self._listed()
            if listed.generation > self._generation:
                raise self._conflict()
        except BaseException:
            self._discard(published)
            raise
        old = {name for name, number in listed.entries.items() if number < self._generation}
        # Marks last: a file of rows without one would be foreign.
        for name in [*sorted(old - listed.marks), *sorted(old & listed.marks)]:
            self._storage.remove(OwnPath(self.location, name))

    def close(self) -> None:
        """Remove the attempt. Never raises."""
        self._discard([self._attempt])

    def _claim(self) -> None:
        self._refuse_later(self._listed())
        self._storage.write_file(f"{self.location}/{self._mark}", b"")
        try:
            self._refuse_later(self._listed())
        except BaseException:
            self._discard([self._mark])
            raise

    def _refuse_later(self, listed: ResultDir) -> None:
        others = listed.marks - {self._mark}
        if any(listed.entries[mark] >= self._generation for mark in others):
            raise self._conflict()

    def _conflict(self) -> WriteConflictError:
        return WriteConflictError(
            f"another statement fills the directory {without_login(self.location)}",
            hint="Run the statement again.",
        )

    def _listed(self) -> ResultDir:
        files = [f.path for f in self._storage.list_files(self.location)]
        listed = result_dir(files, self._storage.list_directories(self.location))
        if listed.foreign is not None:
            raise AnalysisError(
                f"the directory {without_login(self.location)} holds other files",
                detail=f'INSERT OVERWRITE DIRECTORY has not written "{listed.foreign}".',
                hint="Name a directory that is empty or new, or remove the files.",
            )
        return listed

    def _discard(self, names: Iterable[str]) -> None:
        for name in names:
            try:
                self._storage.remove(OwnPath(self.location, name))
            except AcidSqlError:  # the first error must win
                _log.warning("could not remove %s in %s", name, self.location, exc_info=True)
