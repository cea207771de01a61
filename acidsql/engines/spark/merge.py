"""MERGE: one join of target and source gives the rows that every leg writes.

A source that fits into the driver is collected first, which also fixes its rows. They are numbered,
the join tells which of them matched, and the others are inserted without a second scan. Values that
are columns of such a source do not go through Spark (`source_columns`). A larger source is an outer
side of the join, whose rows are moved to their writers once. The target is an outer side if there
are clauses for rows that no source row matches. Which clause acts on a row, and the row's new
values, come from one evaluation: a clause's condition stands once in the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from acidsql.engines.changes import LEG, PARTITION, ChangeLeg, kept_timestamps
from acidsql.engines.matches import SOURCE_ROW, Matches
from acidsql.engines.spark.arrow import relaxed, survives_arrow
from acidsql.engines.spark.bucket_number import bucket_number
from acidsql.engines.spark.changed_rows import OLD_BUCKET, Changes, Written
from acidsql.engines.spark.encoded_changes import can_encode_versions
from acidsql.engines.spark.encoding import can_encode, column_names
from acidsql.engines.spark.evaluation import evaluated
from acidsql.engines.spark.insert import (
    moved_rows,
    write_inserted_rows,
)
from acidsql.engines.spark.job import Job, collect_source, parallelism
from acidsql.engines.spark.known_keys import KnownKeys
from acidsql.engines.spark.local_frame import local_frame
from acidsql.engines.spark.merge_candidates import candidates
from acidsql.engines.spark.merge_inserts import Inserts
from acidsql.engines.spark.merge_pairs import Pairs
from acidsql.engines.spark.query_plan import (
    comes_from_files,
    has_limit,
    is_deterministic,
    is_row_by_row,
)
from acidsql.engines.spark.read import Scan, ScanRequest
from acidsql.engines.spark.settings import configured
from acidsql.engines.spark.source_clauses import acting_legs
from acidsql.engines.spark.source_columns import (
    SourceColumns,
    with_source_values,
)
from acidsql.engines.spark.source_keys import are_listed, key_predicates
from acidsql.engines.target import OutputFile, Target
from acidsql.errors import AnalysisError
from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.names import quote_identifier as quote
from acidsql.model.predicate import Predicate
from acidsql.model.table import Table
from acidsql.plans.merge import MergePlan, UpdateLeg

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

_CARRIED = "__acidsql_carried"
_THERE = "__acidsql_there"
"""A column that a large source gets, and that is never null."""

_FEW_MATCHES = 100_000
"""Source rows with keys that, by all likelihood, match no more than the driver can hold."""

_COMPARED = 16
"""Up to so many source rows may be compared with each row of the scan."""

_DEDUPLICATE = (
    "Keep one row per key: SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {columns}"
    " ORDER BY …) AS n FROM {source}) WHERE n = 1."
)


def run_merge(plan: MergePlan, job: Job, target: Target) -> list[OutputFile]:
    """The legs' deltas, not yet published."""
    # The acting leg has an alias, by which the new values ask for it.
    aliases = configured(job.spark, "spark.sql.lateralColumnAlias.enableImplicitResolution", "true")
    with aliases:
        source = relaxed(job.sql(plan.source))
        _require_columns(plan, source)
        rows = collect_source(source) if survives_arrow(source.schema) else None
        merge = _Merge(plan, job, target)
        return merge.with_collected(source, rows) if rows is not None else merge.with_large(source)


def _require_columns(plan: MergePlan, source: DataFrame) -> None:
    """AnalysisError if the source has other columns than those that the plan was made for."""
    if plan.source_columns is None:
        return
    known = {*plan.source_columns}
    hidden = {column.value for column in HiddenColumn} - known
    names = [name.lower() for name in source.columns if name not in hidden]
    if names != list(plan.source_columns):
        raise AnalysisError(
            f'the columns of the source "{plan.source_alias}" changed while the statement ran',
            hint="Run the statement again.",
        )


