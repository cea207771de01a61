"""acidsql/cli/dump.py"""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("dumps")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for name, text in {
        "base_0000002/bucket_00001": "two\n",
        "base_0000002/bucket_00000": "one\n",
        "base_0000002/_orc_acid_version": "2",
        "delta_0000003_0000003_0000/bucket_00000": "three\n",
        "delta_0000003_0000003_0000/bucket_00000_flush_length": "corrupt",
        "_tmp.delta/bucket_00000": "corrupt",
        ".hidden/bucket_00000": "corrupt",
    }.items():
        path = tmp_path / "t" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "t"


def test_a_file(acidsql, table: Path):
    assert acidsql("dump", str(table / "base_0000002/bucket_00001")).stdout == "two\n"


def test_a_directory_is_read_in_the_order_of_its_paths(acidsql, table: Path):
    done = acidsql("dump", str(table))
    assert (done.exit_code, done.stdout) == (0, "one\ntwo\nthree\n")


def test_a_hidden_directory_is_read_when_named(acidsql, tmp_path: Path):
    (tmp_path / "_tmp").mkdir()
    (tmp_path / "_tmp" / "bucket_00000").write_text("row\n")
    assert acidsql("dump", str(tmp_path / "_tmp")).stdout == "row\n"


def test_names(acidsql, table: Path):
    base = table / "base_0000002"
    assert acidsql("dump", "--names", str(base)).stdout == (
        f"# {base}/bucket_00000\none\n# {base}/bucket_00001\ntwo\n"
    )


def test_a_missing_path(acidsql, tmp_path: Path):
    done = acidsql("dump", str(tmp_path / "no"))
    assert done.exit_code == 3
    assert done.stderr == f"{tmp_path}/no: error: no such file or directory\n"


def test_a_name_that_no_file_can_have(acidsql):
    done = acidsql("dump", "a" * 300)
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr == f"{'a' * 300}: error: cannot be read: File name too long\n"


def test_a_corrupt_file(acidsql, tmp_path: Path):
    file = tmp_path / "bucket_00000"
    file.write_text("good\ncorrupt\n")
    done = acidsql("dump", str(file))
    assert (done.exit_code, done.stdout) == (3, "good\n")
    assert done.stderr == f"{file}: error: not an ORC file: {file}\nHint: Restore it.\n"


def test_no_path_is_wrong_usage(acidsql):
    assert acidsql("dump").exit_code == 1
