"""The Java classes by which Hive reads and writes the files of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acidsql.model.table import FileFormat

_IO = "org.apache.hadoop.hive.ql.io."


@dataclass(frozen=True, slots=True)
class StorageClasses:
    """What STORED AS stands for (Hive StorageFormatDescriptor)."""

    serde: str
    reader: str
    writer: str


STORAGE_CLASSES: Mapping[FileFormat, StorageClasses] = {
    FileFormat.ORC: StorageClasses(
        f"{_IO}orc.OrcSerde", f"{_IO}orc.OrcInputFormat", f"{_IO}orc.OrcOutputFormat"
    ),
    FileFormat.PARQUET: StorageClasses(
        f"{_IO}parquet.serde.ParquetHiveSerDe",
        f"{_IO}parquet.MapredParquetInputFormat",
        f"{_IO}parquet.MapredParquetOutputFormat",
    ),
    FileFormat.AVRO: StorageClasses(
        "org.apache.hadoop.hive.serde2.avro.AvroSerDe",
        f"{_IO}avro.AvroContainerInputFormat",
        f"{_IO}avro.AvroContainerOutputFormat",
    ),
    FileFormat.TEXT: StorageClasses(
        "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        "org.apache.hadoop.mapred.TextInputFormat",
        f"{_IO}HiveIgnoreKeyTextOutputFormat",
    ),
}
