"""Whether a service is well: every part has had its round in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acidsql.service.part import Condition, PartStatus


def is_well(statuses: Sequence[PartStatus]) -> bool:
    """Whether no part is late or failing."""
    return all(status.condition is Condition.OK for status in statuses)


def report(statuses: Sequence[PartStatus]) -> dict[str, Any]:
    """The body of ``/healthz``. Errors are not quoted: they may name tables and paths.

    >>> report([PartStatus("cleaner", Condition.LATE, None, 75.04, 3, True)])["status"]
    'unwell'
    """
    return {
        "status": "ok" if is_well(statuses) else "unwell",
        "parts": [
            {
                "part": status.name,
                "condition": status.condition.value,
                "seconds_since_success": round(status.seconds_since_success, 1),
                "rounds": status.rounds,
                "is_working": status.is_working,
            }
            for status in statuses
        ],
    }
