"""Names that a misspelt name may have been meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_CLOSE = 0.6
"""The least ratio of difflib: that of dya to day is 0.67."""


def near_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a name in any case, or None if none is close.

    >>> near_name("Ordres", ["items", "orders"]), near_name("a", ["b"])
    ('orders', None)
    """
    by_lower = {k.lower(): k for k in known}
    near = get_close_matches(name.lower(), list(by_lower), 1, _CLOSE)
    return by_lower[near[0]] if near else None
