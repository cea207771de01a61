"""The file ``_metadata`` of an exported table (Hive EximUtil, version 0.2).

It is JSON with the table and its partitions as texts, which are JSON again: the structs Table and
Partition of the metastore's Thrift definition, in Thrift's form of JSON. There a struct has its
fields by their numbers, and each value stands beside its type: ``{"1": {"str": "t"}}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acidsql.errors import CorruptFileError, UnsupportedStatementError
from acidsql.model.comment import split_comment, with_comment
from acidsql.model.hive_types import hive_type, type_of_hive
from acidsql.model.metastore_parameters import KEPT_BY_METASTORE
from acidsql.model.names import DEFAULT_PARTITION_VALUE, PartitionName, TableName
from acidsql.model.storage_classes import STORAGE_CLASSES
from acidsql.model.stored_as import StoredAs, serde_properties, stored_as
from acidsql.model.table import Bucketing, Column, Table, is_external

METADATA_FILE = "_metadata"
_VERSION = "0.2"
_BEYOND_LIMITS = (RecursionError, OverflowError)
"""Errors of a text that is nested too deep, and of a number without end."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A table as an export describes it, whose location means nothing, and its partitions."""

    table: Table
    partitions: tuple[PartitionName, ...] = ()


# -- writing ------------------------------------------------------------------------------------


def metadata_text(exported: Exported) -> str:
    """The text of the file."""
    table = exported.table
    descriptor = _descriptor(table)
    parameters = with_comment(table.shown, table.comment)
    struct = {
        "1": _str(table.name.table),
        "2": _str(table.name.database),
        "3": _str(table.owner),
        "4": {"i32": table.created_s},
        "5": {"i32": 0},
        "6": {"i32": 0},
        "7": descriptor,
        "8": _structs([_column(c) for c in table.partition_columns]),
        "9": _map(parameters),
        "12": _str("EXTERNAL_TABLE" if table.external else "MANAGED_TABLE"),
    }
    partitions = [_partition(table, descriptor, name) for name in exported.partitions]
    return json.dumps(
        {
            "version": _VERSION,
            "table": _dumped(struct),
            "partitions": [_dumped(partition) for partition in partitions],
        }
    )


def _partition(table: Table, descriptor: Mapping[str, Any], name: PartitionName) -> dict[str, Any]:
    values = [DEFAULT_PARTITION_VALUE if v is None else v for v in name.values]
    located = {**descriptor["rec"], "2": _str(f"{table.location}/{name}")}
    return {
        "1": _strings(values),
        "2": _str(table.name.database),
        "3": _str(table.name.table),
        "4": {"i32": table.created_s},
        "5": {"i32": 0},
        "6": {"rec": located},
        "7": _map({}),
    }


def _descriptor(table: Table) -> dict[str, Any]:
    classes, bucketing = STORAGE_CLASSES[table.format], table.bucketing
    properties = serde_properties(StoredAs(table.format, table.field_delimiter))
    return {
        "rec": {
            "1": _structs([_column(c) for c in table.columns]),
            "2": _str(table.location),
            "3": _str(classes.reader),
            "4": _str(classes.writer),
            "5": {"tf": 0},
            "6": {"i32": -1 if bucketing is None else bucketing.count},
            "7": {"rec": {"2": _str(classes.serde), "3": _map(properties)}},
            "8": _strings(table.bucket_columns),
            "9": _structs([]),
            "10": _map({}),
            "12": {"tf": 0},
        }
    }


def _column(column: Column) -> dict[str, Any]:
    field = {"1": _str(column.name), "2": _str(hive_type(column.type))}
    return field if column.comment is None else {**field, "3": _str(column.comment)}


def _str(text: str) -> dict[str, str]:
    return {"str": text}


def _strings(texts: Sequence[str]) -> dict[str, Any]:
    return {"lst": ["str", len(texts), *texts]}


def _structs(structs: Sequence[Any]) -> dict[str, Any]:
    return {"lst": ["rec", len(structs), *structs]}


