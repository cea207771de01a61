"""Paths as Spark's reader takes them: names, never patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PATTERN = re.compile(r"[{}\[\]*?\\]")


def literal_paths(paths: Iterable[str]) -> list[str]:
    r"""The paths with every character escaped that Spark would take for one of a pattern.

    Spark's option ``__globPaths__`` is no help: if it is off, a path with such a character is read
    as often as there are paths (DataSource.checkAndGlobPathIfNecessary).

    >>> literal_paths(["/t/s=a", "/t/s={x}"])
    ['/t/s=a', '/t/s=\\{x\\}']
    """
    return [_PATTERN.sub(r"\\\g<0>", path) for path in paths]
