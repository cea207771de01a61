"""The pattern in SHOW … LIKE."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence


def matching(names: Sequence[str], pattern: str | None) -> list[str]:
    """The names that match Hive's pattern: * or % for any text, | between alternatives.

    >>> matching(["orders", "lines", "order_log"], "order*")
    ['orders', 'order_log']
    """
    if pattern is None:
        return list(names)
    alternatives = [p.lower().replace("%", "*") for p in pattern.split("|")]
    return [n for n in names if any(fnmatch.fnmatchcase(n, p) for p in alternatives)]
