"""The directories and rows that a statement left on disk, for ``run --show-layout``."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acidsql.cli.dump import dump_file, is_data_name
from acidsql.cli.output import print_table
from acidsql.errors import ConfigError, CorruptFileError
from acidsql.execution.result import count_text
from acidsql.model.row_id import decode_bucket, decode_statement

ROWS_MAX = 20
"""Rows of a new file that are shown."""

_OPERATIONS = {0: "insert", 2: "delete"}
_EVENT = {"operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row"}
_ROW_ID = ("write id", "bucket", "statement", "row")

Status = tuple[int, int]
"""Size in bytes and time of change in nanoseconds of a file."""

Files = Mapping[str, Status]
"""Path below the table → status."""


def local_directory(warehouse: str) -> Path:
    """The warehouse as a local path. ConfigError for a warehouse in another file system.

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
    """Shows which table directories of a local warehouse changed since the last call."""

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse
        self._seen = self._listing()

    def changes(self) -> Iterator[str]:
        """The lines that show each changed table; for a dropped table, a line that it is gone.

        A directory with new files has a plus in front and its rows below. A directory that is gone
        has a minus in front. The other directories are counted.
        """
        before, self._seen = self._seen, self._listing()
        for table in sorted(before.keys() | self._seen.keys()):
            if table not in self._seen:
                yield f"{table}/ is gone"
            elif self._seen[table] != before.get(table):
                yield f"{table}/" if table in before else f"{table}/ is new"
                yield from self._show(table, self._seen[table], before.get(table, {}))

    def _listing(self) -> dict[str, Files]:
        return {
            path.relative_to(self._warehouse).as_posix(): _files(path)
            for path in _table_directories(self._warehouse)
        }

    def _show(self, table: str, files: Files, before: Files) -> Iterator[str]:
        new, old = _by_directory(files), _by_directory(before)
        unchanged = 0
        for directory in sorted(new.keys() | old.keys()):
            name = f"{directory}/" if directory else ""
            if directory not in new:
                yield f"- {name or '(files)'}"
            elif new[directory] == old.get(directory):
                unchanged += bool(directory)
            else:
                yield from self._show_files(table, name, new[directory], old.get(directory, {}))
        if unchanged:
            yield f"  {_directories_text(unchanged)} as before"

    def _show_files(self, table: str, directory: str, files: Files, before: Files) -> Iterator[str]:
        if directory:
            yield f"+ {directory}"
        for file in sorted(files.keys() | before.keys()):
            if files.get(file) == before.get(file) or not is_data_name(Path(file)):
                continue
            if file not in files:
                yield f"    {file} is gone"
                continue
            yield f"    {file}"
            yield from _rows_table(self._warehouse / table / directory / file)


def _directories_text(count: int) -> str:
    return f"{count} directory" if count == 1 else f"{count} directories"


def _rows_table(file: Path) -> Iterator[str]:
    """The first rows of a file as a table, indented."""
    lines = dump_file(file)
    try:
        objects = [json.loads(line, parse_float=Decimal) for line in islice(lines, ROWS_MAX)]
    except CorruptFileError:
        # The statement has succeeded: text and Parquet are nothing to stop the script for.
        yield "      (its rows cannot be shown: it is no ORC file)"
        return
    if not objects:
        yield "      (no rows)"
        return
    columns, rows = _table(objects)
    text = io.StringIO()
    print_table(columns, rows, text)
    yield from (f"      {line}" for line in text.getvalue().splitlines())
    more = sum(1 for _ in lines)
    if more:
        yield f"      {count_text(more, 'row')} more: acidsql dump {file}"


def _table(objects: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[object]]]:
    """The columns and rows of a file; of events the kind, the row id and the table's columns.

    >>> _table([{"a": 1, "b": [2]}])
    (['a', 'b'], [[1, '[2]']])
    >>> event = {"operation": 2, "originalTransaction": 7, "bucket": 536936449, "rowId": 5}
    >>> _table([{**event, "currentTransaction": 8, "row": None}])
    (['event', 'write id', 'bucket', 'statement', 'row'], [['delete', 7, 1, 1, 5]])
    """
    if set(objects[0]) != _EVENT:
        names = list(objects[0])
        return names, [[_cell(found[name]) for name in names] for found in objects]
    values: dict[str, Any] = next(
        (event["row"] for event in objects if event["row"] is not None), {}
    )
    rows = [
        [_OPERATIONS.get(event["operation"], event["operation"]), *_row_id(event)]
        + [_cell((event["row"] or {}).get(name)) for name in values]
        for event in objects
    ]
    return ["event", *_ROW_ID, *values], rows


def _row_id(event: Mapping[str, Any]) -> list[object]:
    bucket = event["bucket"]
    number = event["rowId"]
    return [event["originalTransaction"], decode_bucket(bucket), decode_statement(bucket), number]


def _cell(value: object) -> object:
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value


def _by_directory(files: Files) -> Mapping[str, Files]:
    """The files of each directory; those that lie directly in the table have the key ""."""
    found: dict[str, dict[str, Status]] = {}
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
            with suppress(FileNotFoundError):  # a cleaner may have removed it
                status = path.stat()
                found[name.as_posix()] = (status.st_size, status.st_mtime_ns)
    return found
