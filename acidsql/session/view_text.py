"""The text of a view as a query."""

from __future__ import annotations

from acidsql.errors import SqlError, UnsupportedStatementError
from acidsql.grammar.parse import parse
from acidsql.grammar.view import unwrapped
from acidsql.model.view import View
from acidsql.statements import Query


def view_query(view: View, *, reflection: bool = False) -> Query:
    """The query of a view's text. UnsupportedStatementError, which names the view, if it is none.

    ``reflection`` allows functions that call any method of Java. Anybody who may write to the store
    may have written the text, so it is read as the text of a user.
    """
    try:
        text = unwrapped(view) or view.expanded_text
        statement = parse(text, reflection=reflection)
    except SqlError as error:
        raise UnsupportedStatementError(
            f"the query of view {view.name} is not understood: {error.message}",
            detail=f"It stands at {error.line}:{error.column} of the view's text.",
            hint=error.hint,
        ) from error
    if not isinstance(statement, Query) or statement.source.parameters:
        raise UnsupportedStatementError(f"the text of view {view.name} is no query")
    return statement