def _map(texts: Mapping[str, str]) -> dict[str, Any]:
    return {"map": ["str", "str", len(texts), dict(texts)]}


def _dumped(struct: Mapping[str, Any]) -> str:
    # Spaces between the parts are an error to Thrift.
    return json.dumps(struct, separators=(",", ":"), ensure_ascii=False)


# -- reading ------------------------------------------------------------------------------------


def parse_metadata(text: str, path: str) -> Exported:
    """What the file at a path says.

    CorruptFileError for a text that is no such file, UnsupportedStatementError for a table that
    acidsql cannot have.
    """
    try:
        whole = json.loads(text)
        struct = json.loads(whole["table"])
        values = [_texts(json.loads(p)["1"]) for p in whole.get("partitions") or ()]
        table = _table(struct)
        names = tuple(_name(table, found) for found in values)
        if len(set(names)) != len(names):
            raise ValueError("a partition is listed twice")
    except (LookupError, ValueError, TypeError, AttributeError, *_BEYOND_LIMITS) as error:
        raise CorruptFileError(
            f'file "{path}" does not describe an exported table',
            detail=f"{type(error).__name__}: {error}"[:200],
        ) from error
    return Exported(table, names)


def _table(struct: Mapping[str, Any]) -> Table:
    name = TableName.of(_text(struct["2"]), _text(struct["1"]))
    if "12" in struct and _text(struct["12"]) not in ("MANAGED_TABLE", "EXTERNAL_TABLE"):
        raise UnsupportedStatementError(f"the exported {name} is no table but a view")
    descriptor = struct["7"]["rec"]
    serde = descriptor["7"]["rec"]
    properties = _texts_by_key(serde["3"]) if "3" in serde else {}
    reader, library = _text(descriptor["3"]), _text(serde["2"])
    stored = stored_as(reader, library, properties, f"the exported table {name}")
    given = _texts_by_key(struct["9"])
    parameters, comment = split_comment(
        {k: v for k, v in given.items() if k not in KEPT_BY_METASTORE}
    )
    if "12" in struct and _text(struct["12"]) == "EXTERNAL_TABLE" and not is_external(parameters):
        parameters["EXTERNAL"] = "TRUE"
    buckets, count = _texts(descriptor["8"]), int(descriptor["6"]["i32"])
    version = 2 if parameters.get("bucketing_version") == "2" else 1
    return Table(
        name=name,
        columns=_columns(descriptor["1"]),
        location="",
        partition_columns=_columns(struct["8"]),
        bucketing=Bucketing(tuple(b.lower() for b in buckets), count, version) if buckets else None,
        parameters=parameters,
        comment=comment,
        format=stored.format,
        field_delimiter=stored.field_delimiter,
    )


def _columns(value: Mapping[str, Any]) -> tuple[Column, ...]:
    columns = []
    for field in _items(value):
        comment = _text(field["3"]) if "3" in field else None
        kind = type_of_hive(_text(field["2"]))
        columns.append(Column(_text(field["1"]).lower(), kind, comment))
    return tuple(columns)


def _name(table: Table, values: Sequence[str]) -> PartitionName:
    columns = [column.name for column in table.partition_columns]
    return PartitionName.of(list(zip(columns, values, strict=True)))


def _text(value: Mapping[str, Any]) -> str:
    text = value["str"]
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no text")
    return text


def _items(value: Mapping[str, Any]) -> list[Any]:
    """The items of a list: it begins with their type and their number."""
    items: list[Any]
    _, count, *items = value["lst"]
    if len(items) != count:
        raise ValueError(f"a list has {len(items)} items instead of {count}")
    return items


def _texts(value: Mapping[str, Any]) -> list[str]:
    return [_text({"str": item}) for item in _items(value)]


def _texts_by_key(value: Mapping[str, Any]) -> dict[str, str]:
    _, _, _, found = value["map"]
    return {_text({"str": k}): _text({"str": v}) for k, v in found.items()}