@dataclass(frozen=True, slots=True)
class _Collected:
    """A source whose ``rows`` the driver holds, numbered by SOURCE_ROW.

    Its ``keys`` prune the ``scan`` of the target; ``keys_listed`` tells if they are listed there.
    They are None if values are converted to be compared, or if rows without a match matter, too.
    """

    columns: SourceColumns
    rows: pa.Table
    scan: Scan
    keys_listed: bool
    keys: KnownKeys | None

    def near(self) -> DataFrame | None:
        """The rows of the scan that may have one of the keys; None if that is unknown."""
        return self.keys.near(self.scan.frame) if self.keys else None

    @property
    def is_compared(self) -> bool:
        """Whether a join compares each row of the scan with each of the source.

        Any other join takes a job, to send the source to all tasks. To compare takes none, but a
        row of the scan takes as many comparisons as the source has rows. That is little only where
        listed keys have left few rows but matches.
        """
        return self.keys_listed and self.rows.num_rows <= _COMPARED


class _Merge:
    def __init__(self, plan: MergePlan, job: Job, target: Target) -> None:
        self.plan = plan
        self.job = job
        self.target = target
        self.table: Table = job.context.tables[plan.table].table
        self.pairs = Pairs(plan, job)
        self.inserts = Inserts(plan, job, target)
        self.legs = [
            ChangeLeg(leg.statement_id, is_update=True, kept=self._kept(leg), moves=leg.moves)
            if isinstance(leg, UpdateLeg)
            else ChangeLeg(leg.statement_id, is_update=False)
            for leg in plan.changing
        ]

    def _kept(self, leg: UpdateLeg) -> frozenset[str]:
        return kept_timestamps(
            self.table.columns, (a.column for a in leg.assignments if not a.fields)
        )

    # -- a source the driver can hold --------------------------------------------------------------

    def with_collected(self, frame: DataFrame, rows: pa.Table) -> list[OutputFile]:
        """One scan of the target, pruned by the source's keys and joined with its rows."""
        source = self._collected(frame, rows)
        by_source = bool(self.plan.by_source)
        files: list[OutputFile] = []
        matched = np.zeros(rows.num_rows, bool)
        if source.scan.selection.inserts and (rows.num_rows or by_source):
            written = self._with_given(source)
            if written is None:
                few = bool(self.plan.keys) and rows.num_rows <= _FEW_MATCHES and not by_source
                joined = self._joined(source, self.pairs, source.columns.fields)
                with self._once_if_moved(joined) as changes:
                    written = self._checked(self._matched(source.scan).write(changes, few=few))
                    files += self._moved(changes, are_few=few)
            files += written.files
            matched[written.hits] = True
        else:  # a mistake in a clause is one whatever rows there are
            self._joined(source, self.pairs, source.columns.fields)
        return files + self._inserted_collected(source, ~matched)

    def _collected(self, frame: DataFrame, rows: pa.Table) -> _Collected:
        """The source, and what its ``rows`` tell of the rows of the target that they match."""
        plan, numbered = self.plan, rows.append_column(SOURCE_ROW, pa.array(np.arange(len(rows))))
        predicates = () if plan.by_source else tuple(key_predicates(plan.keys, self.table, rows))
        scan = self._scan(predicates)
        keys = None
        if scan.selection.inserts and rows.num_rows and not plan.by_source:
            keys = KnownKeys.of(plan, scan.frame.schema, frame.schema, numbered)
        return _Collected(
            columns=SourceColumns(plan, self.table, frame.schema),
            rows=numbered,
            scan=scan,
            keys_listed=are_listed(plan.keys, predicates),
            keys=keys,
        )

    def _joined(self, source: _Collected, pairs: Pairs, fields: Iterable[StructField]) -> DataFrame:
        """The rows to change, and the matches that tell which rows are not to be inserted.

        ``fields`` are the columns of the source that the join gets.
        """
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        frame, target = self._local(fields, source.rows), source.scan.frame
        if source.is_compared:
            frame = frame.coalesce(1).hint("shuffle_replicate_nl")
        else:
            frame, target = F.broadcast(frame), source.near() or target
        extra = {SOURCE_ROW: f"{pairs.source}.{SOURCE_ROW}"}
        joined = pairs.joined(target, frame, extra, SOURCE_ROW)
        matches = f" OR {SOURCE_ROW} IS NOT NULL" if self.plan.not_matched else ""
        return joined.where(f"{LEG} >= 0{matches}")

    def _with_given(self, source: _Collected) -> Written | None:
        """Write new versions whose values the driver has; None if they have others, or are many."""
        if not self.plan.keys:
            return None
        given = source.columns.updating()
        changes = self._matched(source.scan)
        try:
            found = self._matches(source, given, changes)
        except AnalysisError:
            return None  # The join of all columns makes the same mistake, and hints at them.
        whole = None if found is None else with_source_values(found, source.rows, given)
        return None if whole is None else self._checked(changes.write_collected(whole))

    def _matches(
        self, source: _Collected, given: Mapping[str, str], changes: Changes
    ) -> pa.Table | None:
        """The matches, without the columns ``given``. None if nothing is, or if they are many."""
        pairs, keys = replace(self.pairs, given=given), source.keys
        if keys is not None and source.columns.is_told_by_keys() and keys.are_unique():
            near = source.near()
            if near is not None:
                rows = changes.collected(pairs.alone(near))
                return None if rows is None else self._with_legs(source, keys.matches(rows))
        if not given:
            return None
        return changes.collected(self._joined(source, pairs, source.columns.asked(given)))

    def _with_legs(self, source: _Collected, matches: pa.Table) -> pa.Table | None:
        """The matches with the legs that act on them, those that ask for the source among them.

        None if that is not known.
        """
        legs = self.plan.matched
        if all(leg.asks_source is None for leg in legs):
            return matches
        fields = source.columns.asked_by(legs) or ()
        rows = source.rows.select([f.name for f in fields]).take(matches.column(SOURCE_ROW))
        told = matches.column(LEG).to_numpy().astype(np.int64)
        acting = acting_legs(self.job, source.columns, legs, rows, told)
        place = matches.column_names.index(LEG)
        return None if acting is None else matches.set_column(place, LEG, pa.array(acting))

    def _inserted_collected(self, source: _Collected, left: np.ndarray) -> list[OutputFile]:
        """The files of the source's rows without a match, which ``left`` marks."""
        legs, rows = self.plan.not_matched, source.rows.filter(pa.array(left))
        files = self.inserts.write_collected(source.columns, rows)
        if files is not None:
            return files
        frame = self._local(source.columns.fields, rows).drop(SOURCE_ROW)  # no star shows it
        if rows.num_rows:
            return self.inserts.write(frame, are_few=True)
        for leg in legs:  # a mistake in a clause is one whatever rows there are
            self.inserts.placed(leg, leg.condition, frame)
        return []

    def _local(self, fields: Iterable[StructField], numbered: pa.Table) -> DataFrame:
        """These columns of the source's rows, and SOURCE_ROW."""
        from pyspark.sql.types import LongType, StructField, StructType  # noqa: PLC0415

        schema = StructType([*fields, StructField(SOURCE_ROW, LongType())])
        return local_frame(self.job.spark, numbered.select(schema.names), schema)

    # -- a source of any size ----------------------------------------------------------------------

    def with_large(self, source: DataFrame) -> list[OutputFile]:
        """One join from the source's side."""
        # The rows are moved by their keys, and several jobs read what a shuffle gives. If rows of a
        # lost task were computed again with other keys, some would be missing or there twice.
        fixed = is_deterministic(source) and not has_limit(source)
        cheap = not fixed or comes_from_files(source)
        scan = self._scan(())
        with (
            nullcontext(source) if fixed else evaluated(source) as once,
            candidates(self.job, self.plan, scan.frame, once, cheap=cheap) as (target, rows),
        ):
            return self._with_fixed(scan, target, rows)

    def _with_fixed(self, scan: Scan, target: DataFrame, source: DataFrame) -> list[OutputFile]:
        inserts = bool(self.plan.not_matched)
        carried = [f"{_CARRIED}{i}" for i in range(len(source.columns))] if inserts else []
        changes = self._matched(scan)
        there, kept = _carrying(source, carried)
        extra = {name: self._left_alone(of) for name, of in zip(carried, kept, strict=True)}
        joined = self.pairs.joined(target, there, extra, _THERE, keeps_source=inserts)
        encoded = self._encoded(joined, carried, source, changes)
        if encoded is not None:
            return encoded
        if not inserts:
            with self._once_if_moved(joined.where(f"{LEG} >= 0")) as acting:
                files = self._checked(changes.write(acting, few=False)).files
                return files + self._moved(acting, are_few=False)
        with (
            self._once_if_moved(joined.where(f"{LEG} >= 0 OR {PARTITION} IS NULL")) as wanted,
            changes.moved(wanted, parallelism(wanted)) as placed,
        ):
            acting = placed.frame.where(f"{LEG} >= 0").drop(*carried)
            files = self._checked(changes.write_moved(placed, acting)).files
            files += self._moved(wanted, are_few=False)
            left = placed.frame.where(f"{PARTITION} IS NULL").select(*carried)
            return files + self.inserts.write(left.toDF(*source.columns), are_few=False)

    def _encoded(
        self, joined: DataFrame, carried: Sequence[str], source: DataFrame, changes: Changes
    ) -> list[OutputFile] | None:
        """The files of all legs, whose rows Spark's writer encodes in one job.

        None if it does not, or if a row of the target has several matches, which the other way
        describes.
        """
        writes = bool(self.plan.not_matched) or any(leg.is_update for leg in self.legs)
        if not writes or self.plan.moves or self.plan.by_source or not self.pairs.is_plain:
            return None
        if not can_encode(joined, self.table, self.target):
            return None
        # Alone, a clause makes the mistakes that it makes where nothing is encoded.
        clauses = [self.inserts.placed(leg, leg.condition, source) for leg in self.plan.not_matched]
        if not all(map(is_row_by_row, clauses)):
            return None
        bucket = self._bucket() if self.table.bucketing else None
        if self.table.bucketing and bucket is None:
            return None
        rows = self.pairs.with_inserts(joined, carried, source)
        legs = len(self.legs) + len(self.plan.not_matched)
        if not can_encode_versions(rows, self.table, self.target, legs):
            return None
        changes = replace(changes, make_matches=partial(Matches, self.legs))
        inserting = [leg.statement_id for leg in self.plan.not_matched]
        written = changes.write_encoded(rows, inserting, bucket)
        return None if written is None or written.ambiguous.count else written.files

    def _bucket(self) -> Column | None:
        """The bucket of a new version or a new row; None if only Python computes it."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        new = bucket_number(self.job.spark, self.table, column_names(self.table))
        if new is None:
            return None
        return F.when(F.col(PARTITION).isNull(), new).otherwise(F.expr(OLD_BUCKET))

    @contextmanager
    def _once_if_moved(self, changes: DataFrame) -> Iterator[DataFrame]:
        """The changes; computed once if some rows move, because further jobs read those."""
        if not self.plan.moves:
            yield changes
            return
        with evaluated(changes) as once:
            yield once

    def _moved(self, changes: DataFrame, *, are_few: bool) -> list[OutputFile]:
        """The new versions of rows that move. No match is ambiguous, so each comes once."""
        files = []
        for number, leg in enumerate(self.plan.changing):
            if isinstance(leg, UpdateLeg) and leg.moves:
                rows = moved_rows(self.job, self.table, changes.where(f"{LEG} = {number}"))
                files += write_inserted_rows(
                    rows, self.table, self.target, leg.statement_id, are_few=are_few
                )
        return files

    def _left_alone(self, name: str) -> str:
        """A column of source rows without a match, null in others: these have been joined."""
        return f"CASE WHEN {self.pairs.is_unmatched} THEN {self.pairs.source}.{name} END"

    def _matched(self, scan: Scan) -> Changes:
        keys = [key.target for key in self.plan.keys]
        return Changes(self.table, scan, self.target, self.legs, partial(Matches, self.legs, keys))

    def _checked(self, written: Written) -> Written:
        """What was written; CardinalityError if one of several matches of a row updates it."""
        if written.ambiguous.count:
            columns = ", ".join(key.source for key in self.plan.keys) or "…"
            hint = _DEDUPLICATE.format(columns=columns, source=self.plan.source_alias)
            statement = self.plan.written_as or "MERGE"
            raise written.ambiguous.error(statement, self.plan.table, hint)
        return written

    def _scan(self, predicates: tuple[Predicate, ...]) -> Scan:
        request = ScanRequest(
            hidden=self.plan.hidden, key=True, predicates=self.plan.predicates + predicates
        )
        return self.job.scan(self.plan.table, request)


def _carrying(source: DataFrame, names: Sequence[str]) -> tuple[DataFrame, Sequence[str]]:
    """The source with `_THERE`, and what its columns are to be called, quoted, for ``names``.

    No column has one of ``names``. If the source's own names are not unique, there is a copy of
    each column under one of them.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    kept: Sequence[str] = [quote(name) for name in source.columns] if names else []
    if len({name.lower() for name in kept}) < len(kept):
        copies = [f"{copy} as {name}" for name, copy in zip(kept, names, strict=True)]
        source = source.toDF(*names).selectExpr(*copies, *names)
        kept = names
    return source.select("*", F.lit(True).alias(_THERE)), kept
