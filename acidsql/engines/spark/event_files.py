"""What makes Spark's own ORC reader read the event files of ACID tables."""

from __future__ import annotations

from acidsql.model.snapshot import ValidWriteIdList

EVENTS = (
    "operation int, originalTransaction bigint, bucket int, rowId bigint,"
    " currentTransaction bigint, row struct<{row}>"
)
"""The schema of a file, with the fields of ``row`` to be filled in."""

WHOLE = {
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
"""Reader options by which every file of a snapshot is read or the read fails, whatever the session
says: a file passed over would lose its rows, or bring back those its deletes took away.
"""


def is_visible(write_ids: ValidWriteIdList) -> str:
    """True of the events that a snapshot sees; written so that Spark cannot push it down either."""
    current = "coalesce(currentTransaction, -1)"
    seen = f"{current} <= {write_ids.high_watermark}"
    hidden = ", ".join(map(str, write_ids.exceptions))
    return f"{seen} and {current} not in ({hidden})" if hidden else seen


def operation_is(operation: int, leaf: str) -> str:
    """True of the events of an operation, and so written that it is worth its price.

    Spark's reader can read ACID files only if the scan needs all six columns: so each is mentioned,
    with one leaf of ``row``, where no event ever gets. And Spark must not be able to push it down,
    because that would overwrite the search argument: so the first condition is wrapped.
    """
    others = "(originalTransaction | bucket | rowId | currentTransaction) > 0"
    return (
        f"(coalesce(operation, -1) = {operation} or operation < -1 and {others} and {leaf} is null)"
    )
