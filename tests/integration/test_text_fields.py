r"""Fields of text are the values that Hive makes of them. The same are asked of both Hives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import acidsql

WHOLE = {
    "1": "1", "+5": "5", "007": "7", "1.9": "1", "-1.9": "-1", "1.": "1", ".5": "0", "-.5": "0",
    "-0": "0", " 5": None, "5 ": None, "1.9x": None, "1e3": None, "5L": None, "0x10": None,
    "١": None, "": None, "-": None, "--5": None, "1,000": None, "true": None,
}  # fmt: skip
REAL = {
    "1.5": "1.5", " 1.5 ": "1.5", "1.5f": "1.5", "1.5D": "1.5", "1e3": "1000.0", "NaN": "NaN",
    "Infinity": "Infinity", "-Infinity": "-Infinity", "nan": None, "inf": None, "INFINITY": None,
    "": None, "x": None, "1_0": None,
}  # fmt: skip
FIELDS: dict[str, dict[str, str | None]] = {
    "tinyint": {**WHOLE, "127.9": "127", "128": None, "-128": "-128"},
    "smallint": {**WHOLE, "32768": None},
    "int": {**WHOLE, "2147483647": "2147483647", "2147483648": None},
    "bigint": {**WHOLE, "9223372036854775807": "9223372036854775807", "9223372036854775808": None},
    "float": REAL,
    "double": REAL,
    "decimal(7,2)": {"1.25": "1.25", "1.005": "1.01", "1.23451e3": "1234.51", "١": None, "": None,
                     "99999.995": None, "1.5d": None},
    "boolean": {"true": "true", "TRUE": "true", "fAlse": "false", "1": None, "0": None, "t": None,
                "yes": None, "n": None, " true": None, "": None},
    "date": {"2020-01-02": "2020-01-02", "2020-1-2": "2020-01-02", " 2020-01-02 ": "2020-01-02",
             "2020-01-02 03:04:05": "2020-01-02", "2020": None, "2020-01": None, "": None,
             "+2020-01-02": None, "2020/01/02": None},
    "timestamp": {"2020-01-02 03:04:05": "2020-01-02 03:04:05",
                  "2020-01-02 3:4:5.25": "2020-01-02 03:04:05.25",
                  " 2020-01-02T03:04:05 ": "2020-01-02 03:04:05",
                  "2020-01-02": None, "2020-01-02 03:04": None, "2020-01-02 03:04:05.": None,
                  "2020-01-02 03:04:05Z": None, "2020-01-02 03:04:05+01:00": None,
                  "2020": None, "2020-01-02 03:04:05 Europe/Berlin": None, "": None},
    "timestamp with local time zone": {
        "2020-01-02": "2020-01-02 00:00:00", "2020-01-02 03:04:05.5": "2020-01-02 03:04:05.5",
        "2020-01-02 03:04:05 Europe/Berlin": "2020-01-02 02:04:05",
        "2020-01-02 03:04:05+01:00": "2020-01-02 02:04:05",
        "2020-01-02 03:04:05Z": "2020-01-02 03:04:05",
        "2020-1-2": None, "2020-01-02T03:04:05": None, "2020-01-02 03:04": None,
        "03:04:05": None, "2020": None},
}  # fmt: skip
"""What Hive 3.1.3 and Hive 4.0.1 make of texts, by type, both row by row and vectorised."""


def write_fields(directory: Path, kind: str) -> None:
    """A file of lines with a number and one of the texts of the type."""
    directory.mkdir(parents=True)
    lines = (f"{number}\x01{text}\n" for number, text in enumerate(FIELDS[kind]))
    (directory / "000000_0").write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("escaped", ["false", "true"])
def test_what_fields_are(tmp_path: Path, spark: Any, kind: str, escaped: str):
    write_fields(tmp_path / "given", kind)
    own = spark.newSession()
    own.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    own.conf.set("spark.sql.session.timeZone", "UTC")
    with acidsql.connect(tmp_path / "w", spark=own) as session:
        session.execute(
            f"CREATE EXTERNAL TABLE t (n int, v {kind}) STORED AS TEXTFILE"
            f" LOCATION '{tmp_path / 'given'}'"
        )
        rows = session.execute("SELECT n, CAST(v AS string) FROM t ORDER BY n").fetchall()
    assert dict(zip(FIELDS[kind], (v for _, v in rows), strict=True)) == FIELDS[kind]
