"""Functions whose calls may each give another value."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from acidsql.statements.fragment import Fragment

_NAMES = {
    *("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle"),
    *("monotonically_increasing_id", "spark_partition_id"),
    *("input_file_name", "input_file_block_start", "input_file_block_length"),
    *("java_method", "reflect", "try_reflect"),
}
"""Functions that Spark calls nondeterministic."""


def first_nondeterministic(fragment: Fragment, nodes: Iterable[exp.Expr]) -> tuple[str, int] | None:
    """The first call of such a function in these nodes of a fragment: its name as it is written.

    And where the name begins in the fragment's text. None if there is none.
    """
    for function in (f for node in nodes for f in node.find_all(exp.Func)):
        start, end = function.meta.get("start", 0), function.meta.get("end", -1) + 1
        name = fragment.text[start:end]
        if name.lower() in _NAMES:
            return name, start
    return None
