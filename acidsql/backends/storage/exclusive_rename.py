"""Renaming a local file or directory to a name that must not be taken yet."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from pathlib import Path

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_NOT_THERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
"""What a kernel or file system answers where it has no such rename."""


def rename_exclusively(source: Path, target: Path) -> None:
    """Rename a file or directory in one step. FileExistsError if the target is there.

    By Linux' renameat2; where there is none, as `rename_by_link` does.
    """
    rename = getattr(_libc(), "renameat2", None)
    if rename is not None:
        old, new = os.fsencode(source), os.fsencode(target)
        if rename(_AT_FDCWD, old, _AT_FDCWD, new, _RENAME_NOREPLACE) == 0:
            return
        code = ctypes.get_errno()
        if code not in _NOT_THERE:
            raise OSError(code, os.strerror(code), str(source))
    rename_by_link(source, target)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def rename_by_link(source: Path, target: Path) -> None:
    """Rename without the system call. FileExistsError if the target is there.

    A file gets its second name by a link, which fails where the name is taken, and then loses the
    first. A directory replaces an empty one, no other: OSError then.
    """
    if source.is_dir() and not source.is_symlink():
        source.rename(target)
        return
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # The file system has no links either. The writer that creates the name owns the name, and
        # moves its file there.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        source.replace(target)
        return
    source.unlink()
