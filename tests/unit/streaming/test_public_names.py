"""acidsql/streaming/__init__.py"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import acidsql.streaming
from acidsql.streaming import builder, connection, options, stats, writers


def test_public_names_are_sorted_and_once_each() -> None:
    assert sorted(set(acidsql.streaming.__all__)) == acidsql.streaming.__all__


def test_the_public_names_are_those_a_writer_needs() -> None:
    found = {
        name
        for module in (builder, connection, options, stats, writers)
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }
    inner = {"StreamOptions", "TextRecordWriter"}
    assert found - inner <= set(acidsql.streaming.__all__)
    for name in found - inner:
        assert inspect.getdoc(getattr(acidsql.streaming, name))


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = acidsql.streaming.nonsense


def test_importing_is_cheap() -> None:
    heavy = "{'pyspark', 'pyarrow', 'pandas', 'sqlglot'}"
    code = f"import sys, acidsql.streaming; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


NEEDS_NO_SPARK = """
import sys, acidsql
from acidsql.streaming import StreamingConnection, StrictDelimitedInputWriter
with acidsql.connect(sys.argv[1]) as session:
    session.execute("CREATE TABLE t (id int) TBLPROPERTIES ('transactional' = 'true')")
writer = StrictDelimitedInputWriter()
builder = StreamingConnection.builder().table("t").record_writer(writer).transaction_batch_size(3)
with builder.connect(warehouse=sys.argv[1]) as connection:
    connection.begin_transaction()
    print(connection.write("1\\n2"))
    connection.commit_transaction()
print("pyspark" in sys.modules)
"""


@pytest.mark.sqlite
def test_streaming_needs_no_spark(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NEEDS_NO_SPARK, str(tmp_path / "w")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("2\nFalse\n", "")
