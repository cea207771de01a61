"""MERGE: one join of target and source gives the rows that every leg writes.

A source that fits into the driver is collected first, which also fixes its rows. They are numbered,
the join tells which of them matched, and the others are inserted without a second scan. A larger
source is the outer side of the join, whose rows are moved to their writers once. Which clause acts
on a row, and the row's new values, come from one evaluation: a clause's condition stands once in
the query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from acidsql.plans.merge import InsertLeg, MergePlan, UpdateLeg
from acidsql.plans.sql_text import InputSource, SqlText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

_TARGET = InputSource(name="target")
_SOURCE = InputSource(name="source")
_CARRIED = "__acidsql_carried"

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
        self.updates = [leg for leg in plan.matched if isinstance(leg, UpdateLeg)]
        self.legs = [
            ChangeLeg(leg.statement_id, is_update=True, kept=self._kept(leg))
            if isinstance(leg, UpdateLeg)
            else ChangeLeg(leg.statement_id, is_update=False)
            for leg in plan.matched
        ]

    # -- a source the driver can hold --------------------------------------------------------------

    def with_collected(self, source: DataFrame, rows: pa.Table) -> list[OutputFile]:
        """One scan of the target, pruned by the source's keys and joined with its rows."""
        numbered = rows.append_column(SOURCE_ROW, pa.array(np.arange(rows.num_rows)))
        predicates = tuple(_key_predicates(self.plan, self.table, rows))
        scan = self._scan(predicates)
        files: list[OutputFile] = []
        matched = np.zeros(rows.num_rows, bool)
        if scan.selection.inserts and rows.num_rows:
            frame = self._local(source, numbered)
            self.job.inputs |= {_TARGET.name: scan.frame, _SOURCE.name: _small(frame, predicates)}
            joined = self._changes("JOIN", [f"{self._source}.{SOURCE_ROW}"])
            few = bool(self.plan.keys) and rows.num_rows <= _FEW_MATCHES
            written = self._checked(self._matched(scan).write(joined, few=few))
            files, matched[written.hits] = written.files, True
        leg = self.plan.not_matched
        if leg is None or matched.all():
            return files
        left = self._local(source, numbered.filter(pa.array(~matched)))
        return files + write_inserted_rows(
            self._placed(leg, left), self.table, self.target, leg.statement_id, are_few=True
        )

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
        self.job.inputs |= {_TARGET.name: scan.frame, _SOURCE.name: source}
        changes, leg = self._matched(scan), self.plan.not_matched
        if leg is None:
            return self._checked(changes.write(self._changes("JOIN", []), few=False)).files
        carried = [f"{_CARRIED}{index}" for index in range(len(source.columns))]
        self.job.inputs[_SOURCE.name] = _with_copies(source, carried)
        joined = self._changes("RIGHT JOIN", [self._left_alone(name) for name in carried])
        with changes.moved(joined, parallelism(joined)) as rows:
            acting = rows.frame.where(f"{LEG} >= 0").drop(*carried)
            files = self._checked(changes.write_moved(rows, acting)).files
            left = rows.frame.where(f"{PARTITION} is null").select(*carried).toDF(*source.columns)
            placed = self._placed(leg, left)
            return files + write_inserted_rows(placed, self.table, self.target, leg.statement_id)

    def _left_alone(self, name: str) -> str:
        """A column of source rows without a match, null in others: these have been joined."""
        unmatched = f"{quote(self.plan.alias)}.{PARTITION} IS NULL"
        return f"CASE WHEN {unmatched} THEN {self._source}.{name} END AS {name}"

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

    def _changes(self, join: str, extra: Sequence[str]) -> DataFrame:
        """The joined rows that a leg acts on; all of them if rows without a match are inserted."""
        joined = self.job.sql(self._joined(join, extra))
        return joined.where(f"{LEG} >= 0") if self.plan.not_matched is None else joined

    def _joined(self, join: str, extra: Sequence[str]) -> SqlText:
        """The query of the joined rows: row ids, the acting leg or -1, new values, and keys for an
        error.

        The clauses' conditions stand in LEG alone, and are evaluated there. New values, which
        depend on them, ask for LEG by Spark's lateral column aliases.
        """
        alias = quote(self.plan.alias)
        columns: list[SqlText] = [
            SqlText.of(f"{alias}.{name}") for name in (PARTITION, *CHANGED_ROW_ID)
        ]
        columns += [SqlText.of(self._acting_leg(), f" AS {LEG}"), *map(SqlText.of, extra)]
        if self.updates:
            assigned = self._assigned(self.updates[0])
            columns += [self._new_value(c, assigned.get(c.name)) for c in self.table.columns]
        columns += [
            SqlText.of(f"{alias}.{quote(k.target)} AS {KEY}{i}")
            for i, k in enumerate(self.plan.keys)
        ]
        return SqlText.of(
            "SELECT ", SqlText.join(", ", columns), " FROM ", _TARGET, f" AS {alias} {join} ",
            _SOURCE, f" AS {self._source} ON (", self.plan.on, "\n)",
        )  # fmt: skip

    def _acting_leg(self) -> SqlText:
        whens = [
            SqlText.of(" WHEN ", _boolean(leg.condition), f" THEN {index}")
            for index, leg in enumerate(self.plan.matched)
        ]
        if not whens:
            return SqlText.of("-1")
        # A source row without a match is tested by no condition.
        unmatched = f" WHEN {quote(self.plan.alias)}.{PARTITION} IS NULL THEN -1"
        return SqlText.of("CASE", unmatched, *whens, " ELSE -1 END")

    def _kept(self, leg: UpdateLeg) -> frozenset[str]:
        return kept_timestamps(self.table.columns, (a.column for a in leg.assignments))

    def _assigned(self, leg: UpdateLeg) -> dict[str, SqlText]:
        """The values that the leg sets, by column."""
        values = {a.column: a.value for a in leg.assignments}
        target = SqlText.of(_TARGET, f" AS {quote(self.plan.alias)}")
        source = SqlText.of(_SOURCE, f" AS {self._source}")
        both = SqlText.of(target, " CROSS JOIN ", source)
        return with_named_fields(self.job, values, self.table, both)

    def _new_value(self, column: Column, value: SqlText | None) -> SqlText:
        leg = self.updates[0]
        old = kept(self.plan.alias, column)
        name = f" AS {quote(column.name)}"
        written = old if value is None else stored(value, column)
        if written == old:
            return SqlText.of(old, name)
        # Evaluated only where the leg acts: elsewhere the value might not even fit.
        number = self.plan.matched.index(leg)
        return SqlText.of(f"CASE WHEN {LEG} = {number} THEN ", written, " ELSE ", old, " END", name)

    def _placed(self, leg: InsertLeg, left: DataFrame) -> DataFrame:
        """The rows to insert. Without a match, their values come from the source alone."""
        self.job.inputs[_SOURCE.name] = left
        condition = SqlText.of(" WHERE ", leg.condition) if leg.condition else SqlText.of("")
        columns = [SqlText.of("(", v.value, f"\n) AS __v{i}") for i, v in enumerate(leg.values)]
        kinds = {c.name: c.type for c in self.table.all_columns}
        rows = self.job.sql(
            SqlText.of(
                "SELECT ",
                SqlText.join(", ", columns),
                " FROM ",
                _SOURCE,
                f" AS {self._source}",
                condition,
            )
        )
        values = {
            v.column: in_order(SqlText.of(field.name), v.column, kinds[v.column], field.dataType)
            for v, field in zip(leg.values, rows.schema.fields, strict=True)
        }
        return placed_rows(self.job, self.table, rows, values, {})


def _with_copies(source: DataFrame, names: Sequence[str]) -> DataFrame:
    """The source with each column twice: under its own name and under one of ``names``.

    No other column has one of ``names``. The source's own names may not be unique.
    """
    originals = zip(source.columns, names, strict=True)
    copies = [f"{copy} as {quote(name)}" for name, copy in originals]
    return source.toDF(*names).selectExpr(*copies, *names)


def _boolean(condition: SqlText | None) -> SqlText:
    """A clause's condition. AND makes a bare NULL a boolean, which holds for no row."""
    return SqlText.of("true") if condition is None else SqlText.of("((", condition, "\n) AND true)")


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
