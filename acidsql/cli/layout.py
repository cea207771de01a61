"""What a statement left below a warehouse: the directories of the changed tables and their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acidsql.cli.dump import dump_file, is_data_name
from acidsql.errors import ConfigError

Files = Mapping[str, tuple[int, int]]
"""Path below the table → size and time of change."""


def local_directory(warehouse: str) -> Path:
    """The warehouse as a local path. ConfigError if it is elsewhere.

    >>> str(local_directory("file:///data/w%20h"))
    '/data/w h'
    """
    if "://" not in warehouse and not warehouse.startswith("file:"):
        return Path(warehouse)
    url = urlsplit(warehouse)
    if url.scheme != "file":
        raise ConfigError(
            f"cannot list the warehouse {warehouse}",
            hint="--show-layout needs a warehouse in the local file system.",
        )
    return Path(unquote(url.path))


class LayoutWatch:
    """Tells which table directories of a local warehouse changed since it was last asked."""

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse
        self._seen = self._listing()

    def changes(self) -> Iterator[str]:
        """The lines that show each changed table; a line that it is gone for a dropped one.

        A directory with new files is marked with a plus and shown with its rows, one that is gone
        with a minus; of the others there is the name alone.
        """
        before, self._seen = self._seen, self._listing()
        for table in sorted(before.keys() | self._seen.keys()):
            if table not in self._seen:
                yield f"{table}/ is gone"
            elif self._seen[table] != before.get(table):
                yield from self._show(table, self._seen[table], before.get(table, {}))

    def _listing(self) -> dict[str, Files]:
        return {
            path.relative_to(self._warehouse).as_posix(): _files(path)
            for path in _table_directories(self._warehouse)
        }

    def _show(self, table: str, files: Files, before: Files) -> Iterator[str]:
        yield f"{table}/"
        new, old = _by_directory(files), _by_directory(before)
        for directory in sorted(new.keys() | old.keys()):
            name = f"{directory}/" if directory else ""
            if directory not in new:
                yield f"- {name or '(files)'}"
            elif new[directory] == old.get(directory):
                yield f"  {name}" if name else "  (files)"
            else:
                yield from self._show_files(table, name, new[directory])

    def _show_files(self, table: str, directory: str, files: Files) -> Iterator[str]:
        if directory:
            yield f"+ {directory}"
        for file in sorted(files):
            yield f"    {file}"
            if is_data_name(Path(file)):
                rows = dump_file(self._warehouse / table / directory / file)
                yield from (f"      {row}" for row in rows)


def _by_directory(files: Files) -> Mapping[str, Files]:
    """The files of each directory that has some; "" for those beside the directories."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for path, status in files.items():
        directory, _, name = path.rpartition("/")
        found.setdefault(directory, {})[name] = status
    return found


def _table_directories(warehouse: Path) -> Iterator[Path]:
    for path in _directories(warehouse):
        if path.suffix == ".db":
            yield from _directories(path)
        else:
            yield path


def _directories(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    return [path for path in parent.iterdir() if path.is_dir() and path.name[0] not in "_."]


def _files(table: Path) -> Files:
    found = {}
    for path in table.rglob("*"):
        name = path.relative_to(table)
        if path.is_file() and not path.name.startswith("."):
            status = path.stat()
            found[name.as_posix()] = (status.st_size, status.st_mtime_ns)
    return found
