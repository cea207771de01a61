"""Errors over the bytes of a file: each becomes an error of ours that names the file.

A damaged or hostile file may raise any exception in the code that reads it: it may have endless
numbers, texts that are not UTF-8, types inside themselves, lengths beyond the memory. So there is
no list of exceptions here. The code inside the block must only read and compute.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from acidsql.errors import AcidSqlError, CorruptFileError, MissingFileError, StorageError

NOT_WHOLE = "is not a whole ORC file"


def open_local(file: str, path: str) -> BinaryIO:
    """A local file, opened to be read. MissingFileError that names ``path`` if it is not there."""
    try:
        return open(file, "rb")
    except FileNotFoundError as error:
        raise _missing(path) from error


@contextmanager
def naming(path: str, what: str = "cannot be read as ORC") -> Iterator[None]:
    """Raise any exception of the block as a CorruptFileError that says ``what`` of the file.

    StorageError instead, where the system failed to read the bytes, or where the bytes are right
    but hold a value that this process cannot compute with.
    """
    try:
        yield
    except AcidSqlError:
        raise
    except FileNotFoundError as error:
        raise _missing(path) from error
    except Exception as error:
        detail = _detail(error)
        if isinstance(error, OSError) and error.errno is not None:
            raise StorageError(f'file "{path}" cannot be read', detail=detail) from error
        if "out of range for nanosecond" in str(error):
            raise StorageError(
                f'file "{path}" has a timestamp outside the years 1677 to 2262',
                detail=detail,
                hint="Only Spark can read it.",
            ) from error
        raise CorruptFileError(f'file "{path}" {what}', detail=detail) from error


def _missing(path: str) -> MissingFileError:
    return MissingFileError(f'file "{path}" does not exist')


def _detail(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else type(error).__name__
    return f"{text[0].upper()}{text[1:].rstrip('.')}."
