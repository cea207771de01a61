import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.orc.dump import dump
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import P0, columns

EMPLOYEE = Path(__file__).parents[2] / "data" / "hive-written" / "employee"


def test_employee_of_a_real_hive() -> None:
    inserts = EMPLOYEE / "hive3" / "delta_0000001_0000002" / "bucket_00000"
    assert next(dump(str(inserts))) == (
        '{"operation":0,"originalTransaction":1,"bucket":536870912,"rowId":0,'
        '"currentTransaction":1,"row":{"id":1,"name":"Jerry","salary":5000}}'
    )
    deletes = EMPLOYEE / "hive4" / "delete_delta_0000001_0000002_v0000007" / "bucket_00000"
    assert list(dump(str(deletes))) == [
        '{"operation":2,"originalTransaction":1,"bucket":536870912,"rowId":1,'
        '"currentTransaction":2,"row":null}'
    ]


def test_every_type(tmp_path: Path) -> None:
    types = columns(
        b="boolean",
        x="binary",
        d="decimal(10,2)",
        f="float",
        g="double",
        t="timestamp",
        y="date",
        l="array<string>",
        m="map<string,int>",
        s="struct<n:int>",
    )
    values = {
        "b": [True, None],
        "x": [b"\x00\xff", None],
        "d": [Decimal("12.30"), None],
        "f": pa.array([0.1, None], pa.float32()),
        "g": [1e20, None],
        "t": [dt.datetime(2020, 1, 1, 12, 34, 56, 120000), None],
        "y": [dt.date(1582, 10, 4), None],
        "l": [['quote " and é', None], None],
        "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())),
        "s": [{"n": 1}, None],
    }
    path = str(tmp_path / "f")
    with EventWriter(path, types) as writer:
        writer.write_inserts(pa.record_batch(values), 1, P0)
    first, second = (line.partition('"row":')[2] for line in dump(path))
    assert first == (
        '{"b":true,"x":[0,255],"d":12.3,"f":0.1,"g":1.0E20,"t":"2020-01-01 12:34:56.12",'
        '"y":"1582-10-04","l":["quote \\" and é",null],"m":[{"_key":"k","_value":1}],"s":{"n":1}}}'
    )
    assert second == "{" + ",".join(f'"{name}":null' for name in "bxdfgtylms") + "}}"


def test_plain_file(tmp_path: Path) -> None:
    path = str(tmp_path / "plain")
    pa_orc.write_table(pa.table({"a": [1, None]}), path)
    assert list(dump(path)) == ['{"a":1}', '{"a":null}']
