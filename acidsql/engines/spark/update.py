"""UPDATE and DELETE: one scan yields the row ids, and the new values of an update."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from acidsql.engines.changes import LEG, PARTITION, ChangeLeg, kept_timestamps
from acidsql.engines.matches import Matches
from acidsql.engines.rows import CHANGED_ROW_ID
from acidsql.engines.spark.arrow import to_arrow
from acidsql.engines.spark.casts import Casts
from acidsql.engines.spark.changed_rows import Changes, names_rows
from acidsql.engines.spark.checks import checked
from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.evaluation import evaluated
from acidsql.engines.spark.fields import with_named_fields
from acidsql.engines.spark.insert import moved_rows, write_inserted_rows
from acidsql.engines.spark.job import Job, is_large
from acidsql.engines.spark.query_plan import calls_user_code
from acidsql.engines.spark.read import ScanRequest
from acidsql.engines.spark.set_fields import whole_values
from acidsql.engines.spark.values import boolean, kept
from acidsql.engines.target import OutputFile, Target
from acidsql.model.constraint import checks
from acidsql.model.ids import StatementId
from acidsql.model.names import quote_identifier as quote
from acidsql.model.table import Table
from acidsql.plans.delete import DeletePlan
from acidsql.plans.sql_text import InputSource, SqlText
from acidsql.plans.update import UpdatePlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TARGET = InputSource(name="target")

_DEDUPLICATE = (
    "Join each row with one row: group the sources by what WHERE compares, or number them with"
    " row_number() and keep n = 1."
)


def run_update(
    plan: UpdatePlan, job: Job, target: Target, statement_id: StatementId
) -> list[OutputFile]:
    """A delete delta and a delta, not yet published."""
    columns = job.context.tables[plan.table].table.columns
    kept = kept_timestamps(columns, (a.column for a in plan.assignments if not a.fields))
    leg = ChangeLeg(statement_id, is_update=True, kept=kept, moves=plan.moves)
    return _run(plan, job, target, leg)


def _new_values(plan: UpdatePlan | DeletePlan, job: Job, casts: Casts) -> dict[str, SqlText]:
    """The new value of every column of an UPDATE, by name; none for a DELETE."""
    if isinstance(plan, DeletePlan):
        return {}
    table = job.context.tables[plan.table].table
    assigned = whole_values(plan.assignments, plan.alias, table)
    new = with_named_fields(job, assigned, table, _sources(plan))
    columns = table.all_columns if plan.moves else table.columns
    return {
        c.name: casts.stored(new[c.name], c)
        if c.name in new
        else casts.kept(kept(plan.alias, c), c)
        for c in columns
    }


def _sources(plan: UpdatePlan | DeletePlan) -> SqlText:
    """The FROM clause: the target, behind the relations that are joined with it.

    Parentheses keep the joins of a relation apart from the others. None of them knows the target.
    """
    joined = [SqlText.of("(", relation, "\n)") for relation in plan.relations]
    target = SqlText.of(_TARGET, f" AS {quote(plan.alias)}")
    return SqlText.join(" CROSS JOIN ", [*joined, target])


def run_delete(
    plan: DeletePlan, job: Job, target: Target, statement_id: StatementId
) -> list[OutputFile]:
    """A delete delta, not yet published."""
    return _run(plan, job, target, ChangeLeg(statement_id, is_update=False))


def rows_of_partitions(plan: DeletePlan, job: Job) -> list[int]:
    """How many rows a DELETE of whole partitions finds in each of them."""
    scan = job.scan(plan.table, ScanRequest(key=True, predicates=plan.predicates))
    with clear_errors():
        counts = to_arrow(scan.frame.groupBy(PARTITION).count()).to_pylist()
    rows = [0] * len(scan.selection.partitions)
    for count in counts:
        rows[count[PARTITION]] = count["count"]
    return rows


def _run(
    plan: UpdatePlan | DeletePlan, job: Job, target: Target, leg: ChangeLeg
) -> list[OutputFile]:
    scan = job.scan(
        plan.table,
        ScanRequest(hidden=plan.hidden, key=True, predicates=plan.predicates),
    )
    job.inputs[_TARGET.name] = scan.frame
    ids = [f"{quote(plan.alias)}.{name}" for name in (PARTITION, *CHANGED_ROW_ID)]
    where = SqlText.of(" WHERE ", boolean(plan.where)) if plan.where else SqlText.of("")
    table = job.context.tables[plan.table].table
    casts = Casts(job, table)
    values = _new_values(plan, job, casts)
    changes = casts.select(
        [*ids, f"0 AS {LEG}"], values, SqlText.of("FROM ", _sources(plan), where)
    )
    if leg.is_update and not leg.moves:
        changes = checked(job, table, changes)
    # Asked only now, so that a mistake in the statement is one whatever rows there are.
    if not scan.selection.inserts:
        return []
    few = names_rows(plan.predicates, table)
    if not few and _is_simple_delete(plan, table) and not is_large(scan.selection):
        few = not calls_user_code(changes)
    matches = partial(Matches, [leg]) if plan.relations else None
    writer = Changes(table, scan, target, [leg], matches, _columns_set_everywhere(plan, table))
    if leg.moves:
        return _move(job, table, changes, writer, few=few)
    return _written(writer, changes, table, few=few)


def _columns_set_everywhere(plan: UpdatePlan | DeletePlan, table: Table) -> list[str]:
    """The columns that an UPDATE of all rows of partitions sets, in the order of the table.

    None are named if rows may be left out or come twice, if they go to other places, or if the
    values of the other columns must be looked at. A subquery may become a join that mixes the rows
    of all files, so that the new values of a file would have to be looked for everywhere.
    """
    if not isinstance(plan, UpdatePlan) or not plan.whole_partitions or plan.moves:
        return []
    if checks(table.constraints) or any(any(a.value.sources) for a in plan.assignments):
        return []
    names = {assignment.column for assignment in plan.assignments}
    return [column.name for column in table.columns if column.name in names]


def _is_simple_delete(plan: UpdatePlan | DeletePlan, table: Table) -> bool:
    """Whether a DELETE likely yields few bytes: some rows' ids, by a condition on the rows alone.

    A condition on nothing but partition columns takes all rows of partitions. If there are too many
    ids for the driver, the scan was in vain. Such a scan takes an eighth of the time of the DELETE.
    """
    if not isinstance(plan, DeletePlan) or plan.where is None or plan.relations:
        return False
    partitioned = {c.name for c in table.partition_columns}
    if plan.predicates and all(p.column in partitioned for p in plan.predicates):
        return False
    return all(isinstance(part, str) for part in plan.where.parts)


def _written(writer: Changes, changes: DataFrame, table: Table, *, few: bool) -> list[OutputFile]:
    """The files of the changes; CardinalityError if several matches update one row."""
    written = writer.write(changes, few=few)
    if written.ambiguous.count:
        raise written.ambiguous.error("UPDATE", table.name, _DEDUPLICATE)
    return written.files


def _move(
    job: Job, table: Table, changes: DataFrame, writer: Changes, *, few: bool
) -> list[OutputFile]:
    """Delete the old versions of rows, and insert the new ones where they belong now."""
    [leg] = writer.legs
    # Two jobs read the rows: the versions deleted and inserted must be those of the same rows.
    with evaluated(changes) as once:
        files = _written(writer, once.select(PARTITION, LEG, *CHANGED_ROW_ID), table, few=few)
        new = moved_rows(job, table, once)
        return files + write_inserted_rows(new, table, writer.target, leg.statement_id)
