"""``acidsql dump``: the rows of ACID files as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from acidsql.cli.connection import FAILED_STATUS, fail
from acidsql.errors import AcidSqlError, MissingFileError, StorageError

_SIDE_FILE_SUFFIX = "_flush_length"
"""The end of the name of a side file: there Hive's streaming writers note the readable length."""


@click.command("dump")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--names", is_flag=True, help="Print '# path' before the rows of each file.")
def dump_command(paths: tuple[str, ...], names: bool) -> None:
    """Print the rows of ACID ORC files as JSON lines.

    A directory stands for all files below it, in the order of their paths. Files and directories
    whose names begin with '_' or '.' are skipped.
    """
    for path in map(Path, paths):
        try:
            for file in files_below(path):
                if names:
                    click.echo(f"# {file}")
                sys.stdout.writelines(f"{line}\n" for line in dump_file(file))
                sys.stdout.flush()
        except AcidSqlError as error:
            fail(error, str(path), status=FAILED_STATUS)


def files_below(path: Path) -> Iterator[Path]:
    """The file itself, or the visible data files below a directory, in the order of their paths."""
    try:
        exists, is_directory = path.exists(), path.is_dir()
    except OSError as error:
        raise StorageError(f"cannot be read: {error.strerror}") from error
    if not exists:
        raise MissingFileError("no such file or directory")
    if not is_directory:
        yield path
        return
    for file in sorted(path.rglob("*")):
        if is_data_name(file.relative_to(path)) and not file.is_dir():
            yield file


def is_data_name(path: Path) -> bool:
    """Whether no part of the path is hidden, and the file is not a side file.

    >>> is_data_name(Path("delta_1_1_0/bucket_00000")), is_data_name(Path("_tmp/bucket_00000"))
    (True, False)
    """
    hidden = any(part.startswith(("_", ".")) for part in path.parts)
    return not hidden and not path.name.endswith(_SIDE_FILE_SUFFIX)


def dump_file(path: Path) -> Iterator[str]:
    """The rows of one file, each as one JSON text."""
    from acidsql.orc.dump import dump

    try:
        with path.open("rb") as source:
            yield from dump(source, str(path))
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
