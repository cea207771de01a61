"""MERGE: one join of target and source gives the rows that every leg writes.

A source that fits into the driver is collected first, which also fixes its rows. They are numbered,
the join tells which of them matched, and the others are inserted without a second scan. A larger
source is an outer side of the join, whose rows are moved to their writers once. The target is an
outer side if there are clauses for rows that no source row matches. Which clause acts on a row, and
the row's new values, come from one evaluation: a clause's condition stands once in the query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.engines.changes import LEG, PARTITION, ChangeLeg, kept_timestamps
from acidsql.engines.matches import KEY, SOURCE_ROW, Ambiguous, Matches
from acidsql.engines.output import OutputFile, Target
from acidsql.engines.rows import CHANGED_ROW_ID
from acidsql.engines.spark.arrow import relaxed
from acidsql.engines.spark.changed_rows import Changes, Written
from acidsql.engines.spark.evaluation import evaluated, has_limit, is_deterministic
from acidsql.engines.spark.fields import in_order, with_named_fields
from acidsql.engines.spark.insert import placed_rows, write_inserted_rows
from acidsql.engines.spark.job import Job, collect_source, parallelism
from acidsql.engines.spark.local_frame import local_frame
from acidsql.engines.spark.read import Scan, ScanRequest
from acidsql.engines.spark.settings import ansi, configured
from acidsql.engines.spark.values import kept, stored
from acidsql.errors import CardinalityError
from acidsql.model.names import quote_identifier as quote
from acidsql.model.predicate import Predicate
from acidsql.model.table import Column, Table
from acidsql.model.types import INTEGER_BITS, DecimalType, PrimitiveType
from acidsql.plans.merge import DeleteLeg, InsertLeg, MergePlan, UpdateLeg
from acidsql.plans.sql_text import InputSource, SqlText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

_TARGET = InputSource(name="target")
_SOURCE = InputSource(name="source")
_JOINED = InputSource(name="joined")
_CARRIED = "__acidsql_carried"
_THERE = "__acidsql_there"
"""A column of the source that is never null: null behind an outer join, it says there is no row."""

_NEW = "__acidsql_new"
_PAIR_LEG = "__acidsql_pair"
_ALONE = -2
"""The number that stands for a leg in a row of the target without a match."""

_JOINS = {
    (False, False): "INNER",
    (False, True): "RIGHT OUTER",
    (True, False): "LEFT OUTER",
    (True, True): "FULL OUTER",
}
"""By whether there are legs for rows of the target alone, and for rows of the source alone."""


_LISTED = 64
"""Up to so many different keys are listed for the scan, which then yields few rows but matches."""

_FEW_MATCHES = 100_000
"""Source rows with keys that, by all likelihood, match no more than the driver can hold."""

_DEDUPLICATE = (
    "Keep one row per key: SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {columns}"
    " ORDER BY …) AS n FROM {source}) WHERE n = 1."
)


def run_merge(plan: MergePlan, job: Job, target: Target) -> list[OutputFile]:
    """The legs' deltas, not yet published."""
    # The acting leg has an alias, by which the new values ask for it.
    aliases = configured(job.spark, "spark.sql.lateralColumnAlias.enableImplicitResolution", "true")
    with ansi(job.spark), aliases:
        source = relaxed(job.sql(plan.source))
        rows = collect_source(source) if _collectable(source) else None
        merge = _Merge(plan, job, target)
        return merge.with_collected(source, rows) if rows is not None else merge.with_large(source)


def _collectable(source: DataFrame) -> bool:
    """Whether the source survives a round trip through Arrow: distinct names, known types."""
    names = [name.lower() for name in source.columns]
    return len(set(names)) == len(names) and _has_arrow_type(source.schema)


def _has_arrow_type(kind: DataType) -> bool:
    from pyspark.sql import types  # noqa: PLC0415

    match kind:
        case types.StructType():
            several = len(set(kind.names)) < len(kind.names)
            return not several and all(_has_arrow_type(f.dataType) for f in kind.fields)
        case types.ArrayType():
            return _has_arrow_type(kind.elementType)
        case types.MapType():
            return _has_arrow_type(kind.keyType) and _has_arrow_type(kind.valueType)
        case types.DayTimeIntervalType():
            return True
        case _:
            others = (types.NullType, types.AnsiIntervalType, types.CalendarIntervalType)
            return not isinstance(kind, (*others, types.VariantType, types.UserDefinedType))


