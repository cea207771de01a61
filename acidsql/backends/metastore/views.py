"""Views of a Hive Metastore: tables of the type VIRTUAL_VIEW, with a text instead of files."""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.backends.metastore.capabilities import write_refusal
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.sense import given
from acidsql.backends.metastore.tables import (
    Struct,
    change_fields,
    columns_from,
    field_of,
    name_of,
    own_parameters,
)
from acidsql.errors import UnsupportedStatementError
from acidsql.grammar.hive_words import spark_words
from acidsql.model.comment import split_comment
from acidsql.model.metastore_parameters import KEPT_BY_METASTORE
from acidsql.model.storage_classes import STORAGE_CLASSES
from acidsql.model.table import FileFormat
from acidsql.model.view import View

VIEW = "VIRTUAL_VIEW"
_KEPT = KEPT_BY_METASTORE | {"bucketing_version"}
"""Parameters that are no properties of a view. Hive gives its views the version of bucketing."""
_SPARKS = ("view.catalogAndNamespace.", "view.query.out.", "view.sqlConfig.")
"""The parameters of a view that Spark itself has made begin with one of these."""


def is_view(struct: Struct) -> bool:
    """Whether a Table is a view."""
    return bool(struct.tableType == VIEW)


def view_from(struct: Struct) -> View:
    """Our View of a Table that is a view.

    UnsupportedStatementError, with the reason, for a view that we cannot read.
    """
    name = name_of(struct)
    write_refusal(struct, str(name))
    parameters = {k: v for k, v in (struct.parameters or {}).items() if v is not None}
    if any(key.startswith(_SPARKS) for key in parameters):
        raise UnsupportedStatementError(
            f"{name} is a view of Spark's own: acidsql cannot use it",
            hint="Make the view with acidsql or with Hive, which keep the whole query.",
        )
    noted = {k: v for k, v in parameters.items() if k not in _KEPT}
    noted, comment = split_comment(noted)
    descriptor = given(struct.sd, f"the columns of {name}")
    expanded = spark_words(given(struct.viewExpandedText, f"the query of view {name}"))
    return View(
        name=name,
        columns=columns_from(given(descriptor.cols, f"the columns of {name}"), name),
        original_text=spark_words(struct.viewOriginalText or expanded),
        expanded_text=expanded,
        parameters=noted,
        comment=comment,
        owner=struct.owner or "",
        created_s=struct.createTime or 0,
    )


def view_to(view: View) -> Struct:
    """The metastore's struct for a new view, as Hive makes it."""
    text = STORAGE_CLASSES[FileFormat.TEXT]
    return hms.Table(
        tableName=view.name.table,
        dbName=view.name.database,
        owner=view.owner,
        ownerType=hms.PrincipalType.USER,
        createTime=view.created_s,
        lastAccessTime=0,
        retention=0,
        sd=hms.StorageDescriptor(
            cols=[field_of(column) for column in view.columns],
            inputFormat=text.reader,
            outputFormat=text.writer,
            compressed=False,
            numBuckets=-1,
            serdeInfo=hms.SerDeInfo(parameters={}),
            bucketCols=[],
            sortCols=[],
            parameters={},
            storedAsSubDirectories=False,
        ),
        partitionKeys=[],
        parameters=own_parameters(view.parameters, view.comment),
        viewOriginalText=view.original_text,
        viewExpandedText=view.expanded_text,
        tableType=VIEW,
    )


def change_view(struct: Struct, view: View) -> None:
    """Change a Table that the metastore sent so that it describes our view."""
    before: Mapping[str, str] = struct.parameters or {}
    kept = {k: v for k, v in before.items() if k in _KEPT}
    struct.parameters = {**kept, **own_parameters(view.parameters, view.comment)}
    struct.owner = view.owner
    struct.sd.cols = change_fields(struct.sd.cols, view.columns)
    struct.viewOriginalText = view.original_text
    struct.viewExpandedText = view.expanded_text
