"""What CHECK TABLE has found."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.model.problem import Problem


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What is wrong with a table's files, how many were read, and how many events they hold."""

    problems: tuple[Problem, ...]
    files: int
    events: int
