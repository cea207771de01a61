"""The findings of CHECK TABLE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.model.problem import Problem


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The problems of a table, the number of files that were read, and of the events in them."""

    problems: tuple[Problem, ...]
    files: int
    events: int
