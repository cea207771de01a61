"""Files as a frame: a relation of Spark's over exactly these files."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from acidsql.engines.spark.errors import snapshot_expired
from acidsql.engines.spark.gateway import JavaClasses, by_gateway, empty_map, java_texts
from acidsql.engines.spark.paths import is_remote, literal_paths, spark_path
from acidsql.engines.spark.settings import configured
from acidsql.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Kind = Literal["orc", "parquet", "text"]

_SOURCES = "org.apache.spark.sql.execution.datasources"
_FORMATS: Mapping[Kind, str] = {
    "orc": f"{_SOURCES}.orc.OrcFileFormat",
    "parquet": f"{_SOURCES}.parquet.ParquetFileFormat",
    "text": f"{_SOURCES}.text.TextFileFormat",
}
_PASSED_OVER = re.compile(r"(_[^=]*|\..*|.*\._COPYING_)", re.DOTALL)
_READ = "acidsql.read"
_LISTED_IN_A_JOB = "spark.sql.sources.parallelPartitionDiscovery.threshold"
_NEVER = str(2**31 - 1)
_LISTED_BY_DRIVER = 32
"""Paths that Spark looks up without a job, by the setting's default."""


def read_files(
    spark: SparkSession,
    kind: Kind,
    schema: str,
    options: Mapping[str, str],
    paths: Sequence[str],
) -> DataFrame:
    """The rows of the files, read by Spark's reader of the format.

    No two of these frames are equal to Spark, since one option differs. Spark takes cached rows for
    those of each frame that is equal to the cached one. But the files may be others: a path comes
    again after DROP TABLE, or after an INSERT OVERWRITE of a plain table.

    SnapshotExpiredError if a file is not there, StorageError if Spark passes over its name,
    ConfigError if it cannot find the name in its locale.
    """
    with _listed_by_driver(spark, paths):
        frame = by_gateway(
            spark,
            lambda java: _of_relation(java, spark, java(_FORMATS[kind])(), schema, options, paths),
            "Spark looks up each path by itself",
        )
        if frame is None:
            reader = spark.read.format(kind).schema(schema).options(**{**options, _READ: _unique()})
            frame = reader.load(literal_paths(paths))
            _require_all(paths, len(frame.inputFiles()))
        return frame


def read_in_format(
    spark: SparkSession,
    file_format: Any,
    schema: str,
    options: Mapping[str, str],
    paths: Sequence[str],
) -> DataFrame | None:
    """As `read_files`, for a format of ours in the JVM; None where there is no gateway."""
    with _listed_by_driver(spark, paths):
        return by_gateway(
            spark,
            lambda java: _of_relation(java, spark, file_format, schema, options, paths),
            "the format is not used",
        )


def _unique() -> str:
    """The value of the option by which a frame differs from all others."""
    return uuid.uuid4().hex


def _listed_by_driver(spark: SparkSession, paths: Sequence[str]) -> AbstractContextManager[None]:
    """While this lasts, the driver looks up all paths if they are local.

    Spark looks up more than 32 paths in a job with a task for each. A task takes 2 milliseconds,
    and a look at a local path a tenth of one.
    """
    by_spark = len(paths) <= _LISTED_BY_DRIVER or any(map(is_remote, paths))
    return nullcontext() if by_spark else configured(spark, _LISTED_IN_A_JOB, _NEVER)


def _of_relation(
    java: JavaClasses,
    spark: SparkSession,
    file_format: Any,
    schema: str,
    options: Mapping[str, str],
    paths: Sequence[str],
) -> DataFrame:
    """The frame of a relation that is put together here.

    Spark's DataFrameReader makes the same one, and takes twice as long: it looks for patterns in
    the paths, looks up each file twice, and copies Hadoop's configuration for it.
    """
    from pyspark.sql.classic.dataframe import DataFrame  # noqa: PLC0415 - imported already

    session = spark._jsparkSession
    none = java("scala.Option").empty()
    given = _scala_map(java, tuple(options.items())).updated(_READ, _unique())
    no_cache = getattr(java(f"{_SOURCES}.NoopCache$"), "MODULE$")
    index = java(f"{_SOURCES}.InMemoryFileIndex")(
        session, _java_paths(java, paths), given, none, no_cache, none, none
    )
    found = index.allFiles().size()
    if found < len(paths):
        _require_letters(java, paths)
    _require_all(paths, found)
    relation = java(f"{_SOURCES}.HadoopFsRelation")(
        index,
        java("org.apache.spark.sql.types.StructType")(),
        _java_schema(java, schema),
        none,
        file_format,
        given,
        session,
    )
    return DataFrame(session.baseRelationToDataFrame(relation), spark)


@lru_cache(256)
def _scala_map(java: JavaClasses, items: tuple[tuple[str, str], ...]) -> Any:
    """Scala's map of these items. Maps that begin with the same items are made of one another."""
    if not items:
        return empty_map(java)
    key, value = items[-1]
    return _scala_map(java, items[:-1]).updated(key, value)


def _java_paths(java: JavaClasses, paths: Sequence[str]) -> Any:
    """A Scala sequence of Hadoop's paths, by four calls however many there are."""
    made = java("org.apache.hadoop.util.StringUtils").stringToPath(
        java_texts(java, list(map(spark_path, paths)))
    )
    return java("scala.collection.immutable.ArraySeq").unsafeWrapArray(made)


@lru_cache(64)
def _java_schema(java: JavaClasses, schema: str) -> Any:
    return java("org.apache.spark.sql.types.StructType").fromDDL(schema)


def _require_letters(java: JavaClasses, paths: Sequence[str]) -> None:
    """ConfigError if Java's locale has no names that are not ASCII, and one of the paths is not."""
    encoding = java("java.lang.System").getProperty("sun.jnu.encoding")
    if encoding != "UTF-8" and not all(path.isascii() or is_remote(path) for path in paths):
        raise ConfigError(
            "Spark cannot find files whose names are not ASCII",
            detail=f"Java has been started in a locale with the encoding {encoding}.",
            hint="Start Spark with the environment variable LC_ALL=C.UTF-8.",
        )


def _require_all(paths: Sequence[str], found: int) -> None:
    """StorageError if Spark has found fewer files: its listing passes over those without an error.

    SnapshotExpiredError if none of the names is one that Spark passes over (HadoopFSUtils
    shouldFilterOutPathName).
    """
    if found == len(paths):
        return
    passed_over = [p for p in paths if _PASSED_OVER.fullmatch(p.rpartition("/")[2])]
    if passed_over:
        raise StorageError(
            f"Spark does not read the file {passed_over[0]}",
            detail="It passes over names that begin with _ or . or end in ._COPYING_.",
            hint="Rename the file.",
        )
    raise snapshot_expired(
        "files of the snapshot are gone",
        f"Spark finds {found} of {len(paths)} files. The first of them is {paths[0]}.",
    )
