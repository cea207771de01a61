"""The comment of a table or view. Hive keeps it as one of the properties."""

from __future__ import annotations

from collections.abc import Mapping

_COMMENT = "comment"


def with_comment(parameters: Mapping[str, str], comment: str | None) -> dict[str, str]:
    """The properties as Hive keeps them and as SHOW TBLPROPERTIES lists them.

    >>> with_comment({"a": "b"}, "all of it")
    {'a': 'b', 'comment': 'all of it'}
    """
    return dict(parameters) if comment is None else {**parameters, _COMMENT: comment}


def split_comment(properties: Mapping[str, str]) -> tuple[dict[str, str], str | None]:
    """The parameters without the comment, and the comment, None if there is none.

    >>> split_comment({"a": "b", "comment": "all of it"})
    ({'a': 'b'}, 'all of it')
    """
    parameters = dict(properties)
    return parameters, parameters.pop(_COMMENT, None)
