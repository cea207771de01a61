"""What we tell a metastore that we can do, and what its answer lets us do with a table.

Hive 4 judges each table by the strings (Hive MetastoreDefaultTransformer), Hive 3.1 knows one
number (HiveMetaStore.assertClientHasCapability).
"""

from __future__ import annotations

from typing import Any

from acidsql.errors import UnsupportedStatementError

CAPABILITIES = [
    "EXTREAD",
    "EXTWRITE",
    "HIVEBUCKET2",
    "HIVEFULLACIDREAD",
    "HIVEFULLACIDWRITE",
    "HIVEMANAGEDINSERTREAD",
    "HIVEMANAGEDINSERTWRITE",
    "HIVEMANAGESTATS",
    "HIVECACHEINVALIDATE",
    # Views and materialized views are answered, so that they can be refused by their names.
    "HIVESQL",
    "HIVEMQT",
    "ACCEPTS_UNMODIFIED_METADATA",
]
ASKER = {"processorCapabilities": CAPABILITIES, "processorIdentifier": "acidsql"}
"""Fields of every request that has them."""

_NONE, _READ_ONLY, _WRITE_ONLY = 1, 2, 4
"""Table.accessType; 8 is both. A server that judges nothing sends none."""


def write_refusal(table: Any, name: str) -> str | None:
    """Why the server wants nobody like us to write to a table, or None.

    UnsupportedStatementError if it does not want it read either.
    """
    access = table.accessType
    if access in (_NONE, _WRITE_ONLY):
        raise UnsupportedStatementError(
            f"the metastore does not let acidsql read table {name}",
            detail=_missing("reading", table.requiredReadCapabilities),
        )
    if access == _READ_ONLY:
        return _missing("writing", table.requiredWriteCapabilities)
    return None


def _missing(what: str, required: list[str] | None) -> str:
    missing = [c for c in required or () if c not in CAPABILITIES]
    return f"The metastore asks for {', '.join(missing) or 'other capabilities'} for {what}."
