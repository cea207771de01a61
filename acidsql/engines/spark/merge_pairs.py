"""The joined rows of a MERGE: which leg acts on each, and the row's new values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acidsql.engines.changes import LEG, PARTITION
from acidsql.engines.matches import KEY
from acidsql.engines.rows import CHANGED_ROW_ID
from acidsql.engines.spark.casts import Casts
from acidsql.engines.spark.checks import checked
from acidsql.engines.spark.fields import with_named_fields
from acidsql.engines.spark.job import Job
from acidsql.engines.spark.select import select
from acidsql.engines.spark.set_fields import whole_values
from acidsql.engines.spark.values import boolean, has_star, kept, stored
from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Column, Table
from acidsql.model.types import spark_type
from acidsql.plans.merge import DeleteLeg, InsertLeg, MergePlan, UpdateLeg
from acidsql.plans.sql_text import InputSource, SqlText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TARGET = InputSource(name="target")
SOURCE = InputSource(name="source")
_JOINED = InputSource(name="joined")

_NEW, _VALUE = "__acidsql_new", "__acidsql_value"
_PAIR_LEG = "__acidsql_pair"
_ALONE = -2
"""The number that stands for a leg in a row of the target without a match."""

_JOINS = {
    (False, False): "INNER",
    (False, True): "RIGHT OUTER",
    (True, False): "LEFT OUTER",
    (True, True): "FULL OUTER",
}
"""By whether rows of the target alone and rows of the source alone are kept."""

Setting = Sequence[tuple[int, Mapping[str, SqlText]]]
"""The numbers of legs that update, and the values that each sets, by column."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Makes the query of a MERGE's joined rows. It leaves the columns out that are ``given``."""

    plan: MergePlan
    job: Job
    given: Collection[str] = ()

    @property
    def table(self) -> Table:
        """The target."""
        return self.job.context.tables[self.plan.table].table

    @property
    def source(self) -> str:
        """The alias of the source, in quotes."""
        return quote(self.plan.source_alias)

    @property
    def is_unmatched(self) -> str:
        """True of a source row without a match. SQL."""
        return f"{self._alias}.{PARTITION} IS NULL"

    @property
    def _alias(self) -> str:
        return quote(self.plan.alias)

    def joined(
        self,
        target: DataFrame,
        source: DataFrame,
        extra: Mapping[str, str],
        there: str,
        *,
        keeps_source: bool = False,
    ) -> DataFrame:
        """The joined rows: row ids, `LEG`, ``extra`` by name, new values, and keys for an error.

        Their evaluation fails at a new value that a CHECK forbids.

        LEG is -1 where no leg acts. The column ``there`` of the source is never null; behind an
        outer join, null says that there is no row. ``keeps_source`` keeps the rows of the source
        without a match. Those of the target are kept if there are legs for them.
        """
        rows = self._joined(target, source, extra, there, keeps_source=keeps_source)
        updates = [str(n) for n, g in enumerate(self.plan.changing) if isinstance(g, UpdateLeg)]
        if not updates:
            return rows
        return checked(self.job, self.table, rows, f"{LEG} IN ({', '.join(updates)})")

    def alone(self, target: DataFrame) -> DataFrame:
        """Rows of the target with the columns that `joined` gives them, as if each had a match.

        This is for plans whose new values ask for no column of the source. Of clauses that do,
        LEG says nothing.
        """
        self.job.inputs[TARGET.name] = target
        legs = [(n, leg) for n, leg in enumerate(self.plan.matched) if leg.asks_source is None]
        whens = [when(leg.condition, number) for number, leg in legs]
        old = [SqlText.of(self._old(c), f" AS {quote(c.name)}") for c in self._written]
        leg_of = SqlText.of(acting(whens), f" AS {LEG}")
        columns = SqlText.join(
            ", ", [*map(SqlText.of, self._ids), leg_of, *map(SqlText.of, self._keys), *old]
        )
        rows = SqlText.of(TARGET, f" AS {self._alias} WHERE ", self._may_act)
        return self.job.sql(SqlText.of("SELECT ", columns, " FROM ", rows))

    def _joined(
        self,
        target: DataFrame,
        source: DataFrame,
        extra: Mapping[str, str],
        there: str,
        *,
        keeps_source: bool,
    ) -> DataFrame:
        self.job.inputs |= {TARGET.name: target, SOURCE.name: source}
        keys = self._keys
        named = [f"{value} AS {name}" for name, value in extra.items()]
        both = SqlText.of(TARGET, f" AS {self._alias} CROSS JOIN ", SOURCE, f" AS {self.source}")
        setting, casts = self._setting(self.plan.matched, 0, both), Casts(self.job, self.table)
        join = _JOINS[bool(self.plan.by_source), keeps_source]
        if not self.plan.by_source:
            values = {
                c.name: self._new(casts, c, setting, LEG, self._other(c, setting))
                for c in self._written
            }
            leg_of = self._pair_leg(LEG, there)
            return casts.select([*self._ids, leg_of, *named, *keys], values, self._pairs(join))
        # The clauses for rows without a match know the columns of the target alone. So they stand
        # in a query around that of the pairs, under the alias of the target.
        values = {
            f"{_NEW}{index}": self._new(casts, column, setting, _PAIR_LEG, self._old(column))
            for index, column in enumerate(self._written)
        }
        own = [f"{self._alias}.{quote(c.name)}" for c in self.table.all_columns]
        own += [f"{self._alias}.{column.value}" for column in self.plan.hidden]
        leg_of = self._pair_leg(_PAIR_LEG, there)
        self.job.inputs[_JOINED.name] = casts.select(
            [*self._ids, leg_of, *named, *own], values, self._pairs(join)
        )
        return self._around_pairs([*extra, *keys])

    def _pair_leg(self, leg: str, there: str) -> SqlText:
        """The leg that acts on a pair of rows, or on a row without a match, under the name ``leg``.

        The conditions of clauses stand here alone, and are evaluated here. New values, which
        depend on them, ask for ``leg`` by Spark's lateral column aliases.
        """
        whens = [SqlText.of(f" WHEN {self.is_unmatched} THEN -1")]
        if self.plan.by_source:
            whens.append(SqlText.of(f" WHEN {self.source}.{there} IS NULL THEN {_ALONE}"))
        whens += [when(leg.condition, number) for number, leg in enumerate(self.plan.matched)]
        return SqlText.of(acting(whens), f" AS {leg}")

    def _pairs(self, join: str) -> SqlText:
        """The FROM clause of the pairs of rows, and of the rows without a match."""
        return SqlText.of(
            "FROM ", TARGET, f" AS {self._alias} {join} JOIN ", SOURCE,
            f" AS {self.source} ON (", boolean(self.plan.on), "\n) AND ", self._may_act,
        )  # fmt: skip

    @property
    def _may_act(self) -> SqlText:
        """A condition on a row of the target that is true if a clause may act on the row.

        It may be asked of any row, so that a scan can leave out others, if those do not matter.
        """
        plan = self.plan
        asked = [leg.condition for leg in plan.matched if leg.condition and leg.asks_target]
        if plan.not_matched or plan.by_source or len(asked) < len(plan.matched):
            return SqlText.of("true")
        any_of = SqlText.join(" OR ", [SqlText.of("(", each, "\n)") for each in asked])
        return SqlText.of("(", any_of, ")")

    @property
    def _ids(self) -> Sequence[str]:
        """The row id of a row of the target."""
        return [f"{self._alias}.{name}" for name in (PARTITION, *CHANGED_ROW_ID)]

    @property
    def _keys(self) -> Sequence[str]:
        return [
            f"{self._alias}.{quote(k.target)} AS {KEY}{i}" for i, k in enumerate(self.plan.keys)
        ]

    def _around_pairs(self, extra: Sequence[str]) -> DataFrame:
        """The query around that of the pairs that lets the legs for rows without a match act."""
        first = len(self.plan.matched)
        legs = enumerate(self.plan.by_source, first)
        whens = [SqlText.of(f" WHEN {_PAIR_LEG} <> {_ALONE} THEN {_PAIR_LEG}")]
        whens += [when(leg.condition, number) for number, leg in legs]
        setting = self._setting(
            self.plan.by_source, first, SqlText.of(TARGET, f" AS {self._alias}")
        )
        leg_of = SqlText.of(acting(whens), f" AS {LEG}")
        casts = Casts(self.job, self.table)
        values = {
            c.name: self._new(casts, c, setting, LEG, SqlText.of(f"{_NEW}{i}"))
            for i, c in enumerate(self._written)
        }
        around = SqlText.of("FROM ", _JOINED, f" AS {self._alias}")
        return casts.select([PARTITION, *CHANGED_ROW_ID, leg_of, *extra], values, around)

    # -- with the rows to insert -------------------------------------------------------------------

    @property
    def is_plain(self) -> bool:
        """Whether the clauses that insert have no subquery, and no star for all columns.

        In the query of `with_inserts`, a star would stand for more columns than the source has.
        """
        texts = [v.value for leg in self.plan.not_matched for v in leg.values]
        texts += [leg.condition for leg in self.plan.not_matched if leg.condition is not None]
        parts = [part for text in texts for part in text.parts]
        return all(isinstance(part, str) and not has_star(part) for part in parts)

    def with_inserts(
        self, joined: DataFrame, carried: Sequence[str], source: DataFrame
    ) -> DataFrame:
        """The rows on which a leg acts, among them those that are to be inserted.

        ``joined`` are joined rows, in which rows of the source without a match keep their values in
        the columns ``carried``. The legs that insert are numbered behind the others. Their clauses
        know the source alone, so they stand in a query around that of the pairs, under its alias.
        """
        first, table = len(self.plan.changing), self.table
        ids = [PARTITION, *CHANGED_ROW_ID]
        there = {column.name for column in self._written}
        old = [
            quote(c.name) if c.name in there else f"CAST(NULL AS {spark_type(c.type)})"
            for c in table.columns
        ]
        new = [f"{_NEW}{index}" for index in range(len(old))]
        copies = [f"{value} AS {name}" for value, name in zip(old, new, strict=True)]
        named = select(joined, [*ids, f"{LEG} AS {_PAIR_LEG}", *copies, *carried])
        names = source.columns if carried else []
        self.job.inputs[_JOINED.name] = named.toDF(*ids, _PAIR_LEG, *new, *names)
        legs = list(enumerate(self.plan.not_matched, first))
        whens = [when(leg.condition, number) for number, leg in legs]
        leg_of = SqlText.of(
            f"CASE WHEN {PARTITION} IS NULL THEN ", acting(whens),
            f" ELSE {_PAIR_LEG} END AS {LEG}",
        )  # fmt: skip
        setting = [(number, self._inserted(leg)) for number, leg in legs]
        casts = Casts(self.job, table)
        # A clause must not find the new value of one column by its name, for that of another.
        values = {
            f"{_VALUE}{index}": self._new(casts, c, setting, LEG, SqlText.of(kept))
            for index, (c, kept) in enumerate(zip(table.columns, new, strict=True))
        }
        text = SqlText.of("FROM ", _JOINED, f" AS {self.source}")
        rows = casts.select([*ids, leg_of], values, text).where(f"{LEG} >= 0")
        rows = rows.toDF(*ids, LEG, *(column.name for column in table.columns))
        return checked(self.job, table, rows, f"{LEG} >= {first}") if legs else rows

    def _inserted(self, leg: InsertLeg) -> Mapping[str, SqlText]:
        """The value of every column in a row that the leg inserts."""
        values = {v.column: SqlText.of("(", v.value, "\n)") for v in leg.values}
        return {c.name: values.get(c.name, SqlText.of("NULL")) for c in self.table.columns}

    @property
    def _written(self) -> Sequence[Column]:
        """The columns of new versions of rows: all of them, if a leg updates."""
        if self.plan.moves:
            return self.table.all_columns
        if not any(isinstance(leg, UpdateLeg) for leg in self.plan.changing):
            return ()
        return [column for column in self.table.columns if column.name not in self.given]

    def _setting(
        self, legs: Sequence[UpdateLeg | DeleteLeg], first: int, source: SqlText
    ) -> Setting:
        """What the legs set, counted from ``first``. ``source`` is the FROM clause of values."""
        found = []
        for number, leg in enumerate(legs, first):
            if isinstance(leg, UpdateLeg):
                values = whole_values(leg.assignments, self.plan.alias, self.table)
                found.append((number, with_named_fields(self.job, values, self.table, source)))
        return found

    def _other(self, column: Column, setting: Setting) -> SqlText:
        """The column's value where no leg sets it. NULL if only rows without a new version have it.

        A column whose old values nobody asks for is not read.
        """
        if all(column.name in values for _, values in setting):
            return stored(SqlText.of("NULL"), column)
        return self._old(column)

    def _old(self, column: Column) -> SqlText:
        return kept(self.plan.alias, column)

    def _new(
        self, casts: Casts, column: Column, setting: Setting, leg: str, old: SqlText
    ) -> SqlText:
        """The column's value after the leg whose number stands in ``leg``."""
        # Evaluated only where the leg acts: elsewhere the value might not even fit.
        acts = [
            (f"{leg} = {n}", given[column.name]) for n, given in setting if column.name in given
        ]
        whens = [
            SqlText.of(f" WHEN {acting} THEN ", casts.stored(value, column, acting))
            for acting, value in acts
        ]
        old = casts.kept(old, column)
        return SqlText.of("CASE", *whens, " ELSE ", old, " END") if whens else old


def acting(whens: Sequence[SqlText]) -> SqlText:
    """The number of the leg that acts on a row, computed where it stands.

    Spark would filter rows by the number before it joins them, if it knew that the number is always
    the same. So it would ask clauses about rows without a match, for which they may fail.
    """
    first = " WHEN spark_partition_id() < 0 THEN -1"  # never true
    return SqlText.of("CASE", first, *whens, " ELSE -1 END")


def when(condition: SqlText | None, number: int) -> SqlText:
    """The branch for a leg. AND makes a bare NULL a boolean, which holds for no row."""
    holds = (
        SqlText.of("true") if condition is None else SqlText.of("((", condition, "\n) AND true)")
    )
    return SqlText.of(" WHEN ", holds, f" THEN {number}")
