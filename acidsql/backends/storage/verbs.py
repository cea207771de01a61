"""What every storage does alike in its verbs: the errors that it raises, and the refusals."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from acidsql.errors import MissingFileError, PathExistsError, StorageError
from acidsql.ports.storage import is_plain_path, without_login


@contextlib.contextmanager
def clear_errors(action: str, path: str) -> Iterator[None]:
    """Every error of the operating system, as ours with the path in it."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise _clear_error(action, without_login(path), error) from error


def _clear_error(action: str, path: str, error: OSError | ValueError) -> StorageError:
    if isinstance(error, FileNotFoundError):
        return MissingFileError(f"cannot {action} {path}: it does not exist")
    if isinstance(error, ValueError):  # a NUL, or what no file name can be written as
        return StorageError(f"cannot {action} {path!r}: {error}")
    hint = "Check that the path is writable." if isinstance(error, PermissionError) else None
    return StorageError(f"cannot {action} {path}: {error.strerror or error}", hint=hint)


def refuse_strange(action: str, *paths: str) -> None:
    for path in paths:
        if not is_plain_path(path):
            raise StorageError(
                f"cannot {action} {without_login(path)!r}: it is no plain absolute path",
                detail="Where it leads to cannot be seen from it, so nothing is touched.",
            )


def require_size(path: str, found: int, expected: int) -> None:
    if found != expected:
        raise StorageError(
            f"cannot write {without_login(path)}: it has {found} bytes, not {expected}",
            detail="Somebody else has changed the file, or an earlier write to it broke off.",
        )


def path_exists(source: str, target: str) -> PathExistsError:
    return PathExistsError(
        f"cannot rename {without_login(source)} to {without_login(target)}: the target exists"
    )


def until_gone(remove: Callable[[str], None], path: str) -> None:
    """Remove what may go away meanwhile, as two cleaners remove the same."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return remove(path)
