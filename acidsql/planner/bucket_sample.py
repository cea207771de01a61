"""The sample of a table's rows by their bucket → what an engine needs to take them."""

from __future__ import annotations

from acidsql.errors import AnalysisError
from acidsql.model.names import quote_identifier
from acidsql.model.table import Table
from acidsql.plans.sql_text import Sample
from acidsql.statements.fragment import BucketSample, Fragment, TableRef


def planned_sample(fragment: Fragment, ref: TableRef, table: Table) -> Sample | None:
    """The sample behind the name of a table, None if there is none.

    AnalysisError (10060) for a table without buckets if the sample has no expressions.
    """
    sample = ref.sample
    if sample is None:
        return None
    return Sample(
        number=sample.number,
        count=sample.count,
        version=table.hash_version,
        name=ref.visible_name,
        keys=_keys(sample, fragment, ref, table),
    )


def refuse_sample(ref: TableRef) -> None:
    """AnalysisError if a sample stands behind the name of something that is no table."""
    if ref.sample is not None:
        raise AnalysisError(
            f'"{ref.table}" is no table, and TABLESAMPLE (BUCKET …) takes the rows of one',
            hint="Write it behind the table inside of the query.",
            line=ref.line,
            column=ref.column,
        )


def _keys(sample: BucketSample, fragment: Fragment, ref: TableRef, table: Table) -> tuple[str, ...]:
    """The expressions that are hashed: as in Hive, the table's own if ON names its columns.

    Then their order in ON does not matter.
    """
    own = table.bucket_columns
    given = sample.columns
    if own and (not sample.keys or (len(given) == len(own) and set(given) <= set(own))):
        return tuple(map(quote_identifier, own))
    if not sample.keys:
        raise AnalysisError(
            f"{table.name} has no buckets, and the sample has no expression",
            hint="Write TABLESAMPLE (BUCKET x OUT OF y ON e).",
            code=10060,
            line=ref.line,
            column=ref.column,
        )
    return tuple(_text(fragment, start, end) for start, end in sample.keys)


def _text(fragment: Fragment, start: int, end: int) -> str:
    """The text from ``start`` to ``end`` without the qualifiers that are to be removed."""
    kept, at = [], start
    for low, high in sorted(fragment.qualifiers):
        if start <= low < end:
            kept.append(fragment.text[at:low])
            at = high
    return "".join([*kept, fragment.text[at:end]])
