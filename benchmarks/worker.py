"""One worker process: one JVM with the engines of one family, doing one command at a time.

Commands come in as JSON lines and answers go out as JSON lines, on the pipes that the process
was started with; what libraries print goes to the log.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from engine import SOURCE, Engine
from sources import LINEITEM
from workload import MERGE_ROWS, Workload, merge_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAMILIES = {
    "hive": ("plain-orc", "acidsql"),
    "delta": ("delta",),
    "iceberg": ("iceberg-v2", "iceberg-v3"),
}
OPERATIONS = {"prepare", "load", "fresh", "read", "write", "delete", "compact", "check"}

SHARED_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.orc.compression.codec": "zstd",
    "spark.sql.parquet.compression.codec": "zstd",
}
FAMILY_SETTINGS = {
    "hive": {},
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # The default of 50 partitions would cost Delta a second a statement on a table this small.
        "spark.databricks.delta.snapshotPartitions": "2",
    },
    "iceberg": {
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
    },
}
JARS = {
    "hive": (),
    "delta": ("delta-*.jar", "unitycatalog-*.jar"),
    "iceberg": ("iceberg-spark-runtime-*.jar",),
}


def tables_of(options: Namespace) -> Path:
    """Where the engines keep their tables; those of another scale are elsewhere."""
    return options.work / "tables" / f"scale-{options.scale:g}"


def start_spark(options: Namespace) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    family, work = options.family, options.work
    settings = SHARED_SETTINGS | FAMILY_SETTINGS[family]
    settings |= {
        "spark.driver.memory": options.memory,
        "spark.local.dir": str(work / "tmp"),
        "spark.sql.warehouse.dir": str(tables_of(options) / f"spark-{family}"),
    }
    if family == "iceberg":
        settings["spark.sql.catalog.ice.warehouse"] = str(tables_of(options) / "iceberg")
    jars = [str(jar) for pattern in JARS[family] for jar in (work / "jars").glob(pattern)]
    if jars:
        settings["spark.jars"] = ",".join(sorted(jars))

    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.read.parquet(str(options.data / LINEITEM)).createOrReplaceTempView(SOURCE)
    for name in map(merge_source, MERGE_ROWS):
        path = str(options.data / f"{name}.parquet")
        spark.read.parquet(path).createOrReplaceTempView(name)
    return spark


def make_engine(name: str, spark: SparkSession, options: Namespace) -> Engine:
    """Imports are here, so that one engine's trouble is not another's."""
    arguments = (name, spark, tables_of(options), Workload(options.scale))
    match name:
        case "plain-orc":
            from engines_plain import PlainEngine

            return PlainEngine(*arguments)
        case "acidsql":
            from engines_acidsql import AcidSqlEngine

            return AcidSqlEngine(*arguments)
        case "delta":
            from engines_delta import DeltaEngine

            return DeltaEngine(*arguments)
        case "iceberg-v2" | "iceberg-v3":
            from engines_iceberg import IcebergEngine

            return IcebergEngine(*arguments, version=int(name[-1]))
        case _:
            raise ValueError(f"unknown engine {name}")


def answer(engine: Engine, operation: str, arguments: list[str]) -> dict[str, object]:
    """Do one operation; its seconds and its answer, or its error."""
    assert operation in OPERATIONS
    start = time.perf_counter()
    try:
        result = getattr(engine, operation)(*arguments)
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"[:600]}
    return {"seconds": round(time.perf_counter() - start, 4), "answer": result}


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--family", choices=FAMILIES, required=True)
    parser.add_argument("--engines", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--memory", required=True)
    parser.add_argument("--scale", type=float, required=True)
    options = parser.parse_args()

    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def reply(message: dict[str, object]) -> None:
        print(json.dumps(message), file=replies, flush=True)

    spark = start_spark(options)
    engines = {name: make_engine(name, spark, options) for name in options.engines.split(",")}
    java = spark._jvm.java.lang.System.getProperty("java.version")
    reply({"spark": spark.version, "java": java})
    for line in sys.stdin:
        command = json.loads(line)
        reply(answer(engines[command["engine"]], command["operation"], command["arguments"]))
    spark.stop()


if __name__ == "__main__":
    main()
