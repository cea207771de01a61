"""Plan → text of a tree, for EXPLAIN and for goldens."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import assert_never

from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.sort_order import sort_order_text
from acidsql.model.table import TableKind
from acidsql.plans.analyze import AnalyzePlan
from acidsql.plans.check import CheckPlan
from acidsql.plans.compact import CompactPlan
from acidsql.plans.delete import DeletePlan
from acidsql.plans.insert import GivenRows, InsertPlan, LiteralRows, ValueRows
from acidsql.plans.load import LoadPlan
from acidsql.plans.merge import DeleteLeg, InsertLeg, MergePlan, UpdateLeg
from acidsql.plans.multi_insert import MultiInsertPlan
from acidsql.plans.plan import WritePlan, texts
from acidsql.plans.query import QueryPlan
from acidsql.plans.shared_source import SharedSource
from acidsql.plans.sql_text import Sample, SqlText, TableSource, ViewSource
from acidsql.plans.truncate import TruncatePlan
from acidsql.plans.update import SetColumn, UpdatePlan

_HIDDEN = {
    HiddenColumn.ROW_ID: "row ids",
    HiddenColumn.FILE_NAME: "file names",
    HiddenColumn.IS_DELETED: "marks of deleted rows",
}


def explain(plan: WritePlan | QueryPlan | CompactPlan | CheckPlan | AnalyzePlan) -> str:
    """The plan as a tree: a head, and a branch for everything that is read or written."""
    match plan:
        case QueryPlan():
            return tree("query", [*_query_lines(plan), *_view_lines(plan)])
        case CompactPlan():
            head = f"{plan.type} compaction of {plan.table}{_partition(plan)}"
            return tree(head, _compact_lines(plan))
        case CheckPlan():
            return tree(f"check {plan.table}{_partition(plan)}", [])
        case AnalyzePlan():
            return tree(f"analyze {plan.table}", _analyze_lines(plan))
        case _:
            return _write(plan)


def _write(plan: WritePlan) -> str:
    match plan:
        case InsertPlan():
            return _insert(plan, 0, _view_lines(plan))
        case UpdatePlan():
            return tree(f"update {plan.table}", [*_update_lines(plan), *_view_lines(plan)])
        case DeletePlan():
            return tree(f"delete {plan.table}", [*_delete_lines(plan), *_view_lines(plan)])
        case MergePlan():
            return tree(f"merge into {plan.table}", [*_merge_lines(plan), *_view_lines(plan)])
        case MultiInsertPlan():
            return tree("multi-insert", [*_multi_insert_lines(plan), *_view_lines(plan)])
        case TruncatePlan():
            written = "file" if plan.target is TableKind.PLAIN else "base"
            place = _fixed(plan.static_partition)
            return tree(f"truncate {plan.table}", [*place, f"{written}: no rows"])
        case LoadPlan():
            return tree(f"load data into {plan.table}", _load_lines(plan))
        case _:
            assert_never(plan)


def _compact_lines(plan: CompactPlan) -> list[str]:
    lines = [f"buckets: {plan.buckets}"] if plan.buckets is not None else []
    if plan.order:
        lines.append(sort_order_text(plan.order).lower().replace("order by", "order:"))
    return [*lines, *(f"{key}: {value}" for key, value in plan.properties)]


def _partition(plan: CompactPlan | CheckPlan) -> str:
    return f" partition {plan.partition}" if plan.partition else ""


def tree(head: str, branches: Sequence[str]) -> str:
    """A head with its branches below it. A branch of several lines is a tree itself."""
    last = len(branches) - 1
    lines = [head]
    for number, branch in enumerate(branches):
        first, *more = branch.split("\n")
        lines.append(f" {'└' if number == last else '├'}── {first}")
        lines += [f" {' ' if number == last else '│'}  {line}" for line in more]
    return "\n".join(lines)


def _analyze_lines(plan: AnalyzePlan) -> list[str]:
    """The partitions, and what is read of each, or of the whole table."""
    lines = []
    if plan.partition is not None:
        lines += [*_fixed(plan.partition), "each partition by itself"]
    if plan.query is None:
        return [*lines, "no rows are read"]
    return lines + _query_lines(plan.query)


def _query_lines(plan: QueryPlan) -> list[str]:
    scans = [s for s in plan.rows.sources if isinstance(s, TableSource)]
    lines = [f"scan: {_scan(s)}" for s in scans] + [f"rows: {_one_line(plan.rows)}"]
    if plan.summaries:
        lines.append(f"statistics may answer: {_all_of(plan.summaries)}")
    return lines


def explain_answer(plan: QueryPlan) -> str:
    """The plan of a summary that statistics answer, as a tree."""
    table = next(str(s) for s in plan.rows.sources)
    answer = f"answered from the statistics of {table}: {_all_of(plan.summaries)}"
    return tree("query", [answer, f"rows: {_one_line(plan.rows)}"])


def _view_lines(plan: WritePlan | QueryPlan) -> list[str]:
    """A line for each view that is read, with its query."""
    sources = (source for text in texts(plan) for source in text.sources)
    views = (s for s in sources if isinstance(s, ViewSource))
    lines = (f"view {v.view} ({', '.join(v.columns)}): {_one_line(v.rows)}" for v in views)
    return list(dict.fromkeys(lines))


def _scan(source: TableSource) -> str:
    pruned = f", pruned by {_all(source.predicates)}" if source.predicates else ""
    hidden = "".join(f", with {_HIDDEN[column]}" for column in source.hidden)
    deleted = ", and the deleted rows" if source.with_deleted else ""
    return f"{source.table}{deleted}{hidden}{pruned}{_sampled(source.sample)}"


def _sampled(sample: Sample | None) -> str:
    if sample is None:
        return ""
    keys = ", ".join(key.text for key in sample.keys)
    return f", bucket {sample.number} out of {sample.count} on {keys}"


def _multi_insert_lines(plan: MultiInsertPlan) -> list[str]:
    legs = (_insert(leg, number) for number, leg in enumerate(plan.legs))
    return [*_shared_lines(plan.sources), *legs]


def _shared_lines(sources: Sequence[SharedSource]) -> list[str]:
    return [
        f"{source.name}{', computed once' if source.once else ''}: {_one_line(source.rows)}"
        for source in sources
    ]


def _insert(plan: InsertPlan, statement_id: int, views: Sequence[str] = ()) -> str:
    verb = "overwrite" if plan.overwrite else "into"
    return tree(f"insert {verb} {plan.table}", [*_insert_lines(plan, statement_id), *views])


def _insert_lines(plan: InsertPlan, statement_id: int) -> list[str]:
    if isinstance(plan.rows, LiteralRows):
        rows = f"values: {len(plan.rows.rows)} rows, in this process"
    elif isinstance(plan.rows, GivenRows):
        rows = "rows: those that the caller gives, in this process"
    elif isinstance(plan.rows, ValueRows):
        listed = [SqlText.of("(", SqlText.join(", ", row), ")") for row in plan.rows.rows]
        rows = f"rows: {_one_line(SqlText.of('VALUES ', SqlText.join(', ', listed)))}"
    else:
        rows = f"rows: {_one_line(plan.rows)}"
    unless = ["only if the partition is not there"] if plan.unless_exists else []
    columns = ", ".join(plan.columns) + (", by name" if plan.by_name else "")
    written = f"{_written(plan, statement_id)}: {columns}"
    return [rows, *_fixed(plan.static_partition), *unless, written]


def _load_lines(plan: LoadPlan) -> list[str]:
    how = "the files, copied" if plan.local else "the files, moved"
    place = "local files" if plan.local else "files"
    return [
        f"{place}: {plan.path}",
        *_fixed(plan.static_partition),
        f"{_written(plan)}: {'the rows of the files' if plan.by_rows else how}",
    ]


def _written(plan: InsertPlan | LoadPlan, statement_id: int = 0) -> str:
    if plan.target is TableKind.PLAIN:
        return "files"
    return "base" if plan.overwrite else f"delta {statement_id:04d}"


def _fixed(static_partition: Sequence[tuple[str, str | None]]) -> list[str]:
    fixed = ", ".join(f"{name} = {'null' if v is None else v}" for name, v in static_partition)
    return [f"partition: {fixed}"] if fixed else []


def _update_lines(plan: UpdatePlan) -> list[str]:
    return [
        *_shared_lines(plan.common),
        *(f"joined with {_one_line(relation)}" for relation in plan.relations),
        _read_line(plan.where, plan.predicates),
        "delete delta 0000: the row ids read",
        _new_versions(plan, 0),
    ]


def _delete_lines(plan: DeletePlan) -> list[str]:
    lines = [
        *_shared_lines(plan.common),
        *(f"joined with {_one_line(relation)}" for relation in plan.relations),
        _read_line(plan.where, plan.predicates),
        "delete delta 0000: the row ids read",
    ]
    if plan.whole_partitions:
        lines.append(
            "instead of both, a base of no rows, if no other transaction writes to the table"
        )
    return lines


def _read_line(where: SqlText | None, predicates: Sequence[object]) -> str:
    pruned = f", pruned by {_all(predicates)}" if predicates else ""
    return f"read: {_one_line(where) if where else 'all rows'}, with row ids{pruned}"


def _merge_lines(plan: MergePlan) -> list[str]:
    source = f"source {plan.source_alias}: {_one_line(plan.source)}"
    lines = [*_shared_lines(plan.common), source, f"join: {_one_line(plan.on)}"]
    if plan.keys and not plan.by_source:
        keys = ", ".join(f"{k.target} by {k.source}" for k in plan.keys)
        lines.append(f"target pruned by the source's keys: {keys}")
    if plan.predicates:
        lines.append(f"target pruned by {_all(plan.predicates)}")
    lines += [line for leg in plan.matched for line in _leg_lines(leg, "matched")]
    lines += [line for leg in plan.by_source for line in _leg_lines(leg, "not matched by source")]
    return lines + [line for leg in plan.not_matched for line in _leg_lines(leg, "not matched")]


def _new_versions(change: UpdatePlan | UpdateLeg, statement_id: int) -> str:
    placed = ", where the new values belong" if change.moves else ""
    return f"delta {statement_id:04d}{placed}: {_assignments(change.assignments)}"


def _leg_lines(leg: UpdateLeg | DeleteLeg | InsertLeg, when: str) -> list[str]:
    condition = f" and {_one_line(leg.condition)}" if leg.condition else ""
    number = f"{leg.statement_id:04d}"
    lines = []
    if not isinstance(leg, InsertLeg):
        lines.append(f"delete delta {number}: the row ids {when}{condition}")
    if isinstance(leg, UpdateLeg):
        lines.append(_new_versions(leg, leg.statement_id))
    if isinstance(leg, InsertLeg):
        lines.append(f"delta {number}: {when}{condition}: {_assignments(leg.values)}")
    return lines


def _assignments(assignments: Sequence[SetColumn]) -> str:
    return ", ".join(
        f"{'.'.join((a.column, *a.fields))} := {_one_line(a.value)}" for a in assignments
    )


def _all_of(items: Sequence[object]) -> str:
    return ", ".join(map(str, items))


def _all(predicates: Sequence[object]) -> str:
    return " and ".join(map(str, predicates))


def _one_line(text: SqlText) -> str:
    return " ".join(str(text).split())
