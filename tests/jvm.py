"""How the JVMs of the tests are started: small ones, which live for minutes at most."""

from __future__ import annotations

from pathlib import Path

SPARK_CONF = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.ui.explainMode": "simple",
}
"""Small: the tests are about rows, not about their number.

Spark writes each plan out as text for its web page. Its usual, long form takes a tenth of the time
of a test.
"""

SHORT_LIVED = (
    *("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m", "-XX:+UseSerialGC"),
    *("-XX:MetaspaceSize=256m", "-Xmn400m", "-XX:InitialRAMPercentage=25"),
    "-XX:MaxJavaStackTraceDepth=32",
)
"""In minutes, Java's second compiler costs more than it wins.

The first compiler alone is given little room for its code, which Spark and Hive soon fill. Java
collects all garbage when the room for classes or for old objects grows, and more often if new
objects have little room. So the heap has its full size at once, if that is at most a quarter of the
memory. Java notes the whole stack, some hundred calls, with each class that a search does not find.
"""

OPTIONS = f"{' '.join(SHORT_LIVED)} -Dspark.ui.liveUpdate.period=0"
"""Spark's status tracker tells of tasks at once.

It may tell only with the next heartbeat otherwise, up to ten seconds later.
"""

ARCHIVE = Path(__file__).parents[1] / "build" / "spark-classes.jsa"
"""What `tests.class_archive` writes, if it has."""


def with_archive() -> str:
    """The options, and the archive if there is one. A JVM that it does not fit says nothing."""
    if not ARCHIVE.exists() or not ARCHIVE.stat().st_size:
        return OPTIONS
    silent = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
    return f'{OPTIONS} "-XX:SharedArchiveFile={ARCHIVE}" {silent}'
