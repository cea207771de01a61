"""Locations as the metastore keeps them, and as our storage takes them."""

from __future__ import annotations

import re

from acidsql.errors import StorageError
from acidsql.ports.storage import local_path_of

_FULL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?/[^\0]*")
_LOCAL = re.compile(r"file:(?://[^/]*)?(?=/)")


def place_of(location: str) -> str:
    """What our storage takes: a local path, or a URI of another file system as it is.

    StorageError for what is neither: our storage would look for it where this process happens to
    be.

    Hive's text of a path is not escaped as a URI's is: a percent sign in it is one of the name.

    >>> place_of("file:/w/t/k=a%2Fb"), place_of("file:///w/t/"), place_of("hdfs://nn:8020/w/t")
    ('/w/t/k=a%2Fb', '/w/t', 'hdfs://nn:8020/w/t')
    """
    if not isinstance(location, str) or not _FULL.fullmatch(location):
        raise StorageError(
            f"the metastore gave {location!r} as a location",
            hint="A full path or URI is wanted; ALTER TABLE … SET LOCATION in Hive changes it.",
        )
    return _LOCAL.sub("", location).rstrip("/") or "/"


def location_of(place: str) -> str:
    """The inverse of `place_of`: without a scheme, the server would take its own file system.

    >>> location_of("/w/t/k=a%2Fb"), location_of("file:///w/a%20b"), location_of("s3a://b/t")
    ('file:/w/t/k=a%2Fb', 'file:/w/a b', 's3a://b/t')
    """
    local = local_path_of(place)
    return place if local is None else f"file:{local}"
