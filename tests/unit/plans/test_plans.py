"""Plans are data: they come back from JSON, and say what they read."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from pydantic import ValidationError

from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.ids import StatementId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.predicate import Predicate
from acidsql.model.sort_order import SortColumn
from acidsql.model.table import Column, Table
from acidsql.model.types import parse_type
from acidsql.plans.compact import CompactPlan
from acidsql.plans.delete import DeletePlan
from acidsql.plans.explain import explain
from acidsql.plans.insert import GivenRows, InsertPlan, LiteralRows
from acidsql.plans.merge import DeleteLeg, InsertLeg, KeyPair, MergePlan, UpdateLeg
from acidsql.plans.plan import PLAN, WritePlan, partition_predicates, tables_read, texts
from acidsql.plans.query import QueryPlan
from acidsql.plans.sql_text import FrameSource, InputSource, SqlText, TableSource, ViewSource
from acidsql.plans.truncate import TruncatePlan
from acidsql.plans.update import SetColumn, UpdatePlan

words = st.text("aZ0_ '`\"\\{}é漢😀", max_size=6)
names = st.builds(TableName.of, words, words)
partitions = st.builds(
    PartitionName.of,
    st.lists(st.tuples(words, st.one_of(st.none(), words)), min_size=1, max_size=2),
)
predicates = st.builds(
    Predicate,
    column=words,
    operator=st.sampled_from(["=", "<", "<=", ">", ">=", "in"]),
    values=st.lists(words, min_size=1, max_size=3).map(tuple),
)
some_predicates = st.lists(predicates, max_size=2).map(tuple)
simple_sources = st.one_of(
    st.builds(
        TableSource,
        table=names,
        hidden=st.sampled_from([(), (HiddenColumn.ROW_ID,), tuple(HiddenColumn)]),
        predicates=some_predicates,
        columns=st.lists(words, max_size=2).map(tuple),
    ),
    st.builds(FrameSource, name=words),
    st.builds(InputSource, name=st.sampled_from(["target", "source"])),
)
simple_sql = st.lists(st.one_of(words, simple_sources), max_size=2)
views = st.builds(
    ViewSource,
    view=names,
    columns=st.lists(words, max_size=2).map(tuple),
    rows=simple_sql.map(lambda parts: SqlText.of(*parts)),
)
sources = st.one_of(simple_sources, views)
sql = st.lists(st.one_of(words, sources), max_size=4).map(lambda parts: SqlText.of(*parts))
maybe_sql = st.one_of(st.none(), sql)
ids = st.integers(0, 3).map(StatementId)
set_columns = st.lists(st.builds(SetColumn, column=words, value=sql), max_size=2).map(tuple)
update_legs = st.builds(UpdateLeg, statement_id=ids, condition=maybe_sql, assignments=set_columns)
delete_legs = st.builds(DeleteLeg, statement_id=ids, condition=maybe_sql)
insert_legs = st.builds(InsertLeg, statement_id=ids, condition=maybe_sql, values=set_columns)
cells = st.one_of(st.none(), words)
plans: st.SearchStrategy[Any] = st.one_of(
    st.builds(QueryPlan, rows=sql),
    st.builds(
        InsertPlan,
        table=names,
        columns=st.lists(words, max_size=2).map(tuple),
        static_partition=st.lists(st.tuples(words, cells), max_size=2).map(tuple),
        rows=st.one_of(
            sql,
            st.builds(GivenRows, parameter=words),
            st.builds(
                LiteralRows, rows=st.lists(st.lists(cells, max_size=3).map(tuple)).map(tuple)
            ),
        ),
    ),
    st.builds(
        UpdatePlan,
        table=names,
        alias=words,
        assignments=set_columns,
        where=maybe_sql,
        predicates=some_predicates,
        hidden=st.sampled_from([(), (HiddenColumn.ROW_ID,), tuple(HiddenColumn)]),
    ),
    st.builds(
        DeletePlan,
        table=names,
        alias=words,
        where=maybe_sql,
        predicates=some_predicates,
        hidden=st.sampled_from([(), (HiddenColumn.ROW_ID,), tuple(HiddenColumn)]),
    ),
    st.builds(
        MergePlan,
        table=names,
        alias=words,
        source=sql,
        source_alias=words,
        on=sql,
        matched=st.lists(st.one_of(update_legs, delete_legs), max_size=2).map(tuple),
        not_matched=st.lists(insert_legs, max_size=2).map(tuple),
        keys=st.lists(st.builds(KeyPair, target=words, source=words), max_size=2).map(tuple),
        predicates=some_predicates,
        hidden=st.sampled_from([(), (HiddenColumn.ROW_ID,), tuple(HiddenColumn)]),
    ),
    st.builds(
        CompactPlan,
        table=names,
        partition=st.one_of(st.none(), partitions),
        type=st.sampled_from(["minor", "major", "rebalance"]),
        buckets=st.one_of(st.none(), st.integers(1, 4096)),
        order=st.lists(st.builds(SortColumn, words, st.booleans(), st.booleans())).map(tuple),
        properties=st.lists(st.tuples(words, words), max_size=2).map(tuple),
    ),
)


@given(plans)
def test_a_plan_comes_back_from_json(plan: Any) -> None:
    again = PLAN.validate_json(PLAN.dump_json(plan))
    assert again == plan
    assert type(again) is type(plan)
    assert hash(again) == hash(plan)
    assert explain(again) == explain(plan)


@given(plans)
def test_explain_is_a_head_and_its_branches(plan: Any) -> None:
    head, *branches = explain(plan).split("\n ")
    assert head
    assert all(b.startswith(("├── ", "└── ")) for b in branches)
    assert [b for b in branches if b.startswith("└")] == branches[-1:]


@given(plans)
def test_every_table_of_every_text_is_read(plan: Any) -> None:
    if isinstance(plan, CompactPlan):
        return
    expected = [s.table for t in texts(plan) for s in t.sources if isinstance(s, TableSource)]
    assert list(tables_read(plan)) == list(dict.fromkeys(expected))
    # Nothing that prints as SQL is forgotten: what JSON holds of tables, texts() holds too.
    assert str(PLAN.dump_python(plan)).count("'kind': 'table'") == len(expected)


@given(st.lists(sql, max_size=4), words)
def test_joined_texts_are_the_texts_joined(parts: list[SqlText], separator: str) -> None:
    joined = SqlText.join(separator, parts)
    assert str(joined) == separator.join(map(str, parts))
    assert list(joined.sources) == [s for part in parts for s in part.sources]


@given(sql)
def test_a_rendered_text_names_its_sources_in_order(text: SqlText) -> None:
    named: list[Any] = []
    rendered = text.render(lambda source: named.append(source) or "\x00")  # type: ignore[func-returns-value]
    assert named == [part for part in text.parts if not isinstance(part, str)]
    assert rendered.replace("\x00", "") == "".join(
        p.replace("\x00", "") for p in text.parts if isinstance(p, str)
    )


def test_a_plan_is_frozen_and_knows_its_fields() -> None:
    plan = QueryPlan(rows=SqlText.of("SELECT 1"))
    with pytest.raises(ValidationError):
        plan.rows = SqlText.of("SELECT 2")  # type: ignore[misc]
    with pytest.raises(ValidationError):
        PLAN.validate_python({"kind": "query", "rows": {"parts": []}, "more": 1})
    with pytest.raises(ValidationError):
        PLAN.validate_python({"kind": "truncate"})


A, B, C = (Predicate(column=c, operator="=", values=("1",)) for c in "abc")
T, OTHER = TableName.of("default", "t"), TableName.of("default", "other")
TABLE = Table(
    T,
    (Column("id", parse_type("int")),),
    "/w/t",
    (Column("a", parse_type("int")), Column("b", parse_type("string"))),
)


def reads(*predicates: Predicate, table: TableName = T) -> TableSource:
    return TableSource(table=table, predicates=predicates)


def merge(*not_matched: InsertLeg) -> MergePlan:
    return MergePlan(
        table=T,
        alias="t",
        source=SqlText.of(reads(A, table=OTHER)),
        source_alias="s",
        on=SqlText.of("true"),
        matched=(),
        not_matched=not_matched,
        predicates=(A, B),
    )


UPDATE = UpdatePlan(
    table=T, alias="t", assignments=(), where=SqlText.of("x = ", reads(B, C)), predicates=(A, B)
)
INSERT = InsertPlan(
    table=T, columns=(), static_partition=(("a", "1"), ("b", None)), rows=LiteralRows(rows=())
)
ROWS = InsertPlan(
    table=T,
    columns=("id", "b"),
    static_partition=(("a", "1"),),
    rows=LiteralRows(rows=(("7", "x"), ("8", "y"), ("9", "x"))),
)
LEG = InsertLeg(statement_id=StatementId(0), condition=None, values=())


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (QueryPlan(rows=SqlText.of(reads(A, B))), (A, B)),
        (QueryPlan(rows=SqlText.of(reads(A, B), " union ", reads(B))), (B,)),
        (QueryPlan(rows=SqlText.of(reads(A), ", ", reads())), ()),
        (QueryPlan(rows=SqlText.of(reads(A), ", ", reads(table=OTHER))), (A,)),
        (QueryPlan(rows=SqlText.of("SELECT 1")), ()),
        (UPDATE, (B,)),
        (DeletePlan(table=T, alias="t", where=None, predicates=(A,)), (A,)),
        (INSERT, (A,)),
        (ROWS, (A, Predicate("b", "in", ("x", "y")))),
        pytest.param(
            ROWS.model_copy(update={"rows": LiteralRows(rows=(("7", "x"), ("8", "")))}),
            (A,),
            id="an empty value is null",
        ),
        pytest.param(
            INSERT.model_copy(update={"static_partition": (("a", "1"), ("b", ""))}),
            (A,),
            id="a fixed one too",
        ),
        (INSERT.model_copy(update={"rows": SqlText.of(reads(A, B))}), (A,)),
        (INSERT.model_copy(update={"rows": SqlText.of(reads(B))}), ()),
        (INSERT.model_copy(update={"rows": GivenRows(parameter="rows")}), (A,)),
        (TruncatePlan(table=T, static_partition=(("b", "1"),)), (B,)),
        (merge(), (A, B)),
        pytest.param(merge(LEG), (), id="new rows may come to any partition"),
    ],
)
def test_what_holds_of_every_row_in_use(
    plan: WritePlan | QueryPlan, expected: tuple[Predicate, ...]
) -> None:
    assert partition_predicates(plan, TABLE) == expected


def test_rows_of_the_caller_are_explained() -> None:
    plan = InsertPlan(table=T, columns=("id", "b"), rows=GivenRows(parameter="rows"))
    assert explain(plan).splitlines()[1:] == [
        " ├── rows: those that the caller gives, in this process",
        " └── delta 0000: id, b",
    ]
