"""``TABLESAMPLE (BUCKET x OUT OF y ON …)`` behind the name of a table."""

from __future__ import annotations

import re
from typing import NoReturn

from sqlglot import exp

from acidsql.grammar.lexer import Source
from acidsql.statements.fragment import BucketSample, SampleKey

_COUNT_MAX = (1 << 31) - 1
_LENGTH = re.compile(r"\d+[BKMG]")
_NO_KEYS = (exp.Query, exp.Placeholder, exp.Parameter, exp.Star, exp.Window)
"""What an expression behind ON must not have: its value is computed from one row of the table."""


def bucket_sample(sample: exp.Expr, source: Source, base: int) -> BucketSample:
    """The sample that a node stands for, whose places are offsets from ``base`` in the source.

    AnalysisError (10061) for a bucket that is not among the buckets.
    """
    for node in (inner for key in sample.expressions for inner in key.walk()):
        if isinstance(node, _NO_KEYS):
            _refuse(sample, source, base, "ON in TABLESAMPLE takes expressions over one row")
    number = _whole(sample, "bucket_numerator", source, base)
    count = _whole(sample, "bucket_denominator", source, base)
    if not 1 <= number <= count:
        source.analysis_error(
            f"there is no bucket {number} out of {count}",
            base + sample.meta["start"],
            hint="Buckets count from 1.",
            code=10061,
        )
    return BucketSample(
        number=number,
        count=count,
        start=sample.meta["start"],
        end=sample.meta["end"] + 1,
        keys=tuple(map(_key, sample.expressions)),
    )


def _key(placed: exp.Expr) -> SampleKey:
    inner = placed.this
    parts = inner.parts if isinstance(inner, (exp.Column, exp.Dot)) else []
    mentioned = (p for column in inner.find_all(exp.Column, exp.Dot) for p in column.parts)
    return SampleKey(
        start=placed.meta["start"],
        end=placed.meta["end"] + 1,
        column=tuple(part.name.lower() for part in parts),
        mentioned=frozenset(part.name.lower() for part in mentioned),
    )


def refuse_elsewhere(sample: exp.Expr, source: Source, base: int) -> NoReturn:
    """Refuse a sample of something else than a table."""
    _refuse(sample, source, base, "TABLESAMPLE (BUCKET …) stands behind the name of a table only")


def refuse_length(source: Source, index: int) -> None:
    """Refuse ``TABLESAMPLE (100M)``, Hive's sample of so many bytes, if its length is the token."""
    words = [token.text.upper() for token in source.tokens[max(index - 2, 0) : index + 1]]
    if words[:2] == ["TABLESAMPLE", "("] and len(words) == 3 and _LENGTH.fullmatch(words[2]):
        source.refuse(
            f"TABLESAMPLE ({words[2]}) is not supported: Spark takes no sample by bytes",
            source.tokens[index].start,
            hint="Write TABLESAMPLE (n PERCENT) or TABLESAMPLE (n ROWS).",
        )


def _whole(sample: exp.Expr, part: str, source: Source, base: int) -> int:
    text = sample.args[part].name
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_COUNT_MAX))
    if not is_number or int(text) > _COUNT_MAX:
        _refuse(sample, source, base, "TABLESAMPLE (BUCKET x OUT OF y) takes two whole numbers")
    return int(text)


def _refuse(sample: exp.Expr, source: Source, base: int, message: str) -> NoReturn:
    source.refuse(
        message,
        base + sample.meta["start"],
        hint="Write t TABLESAMPLE (BUCKET x OUT OF y ON e, …) s.",
    )
