"""Paths as Spark's reader takes them: names, never patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PATTERN = re.compile(r"[{}\[\]*?\\]")
_REMOTE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*:")


def is_remote(path: str) -> bool:
    """Whether the path is not one of this machine.

    >>> is_remote("/t/file"), is_remote("file:///t/file"), is_remote("hdfs://host/t/file")
    (False, False, True)
    """
    return _REMOTE.match(path) is not None


def literal_paths(paths: Iterable[str]) -> list[str]:
    r"""The `spark_path` of each, with every character escaped that a pattern would have.

    Spark's option ``__globPaths__`` is no help: if it is off, a path with such a character is read
    as often as there are paths (DataSource.checkAndGlobPathIfNecessary).

    >>> literal_paths(["/t/s=a", "/t/s={x}"])
    ['file:///t/s=a', 'file:///t/s=\\{x\\}']
    """
    return [_PATTERN.sub(r"\\\g<0>", spark_path(path)) for path in paths]


def spark_path(path: str) -> str:
    """The path with its scheme: without one, Spark would look in Hadoop's default file system.

    Hadoop takes the rest as it is (org.apache.hadoop.fs.Path), so nothing is escaped.

    >>> spark_path("/a b"), spark_path("s3a://bucket/c")
    ('file:///a b', 's3a://bucket/c')
    """
    return f"file://{path}" if path.startswith("/") else path
