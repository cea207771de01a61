"""The time, the user and the database of a statement: the same ones in all of its jobs.

Spark fixes current_timestamp() and its kin for one job, when it optimises that job's plan. A
statement may take several jobs, and a Result may be read twice. So these functions are replaced by
their values in the analysed plan. There Spark has told functions from columns of the same name, and
the plan holds the functions of registered frames and views, too. The current database is that of
our session, which Spark does not know.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.gateway import JavaClasses, by_gateway, java_classes
from acidsql.model.names import string_literal as literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CATALYST = "org.apache.spark.sql.catalyst"

_ASKED = (
    *("current_timestamp()", "now()", "current_date()", "localtimestamp()", "current_timezone()"),
    *("current_user()", "current_catalog()"),
)
"""Spark's functions of the moment and the session; other names mean the same expressions."""

_TIMES = tuple(f"current_time({precision})" for precision in range(7))
"""Functions of Spark 4.1 and later."""

_DATABASE = "current_database()"
"""current_schema() is the same expression."""


@dataclass
class Clock:
    """The moment of a statement, taken when the first of its queries asks for it.

    ``database`` is the session's current one.
    """

    spark: SparkSession
    database: str

    def fixed(self, frame: DataFrame) -> DataFrame:
        """The frame with these functions replaced by values; the frame itself if it has none."""
        done = by_gateway(
            self.spark,
            lambda java: self._fixed(java, frame),
            "each job of a statement has a current_timestamp() of its own",
        )
        return frame if done is None else done

    def _fixed(self, java: JavaClasses, frame: DataFrame) -> DataFrame | None:
        plan = frame._jdf.queryExecution().analyzed()
        if not plan.containsPattern(_asks(java)):
            return None
        values = java("org.apache.spark.api.python.PythonUtils").toScalaMap(self._values)
        # What is left has another session's time zone in it, or is a function that this file does
        # not know.
        told = self._computed(java, plan.transformAllExpressionsWithSubqueries(values))
        told.setAnalyzed()
        of_rows = java("org.apache.spark.sql.classic.Dataset").ofRows
        return type(frame)(of_rows(self.spark._jsparkSession, told), self.spark)

    @cached_property
    def _values(self) -> Any:
        """A java.util.Map from Spark's expressions to their literals in this statement."""
        java = java_classes(self.spark)
        assert java is not None, "asked for through a gateway"
        functions = (*_ASKED, *_TIMES) if self._has_times else _ASKED
        asked = self._plan((*functions, _DATABASE))
        told = self._computed(java, self._plan((*functions, literal(self.database))))
        values = java("java.util.HashMap")()
        for index in range(asked.expressions().size()):
            # Each is the child of its alias.
            values.put(
                asked.expressions().apply(index).child(), told.expressions().apply(index).child()
            )
        return values

    @property
    def _has_times(self) -> bool:
        version = self.spark.version.split(".")
        return (int(version[0]), int(version[1])) >= (4, 1)

    def _plan(self, functions: tuple[str, ...]) -> Any:
        texts = ", ".join(f"{text} AS c{index}" for index, text in enumerate(functions))
        return self.spark.sql(f"SELECT {texts}")._jdf.queryExecution().analyzed()

    def _computed(self, java: JavaClasses, plan: Any) -> Any:
        """The plan with the values that Spark's own rules give now."""
        times = java(f"{_CATALYST}.optimizer.ComputeCurrentTime").apply(plan)
        catalogs = self.spark._jsparkSession.sessionState().catalogManager()
        return java(f"{_CATALYST}.optimizer.ReplaceCurrentLike")(catalogs).apply(times)


@lru_cache(maxsize=1)
def _asks(java: JavaClasses) -> Any:
    """The mark of plans that have one of these functions."""
    return java(f"{_CATALYST}.trees.TreePattern").CURRENT_LIKE()
