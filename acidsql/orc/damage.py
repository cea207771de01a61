"""What goes wrong over the bytes of a file, by one rule: an error of ours that names the file.

A damaged or hostile file may have anything happen in the code that takes it apart: numbers without
end, texts that are none, types inside themselves, lengths that no memory holds. So there is no list
of exceptions here. What is put inside must read and compute only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from acidsql.errors import AcidSqlError, CorruptFileError, MissingFileError, StorageError

NOT_WHOLE = "is not a whole ORC file"


@contextmanager
def naming(path: str, what: str = "cannot be read as ORC") -> Iterator[None]:
    """Any exception as CorruptFileError, which says ``what`` of the file.

    StorageError where not the bytes were at fault but the system that should give them, or what
    they say is beyond what this process can compute with.
    """
    try:
        yield
    except AcidSqlError:
        raise
    except FileNotFoundError as error:
        raise MissingFileError(f'file "{path}" does not exist') from error
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


def _detail(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else type(error).__name__
    return f"{text[0].upper()}{text[1:].rstrip('.')}."
