"""Each Hive makes of the fields of text what docs/statements.md and our own tests say."""

from __future__ import annotations

import pytest

from tests.integration.hive.process import Hive
from tests.integration.hive.shared import READERS
from tests.integration.test_text_fields import FIELDS, write_fields

pytestmark = pytest.mark.hive


def shown(value: str | None) -> str | None:
    """What Hive prints, as acidsql does: Hive names the zone of an instant, and all its parts."""
    if value is None or value.lower() in ("true", "false"):
        return value and value.lower()
    return value.removesuffix(" UTC").removesuffix(".0") if value.endswith(" UTC") else value


@pytest.mark.parametrize("reader", READERS)
def test_what_fields_are(hive: Hive, reader: str) -> None:
    for number, kind in enumerate(FIELDS):
        name = f"fields_{number}_{list(READERS).index(reader)}"
        given = hive.warehouse.parent / name
        write_fields(given, kind)
        hive.run(
            f"CREATE EXTERNAL TABLE {name} (n int, v {kind}) STORED AS TEXTFILE LOCATION '{given}'"
        )
        for key, value in READERS[reader].items():
            hive.run(f"SET hive.{key}={value}")
        rows = hive.run(f"SELECT n, CAST(v AS string) AS v FROM {name}")
        found = {row["n"]: shown(row["v"]) for row in rows}
        assert (
            dict(zip(FIELDS[kind], (found[n] for n in sorted(found)), strict=True)) == FIELDS[kind]
        ), kind
