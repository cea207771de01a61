"""Which file system a URI names, and which path in it: as Hadoop's Path reads one."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from acidsql.errors import StorageError
from acidsql.ports.storage import without_login

URI = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):(?=/))?(?://([^/]*))?(/.*)?", re.DOTALL)
"""As Hadoop's Path reads one: all behind the authority is the path, and nothing is decoded."""
_ALIASES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs"}
_PORTS = {"hdfs": "8020"}
"""The port that is meant where there is none."""
_OF_BUCKETS = ("s3", "gs")
_OF_CONTAINERS = ("abfs",)


@dataclass(frozen=True, slots=True)
class FileSystemUri:
    """The one file system that a storage is over: its scheme and authority, in their usual form.

    ``root`` is where, in pyarrow's file system, the paths begin: the bucket of an object store.
    Without a scheme, plain paths are all there are.
    """

    scheme: str = ""
    authority: str = ""
    root: str = "/"

    @classmethod
    def of(cls, location: str, root: str) -> FileSystemUri:
        """That of a URI.

        >>> FileSystemUri.of("s3a://key:secret@bucket/w", "bucket")
        FileSystemUri(scheme='s3', authority='bucket', root='bucket')
        """
        match = URI.fullmatch(location)
        assert match is not None
        scheme = _usual_scheme(match[1] or "")
        return cls(scheme, _usual_authority(scheme, match[2] or ""), root)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}" if self.scheme else "/"

    def path(self, location: str) -> str:
        """The absolute path of a URI or plain path, without ``..`` and the like.

        StorageError for what is of another file system. What has no scheme or no authority has this
        one's, as Hadoop's default file system gives it.

        >>> hdfs = FileSystemUri("hdfs", "nn")
        >>> hdfs.path("hdfs://NN:8020/w//t/"), hdfs.path("/w/../t")
        ('/w/t', '/t')
        """
        match = URI.fullmatch(location)
        if match is None or not location:
            raise StorageError(f"{without_login(location)!r} is no absolute path")
        scheme = self.scheme if match[1] is None else _usual_scheme(match[1])
        authority = _usual_authority(scheme, match[2] or "") or self.authority
        if (scheme, authority) != (self.scheme, self.authority):
            raise StorageError(
                f"{without_login(location)} lies in another file system than the warehouse, {self}",
                detail="All that a session reads and writes lies in the file system of its"
                " warehouse.",
                hint="Name that one in the location as the warehouse does, or open a session whose"
                " warehouse lies in the other.",
            )
        return "/" + posixpath.normpath(match[3] or "/").lstrip("/")

    def uri(self, location: str) -> str:
        """The one text for a place.

        >>> FileSystemUri("s3", "bucket").uri("s3n://bucket/w/t/"), FileSystemUri().uri("/w/t/")
        ('s3://bucket/w/t', '/w/t')
        """
        path = self.path(location)
        if not self.scheme:
            return path
        return str(self) if path == "/" else f"{self}{path}"

    def arrow_path(self, location: str) -> str:
        """What pyarrow calls a place.

        >>> bucket, hdfs = FileSystemUri("s3", "b", "b"), FileSystemUri("hdfs", "nn")
        >>> bucket.arrow_path("/w"), hdfs.arrow_path("/w")
        ('b/w', '/w')
        """
        path = self.path(location)
        below = f"{self.root.rstrip('/')}{path}" if self.root else path[1:]
        return below.rstrip("/") or self.root


PLAIN_PATHS = FileSystemUri()
"""Of a storage that takes plain paths alone."""


def _usual_scheme(scheme: str) -> str:
    return _ALIASES.get(scheme.lower(), scheme.lower())


def _usual_authority(scheme: str, authority: str) -> str:
    """Without login and usual port. A bucket's name keeps its case, a host's has none.

    >>> _usual_authority("hdfs", "ann@NN:8020"), _usual_authority("s3", "key:secret@Bucket:9000")
    ('nn', 'Bucket')
    >>> _usual_authority("abfs", "container:key@Account.dfs.core.windows.net")
    'container@account.dfs.core.windows.net'
    """
    login, _, host = authority.rpartition("@")
    name, colon, port = host.rpartition(":")
    if scheme in _OF_BUCKETS:
        return name if colon else host
    if colon and port in ("", _PORTS.get(scheme)):
        host = name
    # In front of Azure's account stands the container.
    user = login.partition(":")[0] if scheme in _OF_CONTAINERS else ""
    return f"{user}@{host.lower()}" if user else host.lower()
