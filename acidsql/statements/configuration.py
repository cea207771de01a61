"""SET and RESET of properties and variables."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Identifier


@dataclass(frozen=True, slots=True)
class SetConfiguration:
    """SET ``key`` = ``value``. Both are raw text; ``line`` and ``column`` are the place of the key.

    The key may have a prefix, as in ``hivevar:day``.
    """

    key: str
    value: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class ShowConfiguration:
    """SET ``key``; with None SET or SET -v, which show all that was set."""

    key: str | None


@dataclass(frozen=True, slots=True)
class ResetConfiguration:
    """RESET ``key`` …; without keys, RESET of all properties."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DescribeConfiguration:
    """SHOW CONF ``name``."""

    name: Identifier


ConfigurationStatement = (
    SetConfiguration | ShowConfiguration | ResetConfiguration | DescribeConfiguration
)
