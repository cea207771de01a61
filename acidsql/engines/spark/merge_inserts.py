"""The rows that a MERGE inserts: those of the source that match no row of the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from acidsql.engines.changes import LEG
from acidsql.engines.spark.evaluation import evaluated
from acidsql.engines.spark.fields import in_order
from acidsql.engines.spark.insert import placed_rows, write_collected_rows, write_inserted_rows
from acidsql.engines.spark.job import Job
from acidsql.engines.spark.merge_pairs import SOURCE, acting, when
from acidsql.engines.spark.source_clauses import acting_legs
from acidsql.engines.spark.source_columns import SourceColumns, as_new_rows
from acidsql.engines.spark.values import boolean
from acidsql.engines.target import OutputFile, Target
from acidsql.errors import AnalysisError
from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Table
from acidsql.plans.merge import InsertLeg, MergePlan
from acidsql.plans.sql_text import SqlText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Inserts:
    """The clauses for rows of the source without a match."""

    plan: MergePlan
    job: Job
    target: Target

    def write(self, left: DataFrame, *, are_few: bool) -> list[OutputFile]:
        """The files of the rows ``left``, which match no row of the target."""
        legs = self.plan.not_matched
        if not legs:
            return []
        if len(legs) == 1:
            return self._write(legs[0], legs[0].condition, left, are_few=are_few)
        whens = [when(leg.condition, number) for number, leg in enumerate(legs)]
        numbered = self._select(left, SqlText.of("*, ", acting(whens), f" AS {LEG}"))
        files = []
        # Each leg reads the rows in jobs of its own. A condition like rand() < 0.5 is asked once.
        with evaluated(numbered) as once:
            for number, leg in enumerate(legs):
                rows = once.where(f"{LEG} = {number}").drop(LEG)
                files += self._write(leg, None, rows, are_few=are_few)
        return files

    def write_collected(self, source: SourceColumns, rows: pa.Table) -> list[OutputFile] | None:
        """The files of these ``rows`` of the source, if all new values are columns of it as is.

        None if there are other values, or other conditions than those of `acting_legs`.
        """
        legs = self.plan.not_matched
        if not legs:
            return []
        given = [columns for leg in legs if (columns := source.inserting(leg)) is not None]
        if len(given) < len(legs):
            return None
        try:
            chosen = acting_legs(self.job, source, legs, rows)
        except AnalysisError:
            return None  # The other way makes the same mistake, and hints at columns.
        if chosen is None:
            return None
        files = []
        for number, (leg, columns) in enumerate(zip(legs, given, strict=True)):
            own = as_new_rows(rows.filter(pa.array(chosen == number)), self._table, columns)
            files += write_collected_rows(own, self._table, self.target, leg.statement_id)
        return files

    def placed(self, leg: InsertLeg, condition: SqlText | None, left: DataFrame) -> DataFrame:
        """The rows that the leg inserts. Without a match, values come from the source alone."""
        columns = [SqlText.of("(", v.value, f"\n) AS __v{i}") for i, v in enumerate(leg.values)]
        kinds = {c.name: c.type for c in self._table.all_columns}
        rows = self._select(left, SqlText.join(", ", columns), condition)
        self._refuse_several_rows(leg, left)
        values = {
            v.column: in_order(SqlText.of(field.name), v.column, kinds[v.column], field.dataType)
            for v, field in zip(leg.values, rows.schema.fields, strict=True)
        }
        return placed_rows(self.job, self._table, rows, values, {})

    def _refuse_several_rows(self, leg: InsertLeg, left: DataFrame) -> None:
        """AnalysisError for an aggregate, or for a function that makes rows, among the values.

        Only Spark knows them all. It takes none in a WHERE.
        """
        calls = [v.value for v in leg.values if any("(" in str(part) for part in v.value.parts)]
        if calls:
            asked = SqlText.join(" OR ", [SqlText.of("(", call, "\n) IS NULL") for call in calls])
            self._select(left, SqlText.of("1"), asked)

    def _write(
        self, leg: InsertLeg, condition: SqlText | None, left: DataFrame, *, are_few: bool
    ) -> list[OutputFile]:
        rows = self.placed(leg, condition, left)
        return write_inserted_rows(
            rows, self._table, self.target, leg.statement_id, are_few=are_few
        )

    def _select(
        self, left: DataFrame, columns: SqlText, condition: SqlText | None = None
    ) -> DataFrame:
        """A query of the rows, under the alias that the source has in the clauses."""
        self.job.inputs[SOURCE.name] = left
        where = SqlText.of(" WHERE ", boolean(condition)) if condition else SqlText.of("")
        alias = quote(self.plan.source_alias)
        return self.job.sql(SqlText.of("SELECT ", columns, " FROM ", SOURCE, f" AS {alias}", where))

    @property
    def _table(self) -> Table:
        return self.job.context.tables[self.plan.table].table
