"""Compares the parameters of a statement with the values that a caller has for them."""

from __future__ import annotations

import re
from collections.abc import Collection

from acidsql.grammar.lexer import Source
from acidsql.model.near import near_name

_NUMBERED = re.compile(r"_\d+", re.ASCII)


def check_arguments(source: Source, arguments: Collection[str]) -> None:
    """Raise AnalysisError for the first parameter without a value, and for a value without a ``?``.

    ``arguments`` are the names of the values; those of a list are called ``_1``, ``_2`` and so on.
    """
    marks = len(source.question_marks)
    listed = [name for name in arguments if _NUMBERED.fullmatch(name)]
    if listed and len(listed) == len(arguments) and len(listed) != marks:
        place = next((at for at, n in source.question_marks.items() if n == len(listed) + 1), 0)
        source.analysis_error(
            f"{len(listed)} values for {marks} parameters",
            place or source.tokens[0].start,
            hint="Pass a list with one value for each ?, or a dict of the values for :name.",
        )
    for offset, name in sorted(source.parameters.items()):
        if name not in arguments:
            mark = "?" if offset in source.question_marks else f":{name}"
            near = near_name(name, [n for n in arguments if n not in source.parameters.values()])
            source.analysis_error(
                f"no value for the parameter {mark}",
                offset,
                hint=f'The arguments have "{near}". Did you mean :{near}?'
                if near
                else "Pass args: a dict for :name, a list for ?.",
            )
