"""Which storage holds a location."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.fs as pafs

from acidsql.backends.storage.arrow import ArrowStorage
from acidsql.backends.storage.file_system_uri import URI, FileSystemUri
from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import ConfigError
from acidsql.ports.storage import Storage, local_path_of, without_login


def storage_for(location: str, *, missing_is_empty: bool = False) -> Storage:
    """The storage that holds a path or URI. ConfigError for a scheme pyarrow does not know.

    With ``missing_is_empty`` no directory of a table is missing, as for Hive.
    """
    if local_path_of(location) is not None:
        return LocalStorage(missing_is_empty=missing_is_empty)
    filesystem, home = _connected(location)
    return ArrowStorage(filesystem, home, missing_is_empty=missing_is_empty)


def _connected(location: str) -> tuple[pafs.FileSystem, FileSystemUri]:
    """The file system of a URI, asked for by its scheme and authority alone.

    pyarrow decodes what is encoded in the path and takes ``?`` for options of its own, where Hadoop
    takes all that is behind the authority as the path.
    """
    shown = without_login(location)
    match = URI.fullmatch(location)
    if match is None or "?" in location or "#" in location:
        raise ConfigError(
            f"{shown} is no URI of a warehouse",
            hint="Write scheme://authority/path, without options.",
        )
    try:
        filesystem, root = pafs.FileSystem.from_uri(f"{match[1]}://{match[2] or ''}/")
        return filesystem, FileSystemUri.of(location, root)
    except (pa.ArrowInvalid, OSError, ImportError) as error:
        if shown == location:
            raise ConfigError(f"no file system for {location}", detail=str(error)) from error
    # Not inside of the block, whose error may quote a part of a key.
    raise ConfigError(f"no file system for {shown}")