class _Merge:
    def __init__(self, plan: MergePlan, job: Job, target: Target) -> None:
        self.plan = plan
        self.job = job
        self.target = target
        self.table: Table = job.context.tables[plan.table].table
        self.legs = [
            ChangeLeg(leg.statement_id, is_update=True, kept=self._kept(leg))
            if isinstance(leg, UpdateLeg)
            else ChangeLeg(leg.statement_id, is_update=False)
            for leg in plan.changing
        ]

    # -- a source the driver can hold --------------------------------------------------------------

    def with_collected(self, source: DataFrame, rows: pa.Table) -> list[OutputFile]:
        """One scan of the target, pruned by the source's keys and joined with its rows."""
        numbered = rows.append_column(SOURCE_ROW, pa.array(np.arange(rows.num_rows)))
        by_source = bool(self.plan.by_source)
        predicates = () if by_source else tuple(_key_predicates(self.plan, self.table, rows))
        scan = self._scan(predicates)
        files: list[OutputFile] = []
        matched = np.zeros(rows.num_rows, bool)
        if scan.selection.inserts and (rows.num_rows or by_source):
            frame = self._local(source, numbered)
            self.job.inputs |= {_TARGET.name: scan.frame, _SOURCE.name: _small(frame, predicates)}
            joined = self._joined({SOURCE_ROW: f"{self._source}.{SOURCE_ROW}"}, SOURCE_ROW)
            # A match tells, too, which source rows are not to be inserted.
            matches = f" OR {SOURCE_ROW} IS NOT NULL" if self.plan.not_matched else ""
            changes = joined.where(f"{LEG} >= 0{matches}")
            few = bool(self.plan.keys) and rows.num_rows <= _FEW_MATCHES and not by_source
            written = self._checked(self._matched(scan).write(changes, few=few))
            files, matched[written.hits] = written.files, True
        if not self.plan.not_matched or matched.all():
            return files
        left = self._local(source, numbered.filter(pa.array(~matched)))
        return files + self._inserted(left, are_few=True)

    def _local(self, source: DataFrame, rows: pa.Table) -> DataFrame:
        from pyspark.sql.types import LongType, StructField, StructType  # noqa: PLC0415

        schema = StructType([*source.schema.fields, StructField(SOURCE_ROW, LongType())])
        return local_frame(self.job.spark, rows, schema)

    # -- a source of any size ----------------------------------------------------------------------

    def with_large(self, source: DataFrame) -> list[OutputFile]:
        """One join from the source's side."""
        if is_deterministic(source) and not has_limit(source):
            return self._with_fixed(source)
        # The join moves the source's rows by their keys, and several jobs read what it gives. If
        # rows of a lost task were computed again with other keys, some would be missing or there
        # twice.
        with evaluated(source) as once:
            return self._with_fixed(once)

    def _with_fixed(self, source: DataFrame) -> list[OutputFile]:
        scan = self._scan(())
        inserts = bool(self.plan.not_matched)
        carried = [f"{_CARRIED}{i}" for i in range(len(source.columns))] if inserts else []
        self.job.inputs |= {_TARGET.name: scan.frame, _SOURCE.name: _carrying(source, carried)}
        changes = self._matched(scan)
        joined = self._joined({name: self._left_alone(name) for name in carried}, _THERE)
        if not inserts:
            return self._checked(changes.write(joined.where(f"{LEG} >= 0"), few=False)).files
        wanted = joined.where(f"{LEG} >= 0 OR {PARTITION} IS NULL")
        with changes.moved(wanted, parallelism(wanted)) as rows:
            acting = rows.frame.where(f"{LEG} >= 0").drop(*carried)
            files = self._checked(changes.write_moved(rows, acting)).files
            left = rows.frame.where(f"{PARTITION} IS NULL").select(*carried)
            return files + self._inserted(left.toDF(*source.columns), are_few=False)

    def _left_alone(self, name: str) -> str:
        """A column of source rows without a match, null in others: these have been joined."""
        return f"CASE WHEN {self._is_unmatched} THEN {self._source}.{name} END"

    def _matched(self, scan: Scan) -> Changes:
        keys = [key.target for key in self.plan.keys]
        return Changes(scan, self.target, self.legs, partial(Matches, self.legs, keys))

    def _checked(self, written: Written) -> Written:
        """What was written; CardinalityError if one of several matches of a row updates it."""
        if written.ambiguous.count:
            raise _ambiguous(written.ambiguous, self.plan)
        return written

    # -- texts -------------------------------------------------------------------------------------

    @property
    def _source(self) -> str:
        return quote(self.plan.source_alias)

    def _scan(self, predicates: tuple[Predicate, ...]) -> Scan:
        request = ScanRequest(
            row_id=self.plan.row_id, key=True, predicates=self.plan.predicates + predicates
        )
        return self.job.scan(self.plan.table, request)

    @property
    def _alias(self) -> str:
        return quote(self.plan.alias)

    @property
    def _is_unmatched(self) -> str:
        """True of a source row without a match."""
        return f"{self._alias}.{PARTITION} IS NULL"

    def _joined(self, extra: Mapping[str, str], there: str) -> DataFrame:
        """The joined rows: row ids, `LEG`, ``extra`` by name, new values, and keys for an error.

        LEG is -1 where no leg acts. The column ``there`` of the source is never null.
        """
        keys = [
            f"{self._alias}.{quote(k.target)} AS {KEY}{i}" for i, k in enumerate(self.plan.keys)
        ]
        named = [f"{value} AS {name}" for name, value in extra.items()]
        both = SqlText.of(_TARGET, f" AS {self._alias} CROSS JOIN ", _SOURCE, f" AS {self._source}")
        setting = self._setting(self.plan.matched, 0, both)
        if not self.plan.by_source:
            values = {c.name: self._new(c, setting, LEG, self._old(c)) for c in self._written}
            return self.job.sql(self._pairs(LEG, [*named, *keys], values, there))
        # The clauses for rows without a match know the columns of the target alone. So they stand
        # in a query around that of the pairs, under the alias of the target.
        values = {
            f"{_NEW}{index}": self._new(column, setting, _PAIR_LEG, self._old(column))
            for index, column in enumerate(self._written)
        }
        columns = [f"{self._alias}.{quote(c.name)}" for c in self.table.all_columns]
        columns += [f"{self._alias}.row__id"] if self.plan.row_id else []
        pairs = self._pairs(_PAIR_LEG, [*named, *columns], values, there)
        self.job.inputs[_JOINED.name] = self.job.sql(pairs)
        return self.job.sql(self._around_pairs([*extra, *keys]))

    def _pairs(
        self, leg: str, extra: Sequence[str], values: Mapping[str, SqlText], there: str
    ) -> SqlText:
        """The query of the pairs of rows, and of the rows without a match.

        The conditions of clauses stand in ``leg`` alone, and are evaluated there. New values, which
        depend on them, ask for ``leg`` by Spark's lateral column aliases.
        """
        whens = [SqlText.of(f" WHEN {self._is_unmatched} THEN -1")]
        if self.plan.by_source:
            whens.append(SqlText.of(f" WHEN {self._source}.{there} IS NULL THEN {_ALONE}"))
        whens += [_when(leg.condition, number) for number, leg in enumerate(self.plan.matched)]
        columns = [SqlText.of(f"{self._alias}.{name}") for name in (PARTITION, *CHANGED_ROW_ID)]
        columns += [SqlText.of("CASE", *whens, f" ELSE -1 END AS {leg}"), *map(SqlText.of, extra)]
        columns += [SqlText.of(value, f" AS {quote(name)}") for name, value in values.items()]
        # Collected rows that match nothing are known without the join.
        inserts = bool(self.plan.not_matched) and there == _THERE
        return SqlText.of(
            "SELECT ", SqlText.join(", ", columns), " FROM ", _TARGET,
            f" AS {self._alias} {_JOINS[bool(self.plan.by_source), inserts]} JOIN ", _SOURCE,
            f" AS {self._source} ON (", self.plan.on, "\n)",
        )  # fmt: skip

    def _around_pairs(self, extra: Sequence[str]) -> SqlText:
        """The query that lets the legs for rows without a match act."""
        first = len(self.plan.matched)
        legs = enumerate(self.plan.by_source, first)
        whens = [SqlText.of(f" WHEN {_PAIR_LEG} <> {_ALONE} THEN {_PAIR_LEG}")]
        whens += [_when(leg.condition, number) for number, leg in legs]
        setting = self._setting(
            self.plan.by_source, first, SqlText.of(_TARGET, f" AS {self._alias}")
        )
        columns = [SqlText.of(name) for name in (PARTITION, *CHANGED_ROW_ID)]
        columns += [SqlText.of("CASE", *whens, f" ELSE -1 END AS {LEG}"), *map(SqlText.of, extra)]
        columns += [
            SqlText.of(self._new(c, setting, LEG, SqlText.of(f"{_NEW}{i}")), f" AS {quote(c.name)}")
            for i, c in enumerate(self._written)
        ]
        return SqlText.of(
            "SELECT ", SqlText.join(", ", columns), " FROM ", _JOINED, f" AS {self._alias}"
        )

    @property
    def _written(self) -> Sequence[Column]:
        """The columns of new versions of rows: all of them, if a leg updates."""
        return self.table.columns if any(leg.is_update for leg in self.legs) else ()

    def _setting(
        self, legs: Sequence[UpdateLeg | DeleteLeg], first: int, source: SqlText
    ) -> list[tuple[int, dict[str, SqlText]]]:
        """The numbers of the legs that update, and the values that each sets, by column.

        The legs are counted from ``first``. ``source`` is the FROM clause for their values.
        """
        found = []
        for number, leg in enumerate(legs, first):
            if isinstance(leg, UpdateLeg):
                values = {a.column: a.value for a in leg.assignments}
                found.append((number, with_named_fields(self.job, values, self.table, source)))
        return found

    def _kept(self, leg: UpdateLeg) -> frozenset[str]:
        return kept_timestamps(self.table.columns, (a.column for a in leg.assignments))

    def _old(self, column: Column) -> SqlText:
        return kept(self.plan.alias, column)

    def _new(
        self,
        column: Column,
        setting: Sequence[tuple[int, Mapping[str, SqlText]]],
        leg: str,
        old: SqlText,
    ) -> SqlText:
        """The column's value after the leg whose number stands in ``leg``."""
        # Evaluated only where the leg acts: elsewhere the value might not even fit.
        whens = [
            SqlText.of(f" WHEN {leg} = {number} THEN ", stored(values[column.name], column))
            for number, values in setting
            if column.name in values
        ]
        return SqlText.of("CASE", *whens, " ELSE ", old, " END") if whens else old

    def _inserted(self, left: DataFrame, *, are_few: bool) -> list[OutputFile]:
        """The files of source rows without a match."""
        legs = self.plan.not_matched
        if len(legs) == 1:
            return self._insert(legs[0], legs[0].condition, left, are_few=are_few)
        self.job.inputs[_SOURCE.name] = left
        whens = [_when(leg.condition, number) for number, leg in enumerate(legs)]
        numbered = self.job.sql(
            SqlText.of(
                "SELECT *, CASE", *whens, f" ELSE -1 END AS {LEG} FROM ", _SOURCE,
                f" AS {self._source}",
            )
        )  # fmt: skip
        files = []
        # Each leg reads the rows in jobs of its own. A condition like rand() < 0.5 is asked once.
        with evaluated(numbered) as once:
            for number, leg in enumerate(legs):
                rows = once.where(f"{LEG} = {number}").drop(LEG)
                files += self._insert(leg, None, rows, are_few=are_few)
        return files

    def _insert(
        self, leg: InsertLeg, condition: SqlText | None, left: DataFrame, *, are_few: bool
    ) -> list[OutputFile]:
        placed = self._placed(leg, condition, left)
        return write_inserted_rows(
            placed, self.table, self.target, leg.statement_id, are_few=are_few
        )

    def _placed(self, leg: InsertLeg, condition: SqlText | None, left: DataFrame) -> DataFrame:
        """The rows to insert. Without a match, their values come from the source alone."""
        self.job.inputs[_SOURCE.name] = left
        where = SqlText.of(" WHERE ", condition) if condition else SqlText.of("")
        columns = [SqlText.of("(", v.value, f"\n) AS __v{i}") for i, v in enumerate(leg.values)]
        kinds = {c.name: c.type for c in self.table.all_columns}
        rows = self.job.sql(
            SqlText.of(
                "SELECT ",
                SqlText.join(", ", columns),
                " FROM ",
                _SOURCE,
                f" AS {self._source}",
                where,
            )
        )
        values = {
            v.column: in_order(SqlText.of(field.name), v.column, kinds[v.column], field.dataType)
            for v, field in zip(leg.values, rows.schema.fields, strict=True)
        }
        return placed_rows(self.job, self.table, rows, values, {})


