"""The owners of directories: where a LOCATION may point to, and what may be removed.

Paths are compared with symbolic links resolved. A directory that is, holds or lies in one of
another owner is neither taken nor removed.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain

from acidsql.errors import AnalysisError, SqlError, StorageError
from acidsql.execution.scope import Bounds, Scope
from acidsql.layout.dir_names import own_name_in
from acidsql.model.names import DEFAULT_DATABASE, TableName
from acidsql.model.own_path import lies_in
from acidsql.model.table import TableKind
from acidsql.ports.catalog import Catalog, Partition, Place, all_databases
from acidsql.ports.storage import Storage, is_plain_path, local_path_of, without_login

_BEGINNING = re.compile(r"[^:/]+://[^/]*")
"""Scheme and authority."""


@contextmanager
def errors_at(line: int, column: int) -> Iterator[None]:
    """A block whose errors are about the path that stands at a place of the statement."""
    try:
        yield
    except SqlError as error:
        error.line, error.column = line, column
        raise


def chosen_path(text: str, scope: Scope) -> str:
    """A LOCATION as the catalog stores it: absolute, without ``..``, and spelled as the warehouse
    is.

    It does not depend on a later working directory. AnalysisError for a text that is no path or is
    out of bounds, StorageError for a path of another file system.
    """
    path = _absolute(text, scope.storage)
    if not is_plain_path(path):
        shown = without_login(text)
        raise AnalysisError(
            f"{shown!r} is no path of a directory", hint="Write it in full: '/full/path'."
        )
    refuse_files_outside(path, scope.storage, scope.bounds)
    return _spelled_as_warehouse(path, scope)


def _spelled_as_warehouse(path: str, scope: Scope) -> str:
    """A path with the warehouse's scheme and authority in front.

    Catalogs compare locations as texts, and Spark gives a path without a scheme to a file system of
    its own choice.
    """
    resolved, root = scope.storage.resolve(path), scope.storage.resolve("/")
    spelled = _BEGINNING.match(scope.warehouse)
    if spelled is None or "://" not in root:
        return path
    return spelled[0] + resolved.removeprefix(root)


def _absolute(text: str, storage: Storage) -> str:
    local = local_path_of(text)
    if not local:  # an empty one is not meant as the working directory
        return text.rstrip("/")
    if storage.local_path(local) is None or "\0" in text:
        return text.rstrip("/")
    # A plain path is returned, because Spark does not decode the escapes of a URI.
    return os.path.abspath(local) if text.startswith("file:") or "://" not in text else text


def refuse_outside(path: str, storage: Storage, bounds: Bounds) -> None:
    """Raise AnalysisError if the path does not lie below one of the roots an operator allows."""
    if bounds.roots and not is_below(path, bounds.roots, storage):
        raise AnalysisError(
            f"{without_login(path)} lies outside of what is allowed here",
            detail="'acidsql.allowed.roots' says where paths may lead to.",
            hint="Ask the operator of this session.",
        )


def refuse_files_outside(path: str, storage: Storage, bounds: Bounds) -> None:
    """`refuse_outside` for a path and for every file below it, which a link may lead elsewhere."""
    refuse_outside(path, storage, bounds)
    home = _absolute(path, storage).rstrip("/")
    parent, _, name = home.rpartition("/")
    if not bounds.roots or name not in storage.list_directories(parent or "/"):
        return  # a file, or nothing yet
    for file in storage.list_files(home):
        refuse_outside(f"{home}/{file.path}", storage, bounds)


def is_below(path: str, roots: Sequence[str], storage: Storage) -> bool:
    """Whether a path is, or lies in, one of these directories.

    A directory of another file system holds no path of this one.
    """
    wanted = _resolved(path, storage)
    if wanted is None:
        return False
    outer = (_resolved(root, storage) for root in roots)
    return any(root is not None and lies_in(wanted, root) for root in outer)


def _resolved(path: str, storage: Storage) -> str | None:
    """The path with links resolved, as paths are compared; None for one of another file system."""
    try:
        return storage.resolve(path)
    except StorageError:
        return None


@dataclass(frozen=True, slots=True)
class Holding:
    """A directory or file that has an owner: a table, a database, the warehouse or the store."""

    path: str
    owner: str
    database: str | None = None
    table: TableName | None = None
    kind: TableKind | None = None
    is_partition: bool = False


class Neighbours:
    """The directories of the catalog and of the store; each statement asks for them once.

    ``without`` are partitions that do not count, since they are being dropped.
    """

    def __init__(self, scope: Scope, without: Sequence[Partition] = ()) -> None:
        self._scope = scope
        self._without = {p.location for p in without}
        self._fixed: list[Holding] | None = None
        self._tables: dict[str, list[Holding]] = {}

    def around(self, location: str) -> Iterator[Holding]:
        """The holdings that are, hold or lie in a directory, and perhaps others."""
        if self._fixed is None:
            self._fixed = [*self._reserved(), *self._databases(self._scope.store)]
        yield from self._fixed
        parent = location.rpartition("/")[0]
        if parent not in self._tables:
            self._tables[parent] = [
                self.holding(p)
                for p in self._scope.store.places(location)
                if not (p.is_partition and p.location in self._without)
            ]
        yield from self._tables[parent]

    def below(self, location: str) -> Iterator[Holding]:
        """Holdings around a directory in a location that has not the name of a write or partition.

        Catalogs may look for owners of the location in one database alone, the one around it.
        """
        names: list[str] = []
        with suppress(StorageError):  # what cannot be listed cannot be removed
            names = self._scope.storage.list_directories(location)
        strange = next((n for n in names if "=" not in n and own_name_in(n) is None), None)
        if strange is not None:
            yield from self.around(f"{location}/{strange}")

    def _reserved(self) -> Iterator[Holding]:
        warehouse = self._scope.storage.resolve(self._scope.warehouse)
        yield Holding(warehouse, "the warehouse", DEFAULT_DATABASE)
        for path in self._scope.bounds.reserved:
            yield Holding(os.path.realpath(path), "the store")

    def _databases(self, catalog: Catalog) -> Iterator[Holding]:
        for database in all_databases(catalog):
            for place in {database.location, database.managed_location or database.location}:
                yield Holding(self.resolve(place), f"database {database.name}", database.name)

    def holding(self, place: Place) -> Holding:
        """The holding of a place in the catalog."""
        path = self.resolve(place.location)
        owner = f"table {place.table}"
        return Holding(
            path, owner, place.table.database, place.table, place.kind, place.is_partition
        )

    def resolve(self, location: str) -> str:
        """The path with links resolved; normalised only if it belongs to another file system."""
        return _resolved(location, self._scope.storage) or posixpath.normpath(location)

    def is_elsewhere(self, location: str) -> bool:
        """Whether a location belongs to another file system than the warehouse."""
        return _resolved(location, self._scope.storage) is None


def refuse_place(
    location: str,
    scope: Scope,
    database: str,
    owner: TableName | None = None,
    beside: Sequence[Place] = (),
    *,
    with_plain: bool = False,
) -> None:
    """Raise AnalysisError if a new directory would be, hold or lie in one of another owner.

    Two numberings of writes in one directory destroy each other, and a managed table takes the
    files of others with it when it is dropped. ``database`` is the database that the directory is
    for, or whose table it is for. ``owner`` is the table of a new partition: in the table's own
    directory there is room for one. ``beside`` are places that the catalog does not have yet.
    ``with_plain`` lets plain tables be there, since the directory is for an external one.
    """
    neighbours = Neighbours(scope)
    wanted = neighbours.resolve(location)
    holdings = [*map(neighbours.holding, beside), *neighbours.around(location)]
    _refuse_foreign_database(location, wanted, database, holdings)
    for other in holdings:
        if other.table is None:
            bad = lies_in(other.path, wanted)
        else:
            if with_plain and other.kind is TableKind.PLAIN:
                continue
            inside = lies_in(wanted, other.path)
            own = other.table == owner and not other.is_partition and wanted != other.path
            bad = (inside and not own) or lies_in(other.path, wanted)
        if bad:
            raise AnalysisError(
                f"the directory {without_login(location)} belongs to {other.owner}",
                detail=f"{without_login(other.path)} is in use.",
                hint="Give each table and partition a directory of its own.",
            )


def _refuse_foreign_database(
    location: str, wanted: str, database: str, holdings: Sequence[Holding]
) -> None:
    """Refuse a directory in that of another database, unless that is the default one.

    The innermost database around the directory counts. AnalysisError.
    """
    around = [h for h in holdings if h.table is None and h.database and lies_in(wanted, h.path)]
    innermost = max((len(h.path) for h in around), default=0)
    found = {h.database: h.path for h in around if len(h.path) == innermost}
    if found and database not in found and DEFAULT_DATABASE not in found:
        name, path = next(iter(found.items()))
        raise AnalysisError(
            f"the directory {without_login(location)} lies in that of database {name}",
            detail=f"{without_login(path)} is for tables of {name}.",
        )


def refuse_result_place(location: str, scope: Scope) -> None:
    """Raise AnalysisError if a directory for the rows of a query is, holds or lies in one that has
    an owner.
    """
    neighbours = Neighbours(scope)
    wanted = neighbours.resolve(location)
    for other in neighbours.around(location):
        if lies_in(wanted, other.path) or lies_in(other.path, wanted):
            raise AnalysisError(
                f"the directory {without_login(location)} belongs to {other.owner}",
                detail=f"{without_login(other.path)} is in use.",
                hint="Name a directory outside of the warehouse and of all tables.",
            )


def refuse_source(path: str, scope: Scope, *, local: bool) -> None:
    """Raise AnalysisError if LOAD DATA may not take files from a path.

    Files named by LOCAL lie on this machine, wherever the warehouse is, and are copied. Other files
    are moved, so they may not belong to a table. StorageError for files that would be moved from
    another file system.
    """
    storage = scope.storage.local if local else scope.storage
    refuse_files_outside(path, storage, scope.bounds)
    neighbours = Neighbours(scope)
    wanted = storage.resolve(path)
    for other in neighbours.around(path):
        if other.database is None:
            bad = lies_in(wanted, other.path)
        else:
            bad = not local and other.table is not None and lies_in(wanted, other.path)
        if bad:
            raise AnalysisError(
                f"Invalid path '{without_login(path)}': it lies in {other.owner}",
                hint="INSERT … SELECT copies rows from one table to another.",
                code=10028,
            )


def reason_to_keep(
    location: str,
    neighbours: Neighbours,
    doomed: Collection[TableName] = (),
    *,
    partition_of: TableName | None = None,
    database: str | None = None,
) -> str | None:
    """Why a directory is not removed, as the end of a sentence; None if it holds nothing of others.

    The directory is that of a partition of ``partition_of``, of ``database``, or of one of the
    tables ``doomed``.
    """
    if not is_plain_path(location):
        return "it is no plain absolute path"
    if neighbours.is_elsewhere(location):
        return "it lies in another file system than the warehouse"
    wanted = neighbours.resolve(location)
    # The directory of a database is only removed if it is empty.
    below = neighbours.below(location) if database is None else ()
    for other in chain(neighbours.around(location), below):
        if other.table is not None:
            own = other.table in doomed or (other.table == partition_of and not other.is_partition)
        else:
            own = other.owner == f"database {database}"
        if own:
            continue
        if lies_in(other.path, wanted):
            return f"it holds {other.path} of {other.owner}"
        if other.table is not None and lies_in(wanted, other.path):
            return f"it lies in {other.path} of {other.owner}"
    return None
