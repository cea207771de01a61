"""The place of a row: its partition, found by the path of its file, and the file itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from acidsql.engines.changes import PARTITION
from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark.arrow import to_arrow
from acidsql.engines.spark.gateway import by_gateway, python_texts
from acidsql.engines.spark.local_frame import local_frame
from acidsql.errors import StorageError
from acidsql.model.names import string_literal as literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAP_FILES_MAX = 100
"""For up to this many files a literal map gives a path's partition, for more a broadcast join."""

FILE = "__acidsql_file"
"""The file of a row, as Hive's ``INPUT__FILE__NAME`` shows it: a URI without any encoding."""

_PATH, _HASH, _KNOWN = "__acidsql_path", "__acidsql_hash", "__acidsql_known"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def with_places(
    spark: SparkSession,
    events: DataFrame,
    places: Collection[str],
    scan: DataFrame,
    files: Sequence[SelectedFile],
) -> DataFrame:
    """The events of the files with ``places``: PARTITION, FILE, both or neither.

    ``scan`` is the frame as it was before any condition.
    """
    if not places:
        return events
    # A column of the table may be called _metadata, too.
    path = events.metadataColumn("_metadata").getField("file_path")
    placed = events.select("*", path.alias(_PATH))
    if PARTITION in places:
        placed = _with_partition(spark, placed, _scanned_paths(scan, files))
    if FILE in places:
        # Spark encodes some characters of a path. A plus sign is not one of them, but stands for a
        # space where a URL is decoded.
        placed = placed.selectExpr("*", f"url_decode(replace({_PATH}, '+', '%2B')) as {FILE}")
    return placed.drop(_PATH)


def file_name(path: str) -> str:
    """FILE of a file that Spark's reader does not read.

    >>> file_name("/warehouse/t/delta_0000001_0000001_0000/bucket_00000")
    'file:/warehouse/t/delta_0000001_0000001_0000/bucket_00000'
    >>> file_name("file:///t/000000_0"), file_name("hdfs://host:8020/t/000000_0")
    ('file:/t/000000_0', 'hdfs://host:8020/t/000000_0')
    """
    return _as_hadoop(path if _SCHEME.match(path) else f"file:{path}")


def _as_hadoop(uri: str) -> str:
    """The URI as Hadoop's Path writes it: file:/ where others write file:///."""
    return re.sub(r"^(\w+):///", r"\1:/", uri)


def _with_partition(spark: SparkSession, frame: DataFrame, paths: Mapping[str, int]) -> DataFrame:
    """The rows with PARTITION, by the paths of their files, see `_scanned_paths`.

    Spark's own partition columns would break the six-column schema.
    """
    if len(paths) <= MAP_FILES_MAX:
        pairs = ", ".join(f"{literal(path)}, {index}" for path, index in paths.items())
        return _numbered(frame, f"element_at(map({pairs}), {_PATH})")
    return _joined_with_paths(spark, frame, paths)


def _numbered(frame: DataFrame, number: str) -> DataFrame:
    """The frame with PARTITION; a row of an unknown file is an error."""
    unknown = f"cast(raise_error(concat('a file of no partition: ', {_PATH})) as int)"
    numbered = frame.selectExpr("*", f"coalesce({number}, {unknown}) as {PARTITION}")
    return numbered.drop(_HASH, _KNOWN)


def _joined_with_paths(
    spark: SparkSession, frame: DataFrame, paths: Mapping[str, int]
) -> DataFrame:
    """Joined on a hash of the path, or on the path itself should two hashes be equal."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    numbers = pa.array(list(paths.values()), pa.int32())
    known = local_frame(spark, pa.table({_PATH: pa.array(list(paths)), _KNOWN: numbers}))
    hashed = known.selectExpr(f"xxhash64({_PATH}) as {_HASH}", _KNOWN)
    if len(set(to_arrow(hashed).column(0).to_pylist())) == len(paths):
        frame = frame.selectExpr("*", f"xxhash64({_PATH}) as {_HASH}")
        return _numbered(frame.join(F.broadcast(hashed), _HASH, "left"), _KNOWN)
    return _numbered(frame.join(F.broadcast(known), _PATH, "left"), _KNOWN)


def _scanned_paths(scan: DataFrame, files: Sequence[SelectedFile]) -> dict[str, int]:
    """Each file's path as Spark writes it → the index of its partition.

    ``scan`` has no conditions: if they could never be true, Spark would list no file.
    """
    known = {_plain(f.path): f.partition for f in files}
    # The listing says file:///, the metadata column file:/ for the same file.
    uris = [_as_hadoop(uri) for uri in _input_files(scan)]
    found = {uri: known.get(_plain(uri)) for uri in uris}
    if None in found.values() or len(found) != len(known):
        raise StorageError(
            f"Spark lists {len(found)} files where the snapshot has {len(known)}",
            detail=", ".join(uri for uri, index in found.items() if index is None)[:500] or None,
        )
    return {uri: index for uri, index in found.items() if index is not None}


def _input_files(scan: DataFrame) -> Sequence[str]:
    """As ``scan.inputFiles()``, which calls the JVM once for each of the files."""
    found = by_gateway(
        scan.sparkSession,
        lambda java: python_texts(java, scan._jdf.inputFiles()),
        "files are asked for one by one",
    )
    return scan.inputFiles() if found is None else found


def _plain(path: str) -> str:
    """A path without scheme and URL encoding, to compare by."""
    parts = urlsplit(path)
    if parts.scheme:
        return parts.netloc + unquote(parts.path)
    return path