def _carrying(source: DataFrame, names: Sequence[str]) -> DataFrame:
    """The source with `_THERE`, and with a copy of each column under one of ``names``, if given.

    No other column has one of ``names``. The source's own names may not be unique.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    if names:
        copies = [f"{copy} as {quote(c)}" for c, copy in zip(source.columns, names, strict=True)]
        source = source.toDF(*names).selectExpr(*copies, *names)
    return source.select("*", F.lit(True).alias(_THERE))


def _when(condition: SqlText | None, number: int) -> SqlText:
    """The branch for a leg. AND makes a bare NULL a boolean, which holds for no row."""
    holds = (
        SqlText.of("true") if condition is None else SqlText.of("((", condition, "\n) AND true)")
    )
    return SqlText.of(" WHEN ", holds, f" THEN {number}")


def _key_predicates(plan: MergePlan, table: Table, rows: pa.Table) -> Iterator[Predicate]:
    """Predicates on the target: only rows with a source key can match.

    Many keys are told by the least and the greatest one.
    """
    names = {name.lower(): name for name in rows.column_names}
    for key in plan.keys:
        column, name = table.column(key.target), names.get(key.source.lower())
        if column is None or name is None or not _bounded(column, rows.column(name).type):
            continue
        keys = pc.unique(rows.column(name).drop_null())
        bounds = pc.min_max(keys)
        try:
            few = keys.to_pylist() if len(keys) <= _LISTED else []
            low, high = bounds["min"].as_py(), bounds["max"].as_py()
        except (OverflowError, ValueError):
            continue  # a date beyond Python's years
        text = str if not isinstance(column.type, DecimalType) else (lambda v: f"{v:f}")
        if few:
            yield Predicate(column=column.name, operator="in", values=tuple(map(text, few)))
        elif low is not None:
            yield Predicate(column=column.name, operator=">=", values=(text(low),))
            yield Predicate(column=column.name, operator="<=", values=(text(high),))


def _small(source: DataFrame, predicates: Sequence[Predicate]) -> DataFrame:
    """The source as a join is to take it: sent to every task, or compared with each row there.

    To send it takes a job, but rows are found by hash. Where the keys are listed, the scan yields
    so few other rows that comparing is faster.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    if any(p.operator == "in" for p in predicates):
        return source.coalesce(1).hint("shuffle_replicate_nl")
    return F.broadcast(source)


def _bounded(column: Column, kind: pa.DataType) -> bool:
    """Whether target and source compare as the same kind of value, without a conversion."""
    match column.type:
        case PrimitiveType(name) if name in INTEGER_BITS:
            return bool(pa.types.is_integer(kind))
        case PrimitiveType("date"):
            return bool(pa.types.is_date32(kind))
        case PrimitiveType("string"):
            return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
        case DecimalType():
            return bool(pa.types.is_decimal(kind))
    return False


def _ambiguous(rows: Ambiguous, plan: MergePlan) -> CardinalityError:
    columns = ", ".join(key.source for key in plan.keys) or "…"
    return CardinalityError(
        "Cardinality Violation in Merge statement: several source rows would change one row of"
        f" {plan.table}, at least one of them by UPDATE",
        detail=f"Number of such rows: {rows.count}. For example {'; '.join(rows.samples)}.",
        hint=_DEDUPLICATE.format(columns=columns, source=plan.source_alias),
    )
