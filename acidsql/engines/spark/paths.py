"""Paths as Spark's reader takes them: names, never patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from acidsql.engines.spark.settings import configured

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PATTERN = re.compile(r"[{}\[\]*?\\]")
_REMOTE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*:")
_LISTED_IN_A_JOB = "spark.sql.sources.parallelPartitionDiscovery.threshold"
_NEVER = str(2**31 - 1)


def read_paths(
    spark: SparkSession, read: Callable[[list[str]], DataFrame], paths: Sequence[str]
) -> DataFrame:
    """What ``read``, a method of Spark's reader, makes of the files.

    Spark looks up each path. It looks up more than 32 of them in a job with a task for each path.
    A task takes 2 milliseconds, and a look at a local path a tenth of one, so the driver looks at
    all local paths.
    """
    is_remote = any(_REMOTE.match(path) for path in paths)
    with nullcontext() if is_remote else configured(spark, _LISTED_IN_A_JOB, _NEVER):
        return read(literal_paths(paths))


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
