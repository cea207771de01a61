"""Plan texts → DataFrames: sources by frame, parameters bound as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.parameters import bound
from acidsql.plans.sql_text import AnySource, SqlText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Resolve = Callable[[AnySource], "DataFrame"]


def run_sql(
    spark: SparkSession, text: SqlText, resolve: Resolve, parameters: Mapping[str, Any]
) -> DataFrame:
    """The DataFrame of a query. Each source is bound to its frame, not to a name.

    PySpark fills the frames into braces, so the text's own braces are doubled; without a frame it
    leaves the text alone.
    """
    frames: dict[str, DataFrame] = {}
    filled = any(not isinstance(part, str) for part in text.parts)
    names: dict[AnySource, str] = {}
    rendered = []
    for part in text.parts:
        if isinstance(part, str):
            rendered.append(part.replace("{", "{{").replace("}", "}}") if filled else part)
            continue
        if part not in names:
            names[part] = f"acidsql_{len(names)}"
            frames[names[part]] = resolve(part)
        rendered.append(f"{{{names[part]}}}")
    with clear_errors():
        args = {name: bound(name, value) for name, value in parameters.items()}
        return spark.sql("".join(rendered), args=args or None, **frames)
