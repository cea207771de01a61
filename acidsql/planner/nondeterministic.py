"""Functions whose calls may each give another value, in places that must give one answer."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from acidsql.errors import AnalysisError
from acidsql.statements.fragment import Fragment

_NONDETERMINISTIC = {
    *("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle"),
    *("monotonically_increasing_id", "spark_partition_id"),
    *("input_file_name", "input_file_block_start", "input_file_block_length"),
    *("java_method", "reflect", "try_reflect"),
}
"""Functions that Spark calls nondeterministic: each call may give another value."""


def refuse_nondeterministic(
    fragment: Fragment, nodes: Sequence[exp.Expr], place: str, hint: str
) -> None:
    """AnalysisError for a nondeterministic function in nodes of a fragment: Spark may evaluate them
    several times.

    ``place`` names the nodes in the error.
    """
    for function in (f for node in nodes for f in node.find_all(exp.Func)):
        start, end = function.meta.get("start", 0), function.meta.get("end", -1) + 1
        name = fragment.text[start:end]
        if name.lower() not in _NONDETERMINISTIC:
            continue
        before = fragment.text[:start].split("\n")
        raise AnalysisError(
            f'{place} cannot use "{name}"',
            detail="The condition may be evaluated several times and must give one answer.",
            hint=hint,
            line=fragment.line + len(before) - 1,
            column=len(before[-1]) + (fragment.column if len(before) == 1 else 1),
        )
