"""The sample of a table's rows by their bucket → what an engine needs to take them."""

from __future__ import annotations

from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.model.names import quote_identifier
from acidsql.model.table import Column, Table
from acidsql.model.types import CharType, walk_types
from acidsql.plans.sql_text import HashKey, Sample
from acidsql.statements.fragment import BucketSample, Fragment, SampleKey, TableRef


def planned_sample(fragment: Fragment, ref: TableRef, table: Table) -> Sample | None:
    """The sample behind the name of a table, None if there is none.

    AnalysisError (10060) for a table without buckets if the sample has no expressions.
    UnsupportedStatementError for an expression whose hash would be another one than Hive's.
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


def _keys(
    sample: BucketSample, fragment: Fragment, ref: TableRef, table: Table
) -> tuple[HashKey, ...]:
    """The expressions that are hashed: as in Hive, the table's own if ON names its columns.

    Then their order in ON does not matter.
    """
    own = table.bucket_columns
    given = [key.column for key in sample.keys]
    if own and (not given or (len(given) == len(own) and {*given} <= {(name,) for name in own})):
        return tuple(HashKey(text=quote_identifier(name), column=name) for name in own)
    if not given:
        raise AnalysisError(
            f"{table.name} has no buckets, and the sample has no expression",
            hint="Write TABLESAMPLE (BUCKET x OUT OF y ON e).",
            code=10060,
            line=ref.line,
            column=ref.column,
        )
    return tuple(_key(key, fragment, ref, table) for key in sample.keys)


def _key(key: SampleKey, fragment: Fragment, ref: TableRef, table: Table) -> HashKey:
    text, column = _text(fragment, key.start, key.end), _column(key, ref, table)
    unlike = () if column else _unlike(key, table)
    if unlike:
        raise UnsupportedStatementError(
            f"TABLESAMPLE cannot hash {text}: Hive computes with the {unlike[0].type} in it"
            " as Spark does not",
            hint=f'Name the column "{unlike[0].name}" itself, or another one.',
            line=ref.line,
            column=ref.column,
        )
    return HashKey(text=text, column=column.name if column else None)


def _column(key: SampleKey, ref: TableRef, table: Table) -> Column | None:
    """The column of the table that an expression is, None if it is more than that."""
    *qualifiers, name = key.column or ("",)
    own = [ref.visible_name.lower()]
    if qualifiers not in ([], own, [(ref.database or "").lower(), *own]):
        return None
    # Spark takes what may be a field of a column for that field.
    is_field = bool(qualifiers) and table.column(qualifiers[0]) is not None
    return None if is_field else table.column(name)


def _unlike(key: SampleKey, table: Table) -> list[Column]:
    """The columns in an expression that have texts of limited length.

    Spark knows them as strings, and a char(n) with its padding.
    """
    found = (table.column(name) for name in sorted(key.mentioned))
    return [
        column
        for column in found
        if column is not None and any(isinstance(k, CharType) for k in walk_types(column.type))
    ]


def _text(fragment: Fragment, start: int, end: int) -> str:
    """The text from ``start`` to ``end`` without the qualifiers that are to be removed."""
    kept, at = [], start
    for low, high in sorted(fragment.qualifiers):
        if start <= low < end:
            kept.append(fragment.text[at:low])
            at = high
    return "".join([*kept, fragment.text[at:end]])
