"""The plan of a LOAD DATA."""

from __future__ import annotations

from typing import Literal

from acidsql.model.names import TableName
from acidsql.model.table import TableKind
from acidsql.plans.node import Node


class LoadPlan(Node):
    """Put the files at ``path`` unchanged into a delta, or with ``overwrite`` into a base.

    If the ``target`` is a plain table, the files lie beside its other files. ``static_partition``
    gives the value text of each partition column. A ``local`` path is one of this machine; its
    files are copied. Other files are moved.

    With ``by_rows``, the rows are read and written as by an INSERT … SELECT, and the files stay.
    The last columns of the files are then the partition columns without a value. Or else the files
    are those of an export, below ``places``: directories, each with the name of its partition.

    ``spelled`` says that a Hive reads the table. It finds fields of structs in files of ORC and
    Avro only if their names have the capital letters that they have in the table.
    """

    kind: Literal["load"] = "load"
    table: TableName
    path: str
    local: bool = False
    overwrite: bool = False
    static_partition: tuple[tuple[str, str | None], ...] = ()
    target: TableKind = TableKind.FULL_ACID
    by_rows: bool = False
    places: tuple[tuple[str | None, str], ...] = ()
    spelled: bool = False
