"""Converts locations between the metastore's form and the paths of our storage."""

from __future__ import annotations

import re

from acidsql.errors import StorageError
from acidsql.ports.storage import local_path_of

_FULL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?/[^\0]*")
_LOCAL = re.compile(r"file:(?://[^/]*)?(?=/)")


def place_of(location: str) -> str:
    """The path for our storage: a local path, or the unchanged URI of another file system.

    StorageError for anything else, such as a relative path, which would mean this process's working
    directory. Hive does not escape a path as in a URI: a percent sign is part of a name.

    >>> place_of("file:/w/t/k=a%2Fb"), place_of("file:///w/t/"), place_of("hdfs://nn:8020/w/t")
    ('/w/t/k=a%2Fb', '/w/t', 'hdfs://nn:8020/w/t')
    """
    if not isinstance(location, str) or not _FULL.fullmatch(location):
        raise StorageError(
            f"the metastore gave {location!r} as a location",
            hint="It must be a full path or URI; ALTER TABLE … SET LOCATION in Hive changes it.",
        )
    return _LOCAL.sub("", location).rstrip("/") or "/"


def location_of(place: str) -> str:
    """The metastore's form of a path; the inverse of `place_of`.

    A local path gets a scheme: without one, the server would take its own file system.

    >>> location_of("/w/t/k=a%2Fb"), location_of("file:///w/a%20b"), location_of("s3a://b/t")
    ('file:/w/t/k=a%2Fb', 'file:/w/a b', 's3a://b/t')
    """
    local = local_path_of(place)
    return place if local is None else f"file:{local}"
