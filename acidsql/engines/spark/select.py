"""Columns of a DataFrame, given as texts of SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acidsql.engines.spark.gateway import by_gateway, java_texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def select(frame: DataFrame, texts: Sequence[str]) -> DataFrame:
    """As ``frame.selectExpr(*texts)``, which calls the JVM once for each of the texts."""
    found = None
    if len(texts) > 1 and not any("\0" in text for text in texts):
        found = by_gateway(
            frame.sparkSession,
            lambda java: frame._jdf.selectExpr(java_texts(java, texts)),
            "each column is handed to Spark by itself",
        )
    return frame.selectExpr(*texts) if found is None else type(frame)(found, frame.sparkSession)
