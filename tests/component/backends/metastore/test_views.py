"""Views as Hive keeps them, and those of others."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from acidsql.backends.metastore import MetastoreStore
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.views import change_view, view_from, view_to
from acidsql.errors import UnsupportedStatementError
from acidsql.model.names import TableName
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.model.view import View
from tests.component.backends.metastore.server import FakeMetastore

V = TableName("default", "v")
VIEW = View(
    V,
    (Column("id", parse_type("bigint"), "the key"), Column("c", parse_type("char(3)"))),
    "SELECT * FROM t",
    "SELECT `t`.`id`, `t`.`c` FROM `default`.`t`",
    {"a": "b"},
    "a comment",
    "ann",
    1_700_000_000,
)


def test_a_view_survives_the_metastore() -> None:
    struct = view_to(VIEW)
    struct.parameters["transient_lastDdlTime"] = "1"
    assert view_from(struct) == VIEW
    assert (struct.tableType, struct.sd.location) == ("VIRTUAL_VIEW", None)


def test_a_change_keeps_what_we_do_not_know() -> None:
    struct = view_to(VIEW)
    struct.retention = 7
    struct.parameters["transient_lastDdlTime"] = "1"
    changed = replace(VIEW, expanded_text="SELECT 1", parameters={}, comment=None)
    change_view(struct, changed)
    assert view_from(struct) == changed
    assert (struct.retention, struct.parameters) == (7, {"transient_lastDdlTime": "1"})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"parameters": {"view.query.out.numCols": "1"}}, "a view of Spark's own"),
        ({"accessType": 1}, "does not let acidsql read table default.v"),
        (
            {"sd": hms.StorageDescriptor(cols=[hms.FieldSchema(name="u", type="interval")])},
            'column "u" of table default.v',
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(
    changes: dict[str, Any], reason: str
) -> None:
    struct = view_to(VIEW)
    for field, value in changes.items():
        setattr(struct, field, value)
    with pytest.raises(UnsupportedStatementError, match=reason):
        view_from(struct)


def test_a_view_is_no_table() -> None:
    server = FakeMetastore(
        get_table_req=lambda request: hms.GetTableResult(table=view_to(VIEW)),
        get_config_value=lambda name, default: default,
        get_database=lambda name: hms.Database(name=name, locationUri="file:/w"),
        get_all_tables=lambda name: ["v", "t"],
        get_tables_by_type=lambda name, pattern, kind: ["v"] if kind == "VIRTUAL_VIEW" else [],
    )
    with server, closing(MetastoreStore(server.url, user="ann")) as store:
        assert store.find_table(V) is None
        assert store.find_view(V) == VIEW
        assert (store.tables("default"), store.views("default")) == (["t"], ["v"])
