"""The capabilities that we report to a metastore, and the access to a table that it allows us.

Hive 4 compares each table with capabilities that are strings (Hive MetastoreDefaultTransformer).
Hive 3.1 knows one capability, a number (HiveMetaStore.assertClientHasCapability).
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
    # With these two the server also returns views and materialized views, which we refuse.
    "HIVESQL",
    "HIVEMQT",
    "ACCEPTS_UNMODIFIED_METADATA",
]
ASKER = {"processorCapabilities": CAPABILITIES, "processorIdentifier": "acidsql"}
"""The fields for every request that has fields for capabilities."""

_NONE, _READ_ONLY, _WRITE_ONLY = 1, 2, 4
"""Values of Table.accessType; 8 is reading and writing. Servers without a transformer send none."""


def write_refusal(table: Any, name: str) -> str | None:
    """Why the server does not let clients with our capabilities write to a table; None if it does.

    UnsupportedStatementError if the server does not let us read the table either.
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
